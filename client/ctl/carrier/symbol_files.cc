#include "client/ctl/carrier/symbol_files.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {
namespace {

v1::SampleFormat FormatOfName(const std::string& path) {
  for (const char* end : {".cs16", ".sc16", ".ci16"}) {
    if (absl::EndsWithIgnoreCase(path, end)) {
      return v1::SAMPLE_FORMAT_INT16;
    }
  }
  return absl::EndsWithIgnoreCase(path, ".cf16") ? v1::SAMPLE_FORMAT_FLOAT16
                                                 : v1::SAMPLE_FORMAT_FLOAT32;
}

// Fills in what the metadata tells; the status says what is wrong with it, without the path.
absl::Status ParseMeta(const std::string& text, SymbolFile* file) {
  const absl::StatusOr<SigmfMeta> meta = ParseSigmf(text);
  if (!meta.ok()) {
    return meta.status();
  }
  if (meta->datatype != "cf32_le" && meta->datatype != "ci16_le") {
    return absl::InvalidArgumentError(
        absl::StrCat("core:datatype ", meta->datatype, " is not one of cf32_le, ci16_le"));
  }
  file->format = meta->datatype == "cf32_le" ? v1::SAMPLE_FORMAT_FLOAT32 : v1::SAMPLE_FORMAT_INT16;
  file->sample_rate_hz = meta->sample_rate_hz;
  return absl::OkStatus();
}

absl::Status CheckWhole(const std::string& path, const SymbolFile& file) {
  const int size = BytesPerSample(file.format);
  if (file.bytes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is empty"));
  }
  if (file.bytes.size() % size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", file.bytes.size(), " bytes, not a multiple of the ", size,
                     " of a sample (format ", NameOfFormat(file.format), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SymbolFile> ReadSymbols(const std::string& path, absl::string_view format) {
  SymbolFile file;
  file.format = FormatOfName(path);
  std::string base;
  const bool sigmf = SplitSigmfPath(path, &base);
  if (sigmf) {
    const absl::StatusOr<std::string> text = ReadFile(base + kSigmfMeta);
    if (!text.ok()) {
      return text.status();
    }
    if (absl::Status status = ParseMeta(*text, &file); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(base, kSigmfMeta, ": ", status.message()));
    }
  }
  if (!format.empty()) {
    const absl::StatusOr<v1::SampleFormat> wanted = ParseSampleFormat(format);
    if (!wanted.ok()) {
      return wanted.status();
    }
    if (sigmf && *wanted != file.format) {
      return absl::InvalidArgumentError(absl::StrCat("--format ", format, " contradicts ", base,
                                                     kSigmfMeta, ", which says ",
                                                     NameOfFormat(file.format)));
    }
    file.format = *wanted;
  }
  absl::StatusOr<std::string> bytes = ReadFile(sigmf ? base + kSigmfData : path);
  if (!bytes.ok()) {
    return bytes.status();
  }
  file.bytes = *std::move(bytes);
  if (absl::Status status = CheckWhole(sigmf ? base + kSigmfData : path, file); !status.ok()) {
    return status;
  }
  return file;
}

absl::Status CheckWritable(const std::string& path, v1::SampleFormat format) {
  std::string base;
  if (SplitSigmfPath(path, &base) && format == v1::SAMPLE_FORMAT_FLOAT16) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": SigMF has no 16-bit float; write a raw file or use f32 or i16"));
  }
  return absl::OkStatus();
}

void WriteSymbols(const SampleOutput& output, const SymbolFile& file,
                  absl::string_view description) {
  output.data->Write(file.bytes);
  if (output.meta == nullptr) {
    return;
  }
  SigmfMeta meta;
  meta.datatype = file.format == v1::SAMPLE_FORMAT_INT16 ? "ci16_le" : "cf32_le";
  meta.sample_rate_hz = file.sample_rate_hz;
  meta.description = std::string(description);
  meta.captures.emplace_back();
  output.meta->Write(ToSigmfText(meta));
}

}  // namespace baseband::ctl
