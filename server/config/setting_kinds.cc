#include "server/config/setting_kinds.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "kernels/base/status_macros.h"
#include "server/config/address.h"

namespace baseband::server {
namespace {

// What a number is, by its setting's name; people write the unit again behind it.
std::string KindOf(absl::string_view setting) {
  for (const auto& [suffix, unit] : {std::pair<const char*, const char*>{"_s", "seconds"},
                                     {"_ms", "milliseconds"},
                                     {"_us", "microseconds"},
                                     {"_mib", "MiB"}}) {
    if (absl::EndsWith(setting, suffix)) return absl::StrCat("whole ", unit, ", without a unit");
  }
  return "a whole number";
}

}  // namespace

absl::StatusOr<int> ParseInt(absl::string_view name, const std::string& text, int min, int max,
                             absl::string_view kind) {
  int value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= min && value <= max) return value;
  const bool is_whole = text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) ==
                        std::string::npos;  // too large for an int, perhaps
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", text, " is not in [", min, ", ", max, "]",
                   is_whole && !text.empty() ? "" : absl::StrCat(": it takes ", kind)));
}

Setting Number(std::string name, int min, int max, int Config::*member, std::string help) {
  Setting setting;
  setting.name = std::move(name);
  const std::string kind = KindOf(setting.name);
  setting.value = absl::StrCat(min, "..", max);
  setting.help = std::move(help);
  setting.set = [=](absl::string_view title, const Values& values, Config* config) -> absl::Status {
    BASEBAND_ASSIGN_OR_RETURN(config->*member, ParseInt(title, values[0], min, max, kind));
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) { return Values{absl::StrCat(config.*member)}; };
  return setting;
}

Setting Span(std::string name, int min, int max, absl::Duration unit,
             absl::Duration Config::*member, std::string help) {
  const std::string kind = KindOf(name);
  Setting setting = Number(std::move(name), min, max, nullptr, std::move(help));
  setting.set = [=](absl::string_view title, const Values& values, Config* config) -> absl::Status {
    BASEBAND_ASSIGN_OR_RETURN(const int count, ParseInt(title, values[0], min, max, kind));
    config->*member = count * unit;
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) {
    return Values{
        absl::StrCat(absl::ToInt64Microseconds(config.*member) / absl::ToInt64Microseconds(unit))};
  };
  return setting;
}

Setting Text(std::string name, std::string value, std::string help) {
  Setting setting;
  setting.name = std::move(name);
  setting.value = std::move(value);
  setting.help = std::move(help);
  setting.is_text = true;
  return setting;
}

Choices<std::string> Words(const Values& words) {
  Choices<std::string> choices;
  for (const std::string& word : words) choices.emplace_back(word, word);
  return choices;
}

Setting AddressOrOff(std::string name, AddressKind kind, std::string Config::*member,
                     std::string help) {
  constexpr char kOff[] = "off";
  Setting setting = Text(std::move(name),
                         absl::StrCat(kind == AddressKind::kTcp    ? "HOST:PORT"
                                      : kind == AddressKind::kUnix ? "unix:PATH"
                                                                   : "HOST:PORT|unix:PATH",
                                      "|", kOff),
                         std::move(help));
  setting.set = [=](absl::string_view title, const Values& values, Config* config) -> absl::Status {
    const auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(title, " ", values[0], " ", why));
    };
    if (values[0].empty() || values[0] == kOff) {
      (config->*member).clear();
      return absl::OkStatus();
    }
    const absl::StatusOr<Address> address = ParseAddress(values[0]);
    if (!address.ok()) return refuse(address.status().message());
    if (kind == AddressKind::kTcp && address->is_unix()) {
      return refuse("is a Unix socket: expected HOST:PORT");
    }
    if (kind == AddressKind::kUnix && !address->is_unix()) {
      return refuse("is no Unix socket: expected unix:PATH");
    }
    config->*member = values[0];
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) {
    return Values{(config.*member).empty() ? kOff : config.*member};
  };
  return setting;
}

Setting Switch(std::string name, bool Config::*member, std::string help) {
  Setting setting =
      Choice<bool>(std::move(name), {{"true", true}, {"false", false}}, member, std::move(help));
  setting.is_switch = true;
  setting.is_text = false;
  return setting;
}

}  // namespace baseband::server
