// Whole files: what is taken of them, and that whatever a name leads to has an end.
#include "common/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_files.h"

namespace baseband {
namespace {

using ::baseband::testing::FileOfTest;
using ::baseband::testing::IsOk;
using ::baseband::testing::PathOfTest;
using ::baseband::testing::StatusIs;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::StatusOr<std::string> Read(const std::string& path, int64_t max_bytes) {
  return ReadFileWithin(path, "--x " + path, max_bytes, nullptr, absl::ZeroDuration());
}

TEST(FilesTest, AFileIsReadUpToItsBoundAndNoFurther) {
  std::string contents(200000, 'x');
  contents[100] = '\0';
  const std::string path = FileOfTest("f", contents);
  for (const int64_t bound : {200000, 1 << 30}) {
    const auto read = Read(path, bound);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(*read, contents);
  }
  EXPECT_THAT(Read(path, 199999),
              StatusIs(kInvalid, "--x " + path + " has 200000 bytes: at most 199999 are taken"));
  const auto empty = Read(FileOfTest("e", ""), 0);
  ASSERT_THAT(empty, IsOk());
  EXPECT_EQ(*empty, "");
}

TEST(FilesTest, WhatIsNoFileIsNamed) {
  EXPECT_THAT(Read("/nonexistent/x", 1), StatusIs(kNotFound,
                                                  "--x /nonexistent/x cannot be read: "
                                                  "No such file or directory"));
  EXPECT_THAT(Read("/tmp", 1), StatusIs(kNotFound, "--x /tmp cannot be read: it is a folder"));
}

// They say that they are of size 0.
TEST(FilesTest, ADeviceIsReadUpToABound) {
  EXPECT_THAT(
      Read("/dev/zero", int64_t{1} << 40),
      StatusIs(kInvalid, "--x /dev/zero has more than 1048576 bytes: at most 1048576 are taken"));
  EXPECT_THAT(Read("/dev/zero", 1000), StatusIs(kInvalid, ::testing::HasSubstr("more than 1000 ")));
  const auto null = Read("/dev/null", 1000);
  ASSERT_THAT(null, IsOk());
  EXPECT_EQ(*null, "");
  const auto of_kernel = Read("/proc/self/stat", 100000);
  ASSERT_THAT(of_kernel, IsOk());
  EXPECT_NE(*of_kernel, "");
}

class PipeTest : public ::testing::Test {
 protected:
  PipeTest() { EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  // Who writes, once there is somebody who reads.
  std::thread Writer(const std::string& contents) {
    return std::thread([this, contents] {
      const int fd = open(path_.c_str(), O_WRONLY);
      size_t written = 0;
      while (written < contents.size()) {
        const ssize_t more = write(fd, contents.data() + written, contents.size() - written);
        if (more < 0) break;  // nobody reads any more
        written += static_cast<size_t>(more);
      }
      close(fd);
    });
  }

  const std::string path_ = PathOfTest("pipe");
};

TEST_F(PipeTest, OneThatNobodyWritesToIsRefused) {
  EXPECT_THAT(Read(path_, 10),
              StatusIs(kNotFound, "--x " + path_ + " cannot be read: nobody writes to this pipe"));
}

TEST_F(PipeTest, ItsWriterMayComeLater) {
  const std::string contents(300000, 'y');
  std::thread writer = Writer(contents);
  const auto read = ReadFileWithin(path_, path_, 300000, nullptr, absl::InfiniteDuration());
  writer.join();
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, contents);
}

TEST_F(PipeTest, OneThatBringsTooMuchIsRefused) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  std::thread writer = Writer(std::string(300000, 'y'));
  EXPECT_THAT(ReadFileWithin(path_, "p", 1000, nullptr, absl::InfiniteDuration()),
              StatusIs(kInvalid, "p has more than 1000 bytes: at most 1000 are taken"));
  writer.join();
}

TEST(FilesTest, AnOpenPipeMayBeEmpty) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[1]);
  const auto read = ReadOpenFileWithin(ends[0], "standard input", 10);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, "");
  EXPECT_EQ(close(ends[0]), 0);  // it was left open
}

TEST(FilesTest, WhoIsAskedBeforeMayRefuse) {
  const std::string path = FileOfTest("f", "x");
  EXPECT_THAT(ReadFileWithin(path, path, 1000,
                             [](int fd) {
                               EXPECT_GE(fd, 0);
                               return absl::AlreadyExistsError("it is written");
                             }),
              StatusIs(absl::StatusCode::kAlreadyExists, "it is written"));
}

TEST(FilesTest, AByteOrderMarkIsNoPartOfTheText) {
  const auto text = [](const std::string& contents) { return TextOf("n", contents); };
  EXPECT_EQ(*text("\xef\xbb\xbf"
                  "1 2"),
            "1 2");
  EXPECT_EQ(*text("\xef\xbb\xbf"), "");
  for (const char* kept : {"1 2", "", "\xef\xbb", "1\xef\xbb\xbf", "\xc3\xa4"}) {
    EXPECT_EQ(*text(kept), kept);
  }
  for (const char* wide : {"\xff\xfe"
                           "1",
                           "\xfe\xff"
                           "1"}) {
    EXPECT_THAT(text(wide), StatusIs(kInvalid, "n is UTF-16: save it as UTF-8"));
  }
}

}  // namespace
}  // namespace baseband
