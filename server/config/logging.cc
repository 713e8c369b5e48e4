#include "server/config/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "server/config/quoted.h"

namespace baseband::server {
namespace {

constexpr char kHex[] = "0123456789abcdef";

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: what `text` begins with is no UTF-8
};

Character FirstOf(absl::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by bytes: below it is overlong
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >> 5 == 0x6 ? 2 : lead >> 4 == 0xe ? 3 : lead >> 3 == 0x1e ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (next >> 6 != 0x2) return {};
    code = code << 6 | (next & 0x3fU);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[bytes] || code > 0x10ffff || is_surrogate) return {};
  return {code, bytes};
}

// What ends a line, commands a terminal, or has the rest of a line shown in another order.
bool IsControl(uint32_t code) {
  const auto in = [code](uint32_t first, uint32_t last) { return first <= code && code <= last; };
  return code < 0x20 || in(0x7f, 0x9f) || in(0x200e, 0x200f) || in(0x2028, 0x202e) ||
         in(0x2066, 0x2069) || code == 0x61c;
}

void AppendHex(uint32_t value, int digits, spdlog::memory_buf_t* target) {
  while (--digits >= 0) target->push_back(kHex[value >> (4 * digits) & 0xf]);
}

void AppendText(absl::string_view text, spdlog::memory_buf_t* target) {
  target->append(text.data(), text.data() + text.size());
}

// Calls write(character, its bytes) for each of the message, and for each byte that is none.
template <typename Write>
void ForEachCharacter(const spdlog::details::log_msg& message, const Write& write) {
  absl::string_view rest(message.payload.data(), message.payload.size());
  while (!rest.empty()) {
    const Character first = FirstOf(rest);
    const absl::string_view bytes = rest.substr(0, std::max<size_t>(first.bytes, 1));
    write(first, bytes);
    rest.remove_prefix(bytes.size());
  }
}

// The message on one line, as UTF-8, whoever's words are in it: what is neither, or IsControl(), is
// written as its bytes, \xHH.
class TextMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& target) override {
    ForEachCharacter(message, [&target](const Character& one, absl::string_view bytes) {
      if (one.bytes > 0 && !IsControl(one.code)) return AppendText(bytes, &target);
      for (const char byte : bytes) {
        AppendText("\\x", &target);
        AppendHex(static_cast<unsigned char>(byte), 2, &target);
      }
    });
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<TextMessage>();
  }
};

// The message as the inside of a JSON string, which is UTF-8: a byte that is none reads \xHH.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& target) override {
    ForEachCharacter(message, [&target](const Character& one, absl::string_view bytes) {
      if (one.bytes == 0) {
        AppendText("\\\\x", &target);
        AppendHex(static_cast<unsigned char>(bytes[0]), 2, &target);
      } else if (IsControl(one.code)) {  // none is above 16 bits
        AppendText("\\u", &target);
        AppendHex(one.code, 4, &target);
      } else {
        if (one.code == '"' || one.code == '\\') target.push_back('\\');
        AppendText(bytes, &target);
      }
    });
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

}  // namespace

void SetUpLogging(const Config& config) {
  auto logger = spdlog::stderr_color_mt("basebandd");
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  if (config.log_format == LogFormat::kJson) {
    formatter->add_flag<JsonMessage>('*').set_pattern(
        R"({"ts":"%Y-%m-%dT%H:%M:%S.%FZ","level":"%l","msg":"%*"})");
  } else {
    formatter->add_flag<TextMessage>('*').set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-5l%$ %*");
  }
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(config.log_level));
  spdlog::set_default_logger(std::move(logger));
}

const std::vector<std::string>& LogLevels() {
  static const auto& levels =
      *new std::vector<std::string>{"trace", "debug", "info", "warning", "error", "off"};
  return levels;
}

absl::StatusOr<std::string> SetLogLevel(const std::string& level) {
  if (std::find(LogLevels().begin(), LogLevels().end(), level) == LogLevels().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("level ", Quoted(level), " is not one of ", absl::StrJoin(LogLevels(), ", ")));
  }
  static auto& mutex = *new absl::Mutex;  // of two at a time, one has the other's level before it
  absl::MutexLock lock(&mutex);
  const spdlog::string_view_t before = spdlog::level::to_string_view(spdlog::get_level());
  spdlog::set_level(spdlog::level::from_str(level));
  return std::string(before.data(), before.size());
}

void LogAtAnyLevel(const std::string& line) {
  const std::shared_ptr<spdlog::logger> usual = spdlog::default_logger();
  spdlog::logger logger(usual->name(), usual->sinks().begin(), usual->sinks().end());
  logger.set_level(spdlog::level::trace);
  logger.warn("{}", line);
}

}  // namespace baseband::server
