#include "client/ctl/common/sigmf.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ctl/common/json_values.h"
#include "kernels/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

// Empty if it is not there; InvalidArgument if it is no number.
absl::StatusOr<absl::optional<double>> Number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return absl::optional<double>();
  }
  if (!found->is_number()) {
    return absl::InvalidArgumentError(absl::StrCat(key, " ", found->dump(), " is not a number"));
  }
  return absl::optional<double>(found->get<double>());
}

// Empty if it is not there; InvalidArgument if it is no whole number >= 0.
absl::StatusOr<absl::optional<int64_t>> Index(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return absl::optional<int64_t>();
  }
  if (!found->is_number_unsigned() || found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, " ", found->dump(), " is not a place of a sample"));
  }
  return absl::optional<int64_t>(found->get<int64_t>());
}

absl::StatusOr<SigmfCapture> ParseCapture(const Json& json) {
  if (!json.is_object()) {
    return absl::InvalidArgumentError("a capture is not an object");
  }
  BASEBAND_ASSIGN_OR_RETURN(const absl::optional<double> header, Number(json, "core:header_bytes"));
  if (header.value_or(0) != 0) {
    return absl::InvalidArgumentError("core:header_bytes other than 0 are not understood");
  }
  SigmfCapture capture;
  const auto start = Index(json, "core:sample_start");
  const auto global = Index(json, "core:global_index");
  if (!start.ok() || !global.ok()) {
    return start.ok() ? global.status() : start.status();
  }
  capture.sample_start = start->value_or(0);
  capture.global_index = *global;
  BASEBAND_ASSIGN_OR_RETURN(capture.frequency_hz, Number(json, "core:frequency"));
  return capture;
}

}  // namespace

bool SplitSigmfPath(absl::string_view path, std::string* base) {
  if (!absl::ConsumeSuffix(&path, kSigmfMeta) && !absl::ConsumeSuffix(&path, kSigmfData)) {
    return false;
  }
  *base = std::string(path);
  return true;
}

SampleOutput OpenSamples(absl::string_view flag, const std::string& path, Outputs* outputs) {
  std::string base;
  if (!SplitSigmfPath(path, &base)) {
    return {outputs->Open(flag, path), nullptr};
  }
  OutputFile* const data = outputs->Open(flag, base + kSigmfData);
  return {data, outputs->Open(flag, base + kSigmfMeta)};
}

absl::StatusOr<SigmfMeta> ParseSigmf(const std::string& text) {
  const absl::StatusOr<Json> parsed = ParseJson(text);
  if (!parsed.ok()) {
    return parsed.status();
  }
  const Json& json = *parsed;
  if (!json.is_object() || !json.contains("global") || !json["global"].is_object()) {
    return absl::InvalidArgumentError("is not SigMF: no JSON object with \"global\" in it");
  }
  const Json& global = json["global"];
  SigmfMeta meta;
  if (!global.contains("core:datatype") || !global["core:datatype"].is_string()) {
    return absl::InvalidArgumentError("says no core:datatype");
  }
  meta.datatype = global["core:datatype"].get<std::string>();
  BASEBAND_ASSIGN_OR_RETURN(const absl::optional<double> channels,
                            Number(global, "core:num_channels"));
  if (channels.value_or(1) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("core:num_channels ", *channels, " is not 1"));
  }
  BASEBAND_ASSIGN_OR_RETURN(const absl::optional<double> rate, Number(global, "core:sample_rate"));
  if (rate.has_value() && !(*rate > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("core:sample_rate ", *rate, " is not > 0"));
  }
  meta.sample_rate_hz = rate.value_or(0);
  const auto captures = json.find("captures");
  for (const Json& item : captures != json.end() && captures->is_array() ? *captures : Json()) {
    absl::StatusOr<SigmfCapture> capture = ParseCapture(item);
    if (!capture.ok()) {
      return capture.status();
    }
    if (!meta.captures.empty() && capture->sample_start < meta.captures.back().sample_start) {
      return absl::InvalidArgumentError("captures are not in the order of core:sample_start");
    }
    meta.captures.push_back(*std::move(capture));
  }
  return meta;
}

std::string ToSigmfText(const SigmfMeta& meta) {
  Json json;
  Json& global = json["global"];
  global["core:datatype"] = meta.datatype;
  global["core:version"] = "1.0.0";
  if (meta.sample_rate_hz > 0) {
    global["core:sample_rate"] = meta.sample_rate_hz;
  }
  global["core:description"] = meta.description;
  json["captures"] = Json::array();
  for (const SigmfCapture& capture : meta.captures) {
    Json item;
    item["core:sample_start"] = capture.sample_start;
    if (capture.global_index.has_value()) {
      item["core:global_index"] = *capture.global_index;
    }
    if (capture.frequency_hz.has_value()) {
      item["core:frequency"] = *capture.frequency_hz;
    }
    json["captures"].push_back(std::move(item));
  }
  json["annotations"] = Json::array();
  return json.dump(2) + "\n";
}

}  // namespace baseband::ctl
