// The names of sample formats, one vocabulary for all commands, flags and ends of files' names.
//
// Complex: ci8, ci16, cf32, cf16, cu8. Real: i8, i16, f32, u8. Others' names of the same are taken
// too: cs16, sc16, fc32, s8, ..
#ifndef BASEBAND_CLIENT_CTL_COMMON_SAMPLE_NAMES_H_
#define BASEBAND_CLIENT_CTL_COMMON_SAMPLE_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {

// "ci16" of "ci16", "cs16" and "sc16", in whatever case; empty if it is not one of the vocabulary.
std::string SampleFormatNamed(absl::string_view name);

// By the end of a file's name: "ci16" of "air.cs16"; empty if that says nothing.
std::string SampleFormatOfFileName(absl::string_view path);

// The format of a file of samples that is to be written. `asked` is what --format says, `otherwise`
// what it is if neither that nor the name tells: standard output, devices and SigMF.
// InvalidArgument: the name has no ending, or none that is known, and nothing is asked, or its
// ending is one of another kind of file (.wav), of a format that is not `writable`, or not the one
// that is asked.
struct SampleNameToWrite {
  absl::string_view flag;             // "--out"
  absl::string_view path;             // empty: `otherwise`
  std::string asked;                  // of the vocabulary, or empty
  std::string otherwise;              // of the vocabulary
  std::vector<std::string> writable;  // of the vocabulary
};
absl::StatusOr<std::string> FormatToWrite(const SampleNameToWrite& name);

// The same rule for one that is read, raw, not SigMF. `asked` is what --format says, `said` what
// the name's end says (SampleFormatOfFileName), both as the command has its formats; or empty. OK
// without either for standard input and devices.
struct SampleNameToRead {
  absl::string_view path;
  std::string asked;
  std::string said;
  std::vector<std::string> readable;
  bool can_ask = true;  // there is a --format for it
};
absl::Status CheckNameToRead(const SampleNameToRead& name);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_SAMPLE_NAMES_H_
