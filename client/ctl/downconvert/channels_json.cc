#include "client/ctl/downconvert/channels_json.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/json_values.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/taps_file.h"

namespace baseband::ctl {
namespace {

absl::StatusOr<bool> IsKaiser(absl::string_view name) {
  if (name != "kaiser" && name != "equiripple") {
    return absl::InvalidArgumentError(NotOneOf("", name, {"equiripple", "kaiser"}));
  }
  return name == "kaiser";
}

absl::Status SetFrequency(const Json& value, ChannelFrequency* frequency) {
  if (value.is_number()) {
    frequency->is_radio = false;
    frequency->oscillator.set_hz(value.get<double>());
    return absl::OkStatus();
  }
  return SetNamed(value, &ParseChannelFrequency, frequency);
}

absl::Status SetTaps(const Json& value, std::vector<float>* taps) {
  if (value.is_string()) {
    absl::StatusOr<std::vector<float>> read = ReadTaps(value.get<std::string>());
    if (read.ok()) {
      *taps = *std::move(read);
    }
    return read.status();
  }
  taps->clear();
  for (const Json& tap : value) {
    if (!tap.is_number()) {
      return absl::InvalidArgumentError(absl::StrCat(tap.dump(), " is not a number"));
    }
    taps->push_back(tap.get<float>());
  }
  return absl::OkStatus();
}

const std::vector<JsonKey<ChannelSpec>>& Keys() {
  static const auto* const keys = new std::vector<JsonKey<ChannelSpec>>{
      {"frequency", [](const Json& v, ChannelSpec* c) { return SetFrequency(v, &c->frequency); }},
      {"phase", [](const Json& v, ChannelSpec* c) { return SetNumber(v, &c->phase_degrees); }},
      {"gain", [](const Json& v, ChannelSpec* c) { return SetNumber(v, &c->gain); }},
      {"down", [](const Json& v, ChannelSpec* c) { return SetInteger(v, &c->down); }},
      {"up", [](const Json& v, ChannelSpec* c) { return SetInteger(v, &c->up); }},
      {"taps", [](const Json& v, ChannelSpec* c) { return SetTaps(v, &c->taps); }},
      {"pass", [](const Json& v, ChannelSpec* c) { return SetNumber(v, &c->pass_hz); }},
      {"stop", [](const Json& v, ChannelSpec* c) { return SetNumber(v, &c->stop_hz); }},
      {"ripple", [](const Json& v, ChannelSpec* c) { return SetNumber(v, &c->ripple_db); }},
      {"attenuation",
       [](const Json& v, ChannelSpec* c) { return SetNumber(v, &c->attenuation_db); }},
      {"design", [](const Json& v, ChannelSpec* c) { return SetNamed(v, &IsKaiser, &c->kaiser); }},
      {"output",
       [](const Json& v, ChannelSpec* c) { return SetNamed(v, &ParseOutputFormat, &c->output); }},
      {"nco", [](const Json& v, ChannelSpec* c) { return SetNamed(v, &ParseNcoMethod, &c->nco); }},
      {"segment", [](const Json& v, ChannelSpec* c) { return SetInteger(v, &c->segment); }}};
  return *keys;
}

absl::StatusOr<ChannelSpec> ParseOne(const Json& json, const ChannelSpec& common) {
  if (!json.is_object() || !json.contains("frequency")) {
    return absl::InvalidArgumentError(" is not an object with a \"frequency\" in it");
  }
  ChannelSpec channel = common;
  // A filter of its own replaces the common one, whichever of the two kinds that is.
  if (json.contains("taps")) {
    channel.pass_hz = channel.stop_hz = channel.ripple_db = channel.attenuation_db = 0;
    channel.kaiser = false;
  } else if (json.contains("pass")) {
    channel.taps.clear();
  }
  if (absl::Status status = SetKeys(json, Keys(), &channel); !status.ok()) {
    return status;
  }
  return channel;
}

}  // namespace

absl::StatusOr<ChannelsFile> ParseChannels(const std::string& text, const ChannelSpec& common) {
  const absl::StatusOr<Json> parsed = ParseJson(text);
  if (!parsed.ok()) {
    return parsed.status();
  }
  const Json& json = *parsed;
  const bool wrapped = json.is_object() && json.contains("channels");
  const Json& list = wrapped ? json["channels"] : json;
  if (!list.is_array() || list.empty()) {
    return absl::InvalidArgumentError(
        "is not a JSON list of channels, such as [{\"frequency\": \"9.1M\", \"down\": 8}]");
  }
  ChannelsFile file;
  if (wrapped && json.contains("sample_rate")) {
    if (absl::Status status = SetNumber(json["sample_rate"], &file.sample_rate_hz); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("sample_rate: ", status.message()));
    }
  }
  for (const Json& item : list) {
    absl::StatusOr<ChannelSpec> channel = ParseOne(item, common);
    if (!channel.ok()) {
      return absl::Status(channel.status().code(), absl::StrCat("channels[", file.channels.size(),
                                                                "]", channel.status().message()));
    }
    file.channels.push_back(*std::move(channel));
  }
  return file;
}

}  // namespace baseband::ctl
