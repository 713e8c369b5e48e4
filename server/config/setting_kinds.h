// The kinds of settings that the tables are made of.
#ifndef BASEBAND_SERVER_CONFIG_SETTING_KINDS_H_
#define BASEBAND_SERVER_CONFIG_SETTING_KINDS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/config/settings.h"

namespace baseband::server {

using Values = std::vector<std::string>;

// A whole number, as common/numbers reads it ("4k"). InvalidArgument names the setting, the text
// and the range.
absl::StatusOr<int> ParseInt(absl::string_view name, const std::string& text, int min, int max);

// Text without `set` and `get`, which the caller adds.
Setting Text(std::string name, std::string value, std::string help);
// A whole number in [min, max], kept in `member`. Of one whose name ends in _mib, plain digits: a
// suffix would be a second unit.
Setting Number(std::string name, int min, int max, int Config::*member, std::string help);
// A duration of [min, max] whole `step`s, with its unit: "20s", "500us". Zero is "0s", too.
Setting Span(std::string name, int min, int max, absl::Duration step,
             absl::Duration Config::*member, std::string help);
// An address of that kind; off or nothing: none.
enum class AddressKind { kAny, kTcp, kUnix };
Setting AddressOrOff(std::string name, AddressKind kind, std::string Config::*member,
                     std::string help);
// true or false; the name alone means true.
Setting Switch(std::string name, bool Config::*member, std::string help);

// InvalidArgument "`name` wrod is not one of word, other; did you mean word?".
absl::Status NotOneOf(absl::string_view name, absl::string_view word, const Values& words);

template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

// One of a few words.
template <typename T>
Setting Choice(std::string name, Choices<T> choices, T Config::*member, std::string help) {
  const std::string words = absl::StrJoin(
      choices, "|", [](std::string* out, const auto& choice) { out->append(choice.first); });
  Setting setting = Text(std::move(name), words, std::move(help));
  setting.set = [=](absl::string_view title, const Values& values, Config* config) {
    for (const auto& [word, value] : choices) {
      if (word == values[0]) {
        config->*member = value;
        return absl::OkStatus();
      }
    }
    return NotOneOf(title, values[0], absl::StrSplit(words, '|'));
  };
  setting.get = [=](const Config& config) {
    for (const auto& [word, value] : choices) {
      if (value == config.*member) return Values{word};
    }
    return Values{};
  };
  return setting;
}
// Words that stand for themselves.
Choices<std::string> Words(const Values& words);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_SETTING_KINDS_H_
