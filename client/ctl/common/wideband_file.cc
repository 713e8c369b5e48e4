#include "client/ctl/common/wideband_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/sample_names.h"
#include "client/ctl/common/sigmf.h"

namespace baseband::ctl {

absl::StatusOr<WidebandFile> WidebandFile::Open(const std::string& path, absl::string_view format) {
  WidebandFile file;
  file.path_ = path == "-" ? "standard input" : path;
  std::string base;
  if (SplitSigmfPath(path, &base)) {
    if (absl::Status status = file.ReadMeta(base, format); !status.ok()) {
      return status;
    }
    file.path_ = base + kSigmfData;
  } else if (absl::Status status = file.ChooseFormat(path, format); !status.ok()) {
    return status;
  }
  if (absl::Status status = file.OpenData(path == "-" ? path : file.path_); !status.ok()) {
    return status;
  }
  return file;
}

absl::Status WidebandFile::ChooseFormat(const std::string& path, absl::string_view format) {
  SampleNameToRead name = {path, "", SampleFormatOfFileName(path), {}};
  for (const WidebandFormat& known : WidebandFormats()) {
    name.readable.emplace_back(known.name);
  }
  format_ = FormatOfFileName(path);
  if (!format.empty()) {
    const auto asked = FindWidebandFormat(format);
    if (!asked.ok()) {
      return asked.status();
    }
    format_ = *asked;
    name.asked = format_->name;
  }
  if (absl::Status status = CheckNameToRead(name); !status.ok()) {
    return status;
  }
  if (format_ != nullptr) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path_,
      name.said.empty() ? " does not say what its samples are: say it by --format, one of "
                        : absl::StrCat(": the format ", name.said, " of its name is not one of "),
      absl::StrJoin(name.readable, ", ")));
}

absl::Status WidebandFile::ReadMeta(const std::string& base, absl::string_view format) {
  const absl::StatusOr<std::string> text = ReadFile(base + kSigmfMeta);
  if (!text.ok()) {
    return text.status();
  }
  const auto refuse = [&](const absl::Status& status) {
    return absl::InvalidArgumentError(absl::StrCat(base, kSigmfMeta, ": ", status.message()));
  };
  const absl::StatusOr<SigmfMeta> meta = ParseSigmf(*text);
  if (!meta.ok()) {
    return refuse(meta.status());
  }
  const auto known = FormatOfSigmf(meta->datatype);
  if (!known.ok()) {
    return refuse(known.status());
  }
  format_ = *known;
  const absl::StatusOr<const WidebandFormat*> asked =
      format.empty() ? format_ : FindWidebandFormat(format);
  if (!asked.ok()) {
    return asked.status();
  }
  if (*asked != format_) {
    return absl::InvalidArgumentError(absl::StrCat("--format ", format, " contradicts ", base,
                                                   kSigmfMeta, ", which says ", format_->name));
  }
  sample_rate_hz_ = meta->sample_rate_hz;
  for (const SigmfCapture& capture : meta->captures) {
    const Part& last = parts_.back();
    const int64_t expected = last.index + capture.sample_start - last.start;
    const int64_t index = capture.global_index.value_or(expected);
    if (capture.sample_start == 0) {
      parts_ = {Part{0, index}};
      centre_hz_ = capture.frequency_hz;
    } else if (index < expected) {
      return refuse(absl::InvalidArgumentError(
          absl::StrCat("core:global_index ", index, " was before: ", expected, " comes next")));
    } else if (index > expected) {
      parts_.push_back(Part{capture.sample_start, index});
    }
  }
  return absl::OkStatus();
}

absl::Status WidebandFile::OpenData(const std::string& path) {
  absl::StatusOr<FilePointer> file = OpenInput(path);
  if (!file.ok()) {
    return file.status();
  }
  file_ = *std::move(file);
  struct stat info = {};
  if (fstat(fileno(file_.get()), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::OkStatus();
  }
  // What comes before: standard input may have been read from.
  const auto place = static_cast<int64_t>(std::ftell(file_.get()));
  const int64_t bytes = static_cast<int64_t>(info.st_size) - std::max<int64_t>(place, 0);
  if (bytes <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(path_, " is empty"));
  }
  if (bytes % format_->bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path_, " has ", bytes,
                                                   " bytes, not a multiple of the ", format_->bytes,
                                                   " of a sample (format ", format_->name, ")"));
  }
  num_samples_ = bytes / format_->bytes;
  return absl::OkStatus();
}

absl::optional<int64_t> WidebandFile::end() const {
  const Part& last = parts_.back();
  return num_samples_ < 0 ? absl::optional<int64_t>()
                          : last.index + std::max<int64_t>(num_samples_ - last.start, 0);
}

absl::StatusOr<WidebandFile::Piece> WidebandFile::Read(int64_t max_samples) {
  if (part_ + 1 < parts_.size() && parts_[part_ + 1].start == next_) {
    ++part_;
  }
  const int64_t until = part_ + 1 < parts_.size() ? parts_[part_ + 1].start : INT64_MAX;
  Piece piece;
  piece.index = parts_[part_].index + next_ - parts_[part_].start;
  piece.bytes.resize(std::min(max_samples, until - next_) * format_->bytes);
  piece.bytes.resize(std::fread(&piece.bytes[0], 1, piece.bytes.size(), file_.get()));
  if (std::ferror(file_.get()) != 0) {
    return FileError("read", path_);
  }
  if (piece.bytes.size() % format_->bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " ends within a sample (", format_->name, ")"));
  }
  next_ += static_cast<int64_t>(piece.bytes.size()) / format_->bytes;
  ToWire(*format_, &piece.bytes);
  return piece;
}

}  // namespace baseband::ctl
