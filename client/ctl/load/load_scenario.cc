#include "client/ctl/load/load_scenario.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/json_values.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/load/load_keys.h"

namespace baseband::ctl {
namespace {

// `set` for a field that may be empty.
template <typename T>
auto Optional(absl::Status (*set)(const Json&, T*), absl::optional<T> PaceSettings::*field) {
  return [set, field](const Json& json, PaceSettings* settings) {
    return set(json, &(settings->*field).emplace());
  };
}

const std::vector<JsonKey<PaceSettings>>& PaceKeys() {
  static const auto* const keys = new std::vector<JsonKey<PaceSettings>>{
      {"rate", Optional(&SetNumber, &PaceSettings::rate)},
      {"arrivals", Optional(&SetText, &PaceSettings::arrivals)},
      {"cells", Optional(&SetInteger, &PaceSettings::cells)},
      {"slot", Optional(&SetDuration, &PaceSettings::slot)},
      {"jitter", Optional(&SetDuration, &PaceSettings::jitter)},
      {"in_flight", Optional(&SetInteger, &PaceSettings::in_flight)},
      {"duration", Optional(&SetDuration, &PaceSettings::duration)},
      {"warmup", Optional(&SetDuration, &PaceSettings::warm_up)}};
  return *keys;
}

// Of item number `index` of the mix.
absl::StatusOr<TrafficSpec> ParseItem(const Json& json, size_t index, const TrafficSpec& common) {
  const auto at = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("mix[", index, "]", what));
  };
  if (!json.is_object() || !json.contains("operation")) {
    return at(" is not an object with an \"operation\" in it");
  }
  TrafficSpec spec = common;
  for (const char* family : {"nr_bg", "wimax", "wifi", "matrix"}) {
    if (json.contains(family)) {
      spec.code = CodeFlags();
    }
  }
  if (json.contains("mcs") || json.contains("qm")) {
    spec.mcs.reset();
    spec.format.table = spec.format.qm = 0;
    spec.format.code_rate = 0;
  }
  if (absl::Status status = SetKeys(json, TrafficKeys(), &spec); !status.ok()) {
    return at(status.message());
  }
  for (const TrafficKey& key : TrafficKeys()) {
    if (json.contains(key.name) && !key.IsFor(spec.operation)) {
      return at(absl::StrCat(".", key.name, ": ", DoesNotGo(key, {spec.operation})));
    }
  }
  if (!TakesHarq(spec.operation)) {
    spec.harq = 0;  // the flag says it of others
  }
  if (absl::Status status = Check(spec); !status.ok()) {
    return at(absl::StrCat(": ", status.message()));
  }
  return spec;
}

}  // namespace

PaceSettings Merge(const PaceSettings& first, const PaceSettings& second) {
  PaceSettings merged = first;
  const auto fill = [](auto* to, const auto& from) {
    if (!to->has_value()) {
      *to = from;
    }
  };
  if (!first.rate.has_value() && !first.in_flight.has_value()) {
    fill(&merged.cells, second.cells);
    fill(&merged.slot, second.slot);
    fill(&merged.jitter, second.jitter);
  }
  if (!first.cells.has_value() && !first.in_flight.has_value()) {
    fill(&merged.rate, second.rate);
    fill(&merged.arrivals, second.arrivals);
  }
  if (!first.rate.has_value() && !first.cells.has_value()) {
    fill(&merged.in_flight, second.in_flight);
  }
  fill(&merged.duration, second.duration);
  fill(&merged.warm_up, second.warm_up);
  return merged;
}

absl::StatusOr<load::Pace> ToPace(const PaceSettings& settings) {
  const auto refuse = [](bool wrong, absl::string_view what) {
    return wrong ? absl::InvalidArgumentError(what) : absl::OkStatus();
  };
  const bool cells = settings.cells.has_value();
  const bool rate = settings.rate.has_value();
  const std::string arrivals = settings.arrivals.value_or("poisson");
  absl::Status status =
      refuse(cells && rate, "cells (--cells) and a rate (--rate) do not go together");
  status.Update(refuse(settings.arrivals.has_value() && !rate,
                       "arrivals (--arrivals) go with a rate (--rate) only"));
  status.Update(refuse((settings.slot.has_value() || settings.jitter.has_value()) && !cells,
                       "slot and jitter (--slot, --jitter) go with cells (--cells) only"));
  status.Update(refuse(settings.in_flight.has_value() && (rate || cells),
                       "in_flight (--in-flight) goes neither with a rate (--rate) nor with cells"
                       " (--cells)"));
  status.Update(refuse(arrivals != "poisson" && arrivals != "constant",
                       NotOneOf("arrivals", arrivals, {"poisson", "constant"})));
  load::Pace pace;
  if (cells) {
    pace.kind = load::Pace::Kind::kSlots;
    pace.cells = *settings.cells;
    pace.slot = settings.slot.value_or(pace.slot);
    pace.jitter = settings.jitter.value_or(pace.slot / 10);
  } else if (rate) {
    pace.kind = arrivals == "poisson" ? load::Pace::Kind::kPoisson : load::Pace::Kind::kConstant;
    pace.rate = *settings.rate;
  } else {
    pace.in_flight = settings.in_flight.value_or(pace.in_flight);
  }
  status.Update(pace.Check());
  if (!status.ok()) {
    return status;
  }
  return pace;
}

absl::StatusOr<Scenario> ParseScenario(const std::string& text, const TrafficSpec& common) {
  absl::StatusOr<Json> parsed = ParseJson(text);
  if (!parsed.ok()) {
    return parsed.status();
  }
  Json json = *std::move(parsed);
  if (!json.is_object() || !json.contains("mix") || !json["mix"].is_array() ||
      json["mix"].empty()) {
    return absl::InvalidArgumentError(
        "is not a JSON object with a list \"mix\" in it, such as"
        " {\"rate\": 2000, \"mix\": [{\"operation\": \"decode\"}]}");
  }
  Scenario scenario;
  for (const Json& item : json["mix"]) {
    absl::StatusOr<TrafficSpec> spec = ParseItem(item, scenario.mix.size(), common);
    if (!spec.ok()) {
      return spec.status();
    }
    scenario.mix.push_back(*std::move(spec));
  }
  json.erase("mix");
  if (absl::Status status = SetKeys(json, PaceKeys(), &scenario.pace); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the scenario", status.message()));
  }
  return scenario;
}

}  // namespace baseband::ctl
