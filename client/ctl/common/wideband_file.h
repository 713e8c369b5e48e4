// A wideband signal from a file, a SigMF recording or standard input, a piece at a time.
#ifndef BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FILE_H_
#define BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/ctl/common/file_samples.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/front_end.h"
#include "client/ctl/common/wideband_format.h"

namespace baseband::ctl {

class WidebandFile {
 public:
  // `path`: raw samples, "-" for standard input, either file of a SigMF recording, or a WAV file.
  // `format` as --format names it; empty: what the file or the name's end says. `zero` of unsigned
  // bytes; empty: 127.5, of WAV 128.
  // InvalidArgument: no format, one that contradicts the file's, no or half samples, a file that is
  // not what its name says; NotFound.
  static absl::StatusOr<WidebandFile> Open(const std::string& path, absl::string_view format,
                                           absl::optional<double> zero = absl::nullopt);

  const FileSamples& samples() const { return samples_; }
  // Of what Read() gives.
  const WidebandFormat& wire_format() const { return *wire_format_; }
  // Which file would say the sample rate: the metadata, for SigMF.
  const std::string& head_path() const { return head_path_; }
  double sample_rate_hz() const { return sample_rate_hz_; }  // 0: it does not say
  // The radio frequency that was mixed to zero; empty if the file does not say one, or several.
  absl::optional<double> centre_hz() const { return centre_hz_; }
  bool has_several_centres() const { return has_several_centres_; }
  int64_t num_samples() const { return num_samples_; }  // -1: a pipe
  // The index in the signal behind the last sample; empty: a pipe.
  absl::optional<int64_t> end() const;

  // What the front end did, told from up to kMostFrontEndSamples samples, spread over the file; of
  // a pipe from its first quarter of them, which are kept for Read(). Before the first Read().
  absl::StatusOr<FrontEnd> Measure();
  // From now on samples are corrected, and float32 on the wire. Before the first Read().
  void Correct(const IqCorrection& correction);

  struct Piece {
    int64_t index = 0;  // in the signal, of the first sample
    std::string bytes;  // in wire_format()
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
  absl::Status ReadWav(absl::string_view format);
  absl::Status CheckFormat(absl::string_view asked, absl::string_view file) const;
  absl::Status OpenData(const std::string& path);
  // The next `size` bytes of samples, or fewer at the end.
  absl::StatusOr<std::string> ReadBytes(int64_t size);

  std::string path_;
  std::string head_path_;
  FileSamples samples_;
  const WidebandFormat* wire_format_ = nullptr;
  absl::optional<IqCorrection> correction_;
  double sample_rate_hz_ = 0;
  absl::optional<double> centre_hz_;
  bool has_several_centres_ = false;
  int64_t begin_ = 0;  // of the samples, in the data file
  int64_t num_samples_ = -1;
  bool has_more_ = false;  // than samples, behind them
  std::vector<Part> parts_ = {Part()};
  size_t part_ = 0;
  int64_t next_ = 0;   // in the file
  std::string ahead_;  // read from a pipe already
  FilePointer file_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FILE_H_
