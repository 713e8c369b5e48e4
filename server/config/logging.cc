#include "server/config/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace baseband::server {
namespace {

// The message as the inside of a JSON string.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& target) override {
    constexpr char kHex[] = "0123456789abcdef";
    for (const char c : message.payload) {
      if (c == '"' || c == '\\') {
        target.push_back('\\');
        target.push_back(c);
      } else if (static_cast<unsigned char>(c) < 0x20) {
        for (const char escaped : {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]}) {
          target.push_back(escaped);
        }
      } else {
        target.push_back(c);
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

// The message on one line, whoever's words are in it.
class TextMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& target) override {
    constexpr char kHex[] = "0123456789abcdef";
    for (const char c : message.payload) {
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
        target.push_back(c);
      } else {
        for (const char escaped : {'\\', 'x', kHex[c >> 4], kHex[c & 15]}) {
          target.push_back(escaped);
        }
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<TextMessage>();
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

absl::Status SetLogLevel(const std::string& level) {
  if (std::find(LogLevels().begin(), LogLevels().end(), level) == LogLevels().end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "level '", absl::CHexEscape(level), "' is not one of ", absl::StrJoin(LogLevels(), "|")));
  }
  spdlog::set_level(spdlog::level::from_str(level));
  return absl::OkStatus();
}

}  // namespace baseband::server
