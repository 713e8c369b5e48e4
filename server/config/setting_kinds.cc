#include "server/config/setting_kinds.h"

#include "absl/strings/numbers.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

absl::StatusOr<int> ParseInt(absl::string_view name, const std::string& text, int min, int max) {
  int value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < min || value > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", text, " is not in [", min, ", ", max, "]"));
  }
  return value;
}

Setting Number(std::string name, int min, int max, int Config::*member, std::string help) {
  Setting setting;
  setting.name = std::move(name);
  setting.value = absl::StrCat(min, "..", max);
  setting.help = std::move(help);
  setting.set = [=](absl::string_view title, const Values& values, Config* config) -> absl::Status {
    BASEBAND_ASSIGN_OR_RETURN(config->*member, ParseInt(title, values[0], min, max));
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) { return Values{absl::StrCat(config.*member)}; };
  return setting;
}

Setting Span(std::string name, int min, int max, absl::Duration unit,
             absl::Duration Config::*member, std::string help) {
  Setting setting = Number(std::move(name), min, max, nullptr, std::move(help));
  setting.set = [=](absl::string_view title, const Values& values, Config* config) -> absl::Status {
    BASEBAND_ASSIGN_OR_RETURN(const int count, ParseInt(title, values[0], min, max));
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

Setting Switch(std::string name, bool Config::*member, std::string help) {
  Setting setting =
      Choice<bool>(std::move(name), {{"true", true}, {"false", false}}, member, std::move(help));
  setting.is_switch = true;
  setting.is_text = false;
  return setting;
}

}  // namespace baseband::server
