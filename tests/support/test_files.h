// Files of tests.
#ifndef BASEBAND_TESTS_SUPPORT_TEST_FILES_H_
#define BASEBAND_TESTS_SUPPORT_TEST_FILES_H_

#include <cstdlib>
#include <filesystem>
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

// The folders that `path` needs are made.
inline void WriteWithFolders(const std::filesystem::path& path, const std::string& contents) {
  std::filesystem::create_directories(path.parent_path());
  WriteAll(path, contents);
}

// A folder that is gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_; }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "/baseband_test_XXXXXX";
};

// One that is gone with the process; short enough for a socket in it.
inline const std::string& FolderOfTests() {
  static const TemporaryFolder folder;
  return folder.path();
}

// A path there that no other test has.
inline std::string PathOfTest(const std::string& name) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  return absl::StrCat(FolderOfTests(), "/", test.test_suite_name(), ".", test.name(), ".", name);
}

// The same, of a file with `contents`.
inline std::string FileOfTest(const std::string& name, const std::string& contents) {
  WriteAll(PathOfTest(name), contents);
  return PathOfTest(name);
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_TEST_FILES_H_
