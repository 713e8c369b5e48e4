#include "client/ctl/carrier/symbol_files.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ctl/carrier/symbols.h"
#include "client/ctl/common/files.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMeta[] = ".sigmf-meta";
constexpr char kData[] = ".sigmf-data";

// The path without SigMF's extension; false if it has none.
bool SplitSigmf(const std::string& path, std::string* base) {
  absl::string_view rest = path;
  if (!absl::ConsumeSuffix(&rest, kMeta) && !absl::ConsumeSuffix(&rest, kData)) {
    return false;
  }
  *base = std::string(rest);
  return true;
}

v1::SampleFormat FormatOfName(const std::string& path) {
  for (const char* end : {".cs16", ".sc16", ".ci16"}) {
    if (absl::EndsWithIgnoreCase(path, end)) {
      return v1::SAMPLE_FORMAT_INT16;
    }
  }
  return absl::EndsWithIgnoreCase(path, ".cf16") ? v1::SAMPLE_FORMAT_FLOAT16
                                                 : v1::SAMPLE_FORMAT_FLOAT32;
}

// Fills in what the metadata tells; `error` says what is wrong with it, without the path.
absl::Status ParseMeta(const std::string& text, SymbolFile* file) {
  const Json meta = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!meta.is_object() || !meta.contains("global") || !meta["global"].is_object()) {
    return absl::InvalidArgumentError("is not SigMF: no JSON object with \"global\" in it");
  }
  const Json& global = meta["global"];
  const auto number = [](const Json& object, const char* key, double otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
  };
  const auto type = global.find("core:datatype");
  if (type != global.end() && *type == "cf32_le") {
    file->format = v1::SAMPLE_FORMAT_FLOAT32;
  } else if (type != global.end() && *type == "ci16_le") {
    file->format = v1::SAMPLE_FORMAT_INT16;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("core:datatype ",
                                                   type == global.end() ? "(none)" : type->dump(),
                                                   " is not one of cf32_le, ci16_le"));
  }
  if (const double channels = number(global, "core:num_channels", 1); channels != 1) {
    return absl::InvalidArgumentError(absl::StrCat("core:num_channels ", channels, " is not 1"));
  }
  const auto captures = meta.find("captures");
  if (captures != meta.end() && captures->is_array()) {
    for (const Json& capture : *captures) {
      if (capture.is_object() && number(capture, "core:header_bytes", 0) != 0) {
        return absl::InvalidArgumentError("core:header_bytes other than 0 are not understood");
      }
    }
  }
  file->sample_rate_hz = number(global, "core:sample_rate", 0);
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
  const bool sigmf = SplitSigmf(path, &base);
  if (sigmf) {
    const absl::StatusOr<std::string> text = ReadFile(base + kMeta);
    if (!text.ok()) {
      return text.status();
    }
    if (absl::Status status = ParseMeta(*text, &file); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(base, kMeta, ": ", status.message()));
    }
  }
  if (!format.empty()) {
    const absl::StatusOr<v1::SampleFormat> wanted = ParseSampleFormat(format);
    if (!wanted.ok()) {
      return wanted.status();
    }
    if (sigmf && *wanted != file.format) {
      return absl::InvalidArgumentError(absl::StrCat("--format ", format, " contradicts ", base,
                                                     kMeta, ", which says ",
                                                     NameOfFormat(file.format)));
    }
    file.format = *wanted;
  }
  absl::StatusOr<std::string> bytes = ReadFile(sigmf ? base + kData : path);
  if (!bytes.ok()) {
    return bytes.status();
  }
  file.bytes = *std::move(bytes);
  if (absl::Status status = CheckWhole(sigmf ? base + kData : path, file); !status.ok()) {
    return status;
  }
  return file;
}

absl::Status CheckWritable(const std::string& path, v1::SampleFormat format) {
  std::string base;
  if (SplitSigmf(path, &base) && format == v1::SAMPLE_FORMAT_FLOAT16) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": SigMF has no 16-bit float; write a raw file or use f32 or i16"));
  }
  return absl::OkStatus();
}

absl::Status WriteSymbols(const std::string& path, const SymbolFile& file,
                          absl::string_view description) {
  if (absl::Status status = CheckWritable(path, file.format); !status.ok()) {
    return status;
  }
  std::string base;
  if (!SplitSigmf(path, &base)) {
    return WriteFile(path, file.bytes);
  }
  Json meta;
  Json& global = meta["global"];
  global["core:datatype"] = file.format == v1::SAMPLE_FORMAT_INT16 ? "ci16_le" : "cf32_le";
  global["core:version"] = "1.0.0";
  if (file.sample_rate_hz > 0) {
    global["core:sample_rate"] = file.sample_rate_hz;
  }
  global["core:description"] = std::string(description);
  Json capture;
  capture["core:sample_start"] = 0;
  meta["captures"] = Json::array();
  meta["captures"].push_back(capture);
  meta["annotations"] = Json::array();
  absl::Status status = WriteFile(base + kData, file.bytes);
  status.Update(WriteFile(base + kMeta, meta.dump(2) + "\n"));
  return status;
}

}  // namespace baseband::ctl
