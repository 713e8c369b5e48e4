#include "server/config/setting_kinds.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "common/numbers/numbers.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "server/config/address.h"

namespace baseband::server {
namespace {

// Nothing is seen as such.
absl::string_view Shown(absl::string_view text) { return text.empty() ? "''" : text; }

absl::Status OutOfRange(absl::string_view name, absl::string_view text, absl::string_view min,
                        absl::string_view max, absl::string_view kind) {
  return absl::InvalidArgumentError(absl::StrCat(name, " ", Shown(text), " is not in [", min, ", ",
                                                 max, "]", kind.empty() ? "" : ": it takes ",
                                                 kind));
}

bool IsDigits(absl::string_view text) {
  absl::ConsumePrefix(&text, "-");
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// "20s" of whole seconds, "500us" of whole microseconds.
std::string InSteps(absl::Duration duration, absl::Duration step) {
  const char* const unit = step == absl::Seconds(1)        ? "s"
                           : step == absl::Milliseconds(1) ? "ms"
                                                           : "us";
  return absl::StrCat(duration / step, unit);
}

}  // namespace

absl::Status NotOneOf(absl::string_view name, absl::string_view word, const Values& words) {
  return absl::InvalidArgumentError(absl::StrCat(name, " ", Shown(word), " is not one of ",
                                                 absl::StrJoin(words, ", "),
                                                 DidYouMean(NearName(word, words))));
}

absl::StatusOr<int> ParseInt(absl::string_view name, const std::string& text, int min, int max) {
  int value = 0;
  if (ParseWholeIn(text, min, max, &value)) return value;
  // Too large for any number, perhaps.
  return OutOfRange(name, text, absl::StrCat(min), absl::StrCat(max),
                    IsDigits(text) || ParseWhole(text).ok() ? "" : "a whole number");
}

Setting Number(std::string name, int min, int max, int Config::*member, std::string help) {
  Setting setting;
  setting.name = std::move(name);
  const bool is_mib = absl::EndsWith(setting.name, "_mib");
  setting.value = absl::StrCat(min, "..", max);
  setting.help = std::move(help);
  setting.set = [=](absl::string_view title, const Values& values, Config* config) -> absl::Status {
    if (is_mib && !IsDigits(values[0])) {
      return OutOfRange(title, values[0], absl::StrCat(min), absl::StrCat(max),
                        "whole MiB, without a unit");
    }
    BASEBAND_ASSIGN_OR_RETURN(config->*member, ParseInt(title, values[0], min, max));
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) { return Values{absl::StrCat(config.*member)}; };
  return setting;
}

Setting Span(std::string name, int min, int max, absl::Duration step,
             absl::Duration Config::*member, std::string help) {
  Setting setting =
      Text(std::move(name), absl::StrCat(DurationText(min * step), "..", DurationText(max * step)),
           std::move(help));
  setting.set = [=](absl::string_view title, const Values& values, Config* config) -> absl::Status {
    const absl::StatusOr<absl::Duration> duration = ParseDuration(values[0]);
    if (!duration.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(title, " ", duration.status().message()));
    }
    const bool is_whole = *duration % step == absl::ZeroDuration();
    if (*duration < min * step || *duration > max * step || !is_whole) {
      return OutOfRange(title, values[0], DurationText(min * step), DurationText(max * step),
                        is_whole ? "" : absl::StrCat("whole multiples of ", DurationText(step)));
    }
    config->*member = *duration;
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) { return Values{InSteps(config.*member, step)}; };
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
