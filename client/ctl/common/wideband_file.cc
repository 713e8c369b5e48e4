#include "client/ctl/common/wideband_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/common/sample_names.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/common/wav.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {

absl::StatusOr<WidebandFile> WidebandFile::Open(const std::string& path, absl::string_view format,
                                                absl::optional<double> zero) {
  WidebandFile file;
  file.path_ = path == "-" ? "standard input" : path;
  file.head_path_ = file.path_;
  std::string base;
  if (IsWavName(path)) {
    BASEBAND_ASSIGN_OR_RETURN(file.file_, OpenInput(path));
    BASEBAND_RETURN_IF_ERROR(file.ReadWav(format));
  } else {
    if (SplitSigmfPath(path, &base)) {
      BASEBAND_RETURN_IF_ERROR(file.ReadMeta(base, format));
      file.path_ = base + kSigmfData;
      file.head_path_ = base + kSigmfMeta;
    } else {
      BASEBAND_RETURN_IF_ERROR(file.ChooseFormat(path, format));
    }
    BASEBAND_RETURN_IF_ERROR(file.OpenData(path == "-" ? path : file.path_));
  }
  file.samples_.zero = zero.value_or(file.samples_.zero);
  file.wire_format_ = &WireFormatOf(file.samples_);
  return file;
}

absl::Status WidebandFile::CheckFormat(absl::string_view asked, absl::string_view file) const {
  if (asked.empty()) {
    return absl::OkStatus();
  }
  BASEBAND_ASSIGN_OR_RETURN(const WidebandFormat* const format, FindWidebandFormat(asked));
  return format->name == samples_.name()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("--format ", asked, " contradicts ", file,
                                                       ", which says ", samples_.name()));
}

absl::Status WidebandFile::ReadWav(absl::string_view format) {
  const absl::StatusOr<WavHead> head = ReadWavHead(file_.get());
  if (!head.ok()) {
    return absl::Status(head.status().code(), absl::StrCat(path_, " ", head.status().message()));
  }
  samples_ = head->samples;
  sample_rate_hz_ = head->sample_rate_hz;
  centre_hz_ = head->centre_hz;
  begin_ = head->begin;
  num_samples_ = head->count;
  has_more_ = true;
  BASEBAND_RETURN_IF_ERROR(CheckFormat(format, path_));
  return fseeko(file_.get(), begin_, SEEK_SET) == 0 ? absl::OkStatus() : FileError("read", path_);
}

absl::Status WidebandFile::ChooseFormat(const std::string& path, absl::string_view format) {
  SampleNameToRead name = {path, "", SampleFormatOfFileName(path), {}};
  for (const WidebandFormat& known : WidebandFormats()) {
    name.readable.emplace_back(known.name);
  }
  const WidebandFormat* found = FormatOfFileName(path);
  if (!format.empty()) {
    BASEBAND_ASSIGN_OR_RETURN(found, FindWidebandFormat(format));
    name.asked = found->name;
  }
  BASEBAND_RETURN_IF_ERROR(CheckNameToRead(name));
  if (found != nullptr) {
    samples_ = SamplesOf(*found);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path_,
      name.said.empty() ? " does not say what its samples are: say it by --format, one of "
                        : absl::StrCat(": the format ", name.said, " of its name is not one of "),
      absl::StrJoin(name.readable, ", ")));
}

absl::Status WidebandFile::ReadMeta(const std::string& base, absl::string_view format) {
  BASEBAND_ASSIGN_OR_RETURN(const std::string text, ReadText(base + kSigmfMeta));
  const auto refuse = [&](const absl::Status& status) {
    return absl::InvalidArgumentError(absl::StrCat(base, kSigmfMeta, ": ", status.message()));
  };
  const absl::StatusOr<SigmfMeta> meta = ParseSigmf(text);
  if (!meta.ok()) {
    return refuse(meta.status());
  }
  const auto known = FormatOfSigmf(meta->datatype);
  if (!known.ok()) {
    return refuse(known.status());
  }
  samples_ = SamplesOf(**known);
  BASEBAND_RETURN_IF_ERROR(CheckFormat(format, base + kSigmfMeta));
  sample_rate_hz_ = meta->sample_rate_hz;
  for (const SigmfCapture& capture : meta->captures) {
    const Part& last = parts_.back();
    const int64_t expected = last.index + capture.sample_start - last.start;
    const int64_t index = capture.global_index.value_or(expected);
    if (capture.sample_start == 0) {
      parts_ = {Part{0, index}};
    } else if (index < expected) {
      return refuse(absl::InvalidArgumentError(
          absl::StrCat("core:global_index ", index, " was before: ", expected, " comes next")));
    } else if (index > expected) {
      parts_.push_back(Part{capture.sample_start, index});
    }
    if (capture.frequency_hz.has_value()) {
      has_several_centres_ |=
          &capture != &meta->captures.front() && capture.frequency_hz != centre_hz_;
      centre_hz_ = capture.frequency_hz;
    }
  }
  if (has_several_centres_) {
    centre_hz_.reset();
  }
  return absl::OkStatus();
}

absl::Status WidebandFile::OpenData(const std::string& path) {
  BASEBAND_ASSIGN_OR_RETURN(file_, OpenInput(path));
  struct stat info = {};
  if (fstat(fileno(file_.get()), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::OkStatus();
  }
  // What comes before: standard input may have been read from.
  begin_ = std::max<int64_t>(ftello(file_.get()), 0);
  const int64_t bytes = static_cast<int64_t>(info.st_size) - begin_;
  if (bytes <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(path_, " is empty"));
  }
  if (bytes % samples_.bytes() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " has ", bytes, " bytes, not a multiple of the ", samples_.bytes(),
                     " of a sample (format ", samples_.name(), ")"));
  }
  num_samples_ = bytes / samples_.bytes();
  return absl::OkStatus();
}

absl::optional<int64_t> WidebandFile::end() const {
  const Part& last = parts_.back();
  return num_samples_ < 0 ? absl::optional<int64_t>()
                          : last.index + std::max<int64_t>(num_samples_ - last.start, 0);
}

absl::StatusOr<std::string> WidebandFile::ReadBytes(int64_t size) {
  std::string bytes = ahead_.substr(0, size);
  ahead_.erase(0, bytes.size());
  const size_t had = bytes.size();
  bytes.resize(size);
  bytes.resize(had + std::fread(&bytes[had], 1, bytes.size() - had, file_.get()));
  if (std::ferror(file_.get()) != 0) {
    return FileError("read", path_);
  }
  if (bytes.size() % samples_.bytes() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " has ", next_ * samples_.bytes() + static_cast<int64_t>(bytes.size()),
                     " bytes, not a multiple of the ", samples_.bytes(), " of a sample (format ",
                     samples_.name(), ")"));
  }
  return bytes;
}

absl::StatusOr<FrontEnd> WidebandFile::Measure() {
  constexpr int64_t kPlaces = 64;
  constexpr int64_t kAtOne = kMostFrontEndSamples / kPlaces;
  FrontEndMeter meter(samples_.is_complex);
  const auto add = [&](const std::string& bytes) {
    meter.Add(WidebandToComplex(ToWire(bytes, samples_), WireFormatOf(samples_)));
  };
  if (num_samples_ < 0) {
    BASEBAND_ASSIGN_OR_RETURN(ahead_, ReadBytes(kMostFrontEndSamples / 4 * samples_.bytes()));
    add(ahead_);
    return meter.Result();
  }
  const int64_t places = num_samples_ <= kMostFrontEndSamples ? 1 : kPlaces;
  const int64_t at_one = places == 1 ? num_samples_ : kAtOne;
  const int64_t step = (num_samples_ - at_one) / std::max<int64_t>(1, places - 1);
  for (int64_t i = 0; i < places; ++i) {
    if (fseeko(file_.get(), begin_ + i * step * samples_.bytes(), SEEK_SET) != 0) {
      return FileError("read", path_);
    }
    BASEBAND_ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(at_one * samples_.bytes()));
    add(bytes);
  }
  return fseeko(file_.get(), begin_, SEEK_SET) == 0 ? absl::StatusOr<FrontEnd>(meter.Result())
                                                    : FileError("read", path_);
}

void WidebandFile::Correct(const IqCorrection& correction) {
  correction_ = correction;
  wire_format_ = *FindWidebandFormat(samples_.is_complex ? "cf32" : "f32");
}

absl::StatusOr<WidebandFile::Piece> WidebandFile::Read(int64_t max_samples) {
  if (part_ + 1 < parts_.size() && parts_[part_ + 1].start == next_) {
    ++part_;
  }
  int64_t until = part_ + 1 < parts_.size() ? parts_[part_ + 1].start : INT64_MAX;
  if (has_more_) {
    until = std::min(until, num_samples_);
  }
  Piece piece;
  piece.index = parts_[part_].index + next_ - parts_[part_].start;
  BASEBAND_ASSIGN_OR_RETURN(piece.bytes,
                            ReadBytes(std::min(max_samples, until - next_) * samples_.bytes()));
  next_ += static_cast<int64_t>(piece.bytes.size()) / samples_.bytes();
  piece.bytes = ToWire(std::move(piece.bytes), samples_);
  if (correction_.has_value()) {
    std::vector<Complex> samples = WidebandToComplex(piece.bytes, WireFormatOf(samples_));
    correction_->Apply(&samples);
    piece.bytes = WidebandFromComplex(samples, *wire_format_);
  }
  return piece;
}

}  // namespace baseband::ctl
