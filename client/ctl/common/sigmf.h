// Metadata of SigMF recordings: NAME.sigmf-meta beside the samples in NAME.sigmf-data.
#ifndef BASEBAND_CLIENT_CTL_COMMON_SIGMF_H_
#define BASEBAND_CLIENT_CTL_COMMON_SIGMF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/ctl/common/outputs.h"

namespace baseband::ctl {

inline constexpr char kSigmfMeta[] = ".sigmf-meta";
inline constexpr char kSigmfData[] = ".sigmf-data";

// A part of the recording, up to the next one.
struct SigmfCapture {
  int64_t sample_start = 0;              // in the data file
  absl::optional<int64_t> global_index;  // in the signal, of which the file may lack parts
  absl::optional<double> frequency_hz;   // that which was mixed to zero
};

struct SigmfMeta {
  std::string datatype;       // "ci16_le"
  double sample_rate_hz = 0;  // 0: not said
  std::vector<SigmfCapture> captures;
  std::string description;
};

// The path without either file's ending; false if it has none.
bool SplitSigmfPath(absl::string_view path, std::string* base);

// Samples that are to be written: to the pair of files if `path` has either's ending, else to one.
struct SampleOutput {
  OutputFile* data = nullptr;  // null if the path is empty, or if `outputs` says what is wrong
  OutputFile* meta = nullptr;
};
SampleOutput OpenSamples(absl::string_view flag, const std::string& path, Outputs* outputs);

// InvalidArgument: no SigMF, no datatype, more than one channel, header bytes, captures that are
// not in order, a text where a number should be, a sample rate that is not > 0.
absl::StatusOr<SigmfMeta> ParseSigmf(const std::string& text);

// As a file; the same metadata give the same bytes.
std::string ToSigmfText(const SigmfMeta& meta);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_SIGMF_H_
