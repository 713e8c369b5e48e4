// Files of complex samples: raw I/Q, and SigMF recordings.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_SYMBOL_FILES_H_
#define BASEBAND_CLIENT_CTL_CARRIER_SYMBOL_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/front_end.h"
#include "client/ctl/common/sigmf.h"

namespace baseband::ctl {

struct SymbolFile {
  v1::SampleFormat format = v1::SAMPLE_FORMAT_FLOAT32;
  std::string bytes;          // whole samples, I first, little endian
  double sample_rate_hz = 0;  // 0: the file does not say
};

// Reads raw samples ("-": standard input), or a SigMF recording when `path` ends in .sigmf-meta or
// .sigmf-data: then the pair is read, and its metadata says the format and perhaps the rate; or a
// WAV file of two channels (wav.h): 8-bit samples become INT16, those that INT16 cannot hold
// float32.
//
// `format` is "cf32", "cf16", "ci16" or another name of theirs (symbols.h), which `can_ask` says
// that the user may give; empty: what the metadata says, or what the name's end says, or cf32 for
// standard input and devices. InvalidArgument: a name that says other samples or contradicts
// `format`, or says nothing without one; no samples, not a whole number of them, a SigMF datatype
// other than cf32_le and ci16_le or one that `format` contradicts, more than one channel, header
// bytes. NotFound as ReadData.
absl::StatusOr<SymbolFile> ReadSymbols(const std::string& path, absl::string_view format,
                                       bool can_ask = true);

// Tells what the front end did (front_end.h), and undoes what is `wanted`, in float32. Statuses are
// those of ToCorrection.
absl::StatusOr<FrontEnd> CorrectFrontEnd(const WantedCorrection& wanted, SymbolFile* file);

// What is written to `path`, which `flag` has named: `format`, that of --format, if it is not
// empty, else what the name's end says, else `otherwise`. InvalidArgument: as FormatToWrite of
// sample_names.h has it, and for float16 as SigMF, which has no such type.
absl::StatusOr<v1::SampleFormat> SymbolFormatToWrite(absl::string_view flag,
                                                     const std::string& path,
                                                     absl::string_view format,
                                                     v1::SampleFormat otherwise);
// Samples in another format. Floating-point ones become integers at an rms of a third of full
// scale, whatever theirs is; otherwise full scale stays 1.
std::string SymbolsToWrite(std::string bytes, v1::SampleFormat from, v1::SampleFormat to);
// `output` is open; `description` goes to the metadata, if there are any.
void WriteSymbols(const SampleOutput& output, const SymbolFile& file,
                  absl::string_view description);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_SYMBOL_FILES_H_
