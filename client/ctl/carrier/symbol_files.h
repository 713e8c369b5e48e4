// Files of complex samples: raw I/Q, and SigMF recordings.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_SYMBOL_FILES_H_
#define BASEBAND_CLIENT_CTL_CARRIER_SYMBOL_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/sigmf.h"

namespace baseband::ctl {

struct SymbolFile {
  v1::SampleFormat format = v1::SAMPLE_FORMAT_FLOAT32;
  std::string bytes;          // whole samples, I first, little endian
  double sample_rate_hz = 0;  // 0: the file does not say
};

// Reads raw samples ("-": standard input), or a SigMF recording when `path` ends in .sigmf-meta or
// .sigmf-data: then the pair is read, and its metadata says the format and perhaps the rate.
//
// `format` is "f32", "f16", "i16"; empty: what the metadata says, else what the name's end says
// (.cs16, .sc16, .ci16: i16; .cf16: f16), else f32. InvalidArgument: no samples, not a whole number
// of them, a SigMF datatype other than cf32_le and ci16_le or one that `format` contradicts, more
// than one channel, header bytes. NotFound as ReadFile.
absl::StatusOr<SymbolFile> ReadSymbols(const std::string& path, absl::string_view format);

// Whether a file of that name can hold them: InvalidArgument for float16 as SigMF, which has no
// such type.
absl::Status CheckWritable(const std::string& path, v1::SampleFormat format);
// `output` is open; `description` goes to the metadata, if there are any.
void WriteSymbols(const SampleOutput& output, const SymbolFile& file,
                  absl::string_view description);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_SYMBOL_FILES_H_
