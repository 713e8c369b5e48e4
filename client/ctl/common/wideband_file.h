// A wideband signal from a file, a SigMF recording or standard input, a piece at a time.
#ifndef BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FILE_H_
#define BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/wideband_format.h"

namespace baseband::ctl {

class WidebandFile {
 public:
  // `path`: raw samples, "-" for standard input, or either file of a SigMF recording.
  // `format` as --format names it; empty: what the metadata or the name's end says.
  // InvalidArgument: no format, one that contradicts the metadata, no or half samples; NotFound.
  static absl::StatusOr<WidebandFile> Open(const std::string& path, absl::string_view format);

  const WidebandFormat& format() const { return *format_; }
  double sample_rate_hz() const { return sample_rate_hz_; }  // 0: it does not say
  absl::optional<double> centre_hz() const { return centre_hz_; }
  int64_t num_samples() const { return num_samples_; }  // -1: a pipe
  // The index in the signal behind the last sample; empty: a pipe.
  absl::optional<int64_t> end() const;

  struct Piece {
    int64_t index = 0;  // in the signal, of the first sample
    std::string bytes;  // as the wire wants them
  };
  // The next samples, `max_samples` or, at the end and before a gap, fewer; none after the last.
  // InvalidArgument when a pipe ends within a sample; NotFound when reading fails.
  absl::StatusOr<Piece> Read(int64_t max_samples);

 private:
  struct Part {  // of the file: from `start` on, the signal's index is `index`
    int64_t start = 0;
    int64_t index = 0;
  };
  WidebandFile() = default;
  // Of a raw file.
  absl::Status ChooseFormat(const std::string& path, absl::string_view format);
  absl::Status ReadMeta(const std::string& base, absl::string_view format);
  absl::Status OpenData(const std::string& path);

  std::string path_;
  const WidebandFormat* format_ = nullptr;
  double sample_rate_hz_ = 0;
  absl::optional<double> centre_hz_;
  int64_t num_samples_ = -1;
  std::vector<Part> parts_ = {Part()};
  size_t part_ = 0;
  int64_t next_ = 0;  // in the file
  FilePointer file_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FILE_H_
