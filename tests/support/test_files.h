// Files of tests.
#ifndef BASEBAND_TESTS_SUPPORT_TEST_FILES_H_
#define BASEBAND_TESTS_SUPPORT_TEST_FILES_H_

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace baseband::testing {

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

inline void WriteAll(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

// A path that no other test has.
inline std::string PathOfTest(const std::string& name) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  return absl::StrCat(::testing::TempDir(), "/", test.test_suite_name(), ".", test.name(), ".",
                      getpid(), ".", name);
}

// The same, of a file with `contents`.
inline std::string FileOfTest(const std::string& name, const std::string& contents) {
  WriteAll(PathOfTest(name), contents);
  return PathOfTest(name);
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_TEST_FILES_H_
