// Command lines, environments and files of the server, read. For the tests of this folder.
#ifndef BASEBAND_TESTS_UNIT_SERVER_CONFIG_PARSE_CONFIG_H_
#define BASEBAND_TESTS_UNIT_SERVER_CONFIG_PARSE_CONFIG_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "server/config/config.h"
#include "server/config/settings.h"

namespace baseband::server {

inline absl::StatusOr<Command> Parse(std::vector<const char*> flags,
                                     std::vector<const char*> environment = {}) {
  flags.insert(flags.begin(), "basebandd");
  environment.push_back(nullptr);
  return ParseCommandLine(static_cast<int>(flags.size()), flags.data(), environment.data());
}

inline std::string Refusal(std::vector<const char*> flags,
                           std::vector<const char*> environment = {}) {
  const absl::StatusOr<Command> command = Parse(std::move(flags), std::move(environment));
  return command.ok() ? "accepted" : std::string(command.status().message());
}

// A file that is gone with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const int fd = mkstemp(path_.data());
    EXPECT_GE(fd, 0);
    close(fd);
    std::ofstream(path_) << text;
    flag_ = "--config=" + path_;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const char* flag() const { return flag_.c_str(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "config_test_XXXXXX";
  std::string flag_;
};

// Words of a flag are joined by dashes, those of a key or a variable by underscores.
inline std::string FlagOf(const Setting& setting) {
  std::string flag = "--" + setting.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_UNIT_SERVER_CONFIG_PARSE_CONFIG_H_
