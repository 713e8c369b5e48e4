// Where a command's results go: into their places at the end or not at all, and never over what is
// read.
#include "client/ctl/common/outputs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/common/sigmf.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

namespace fs = std::filesystem;
using ::baseband::testing::ReadAll;
using ::baseband::testing::WriteAll;
using ::testing::IsNull;
using ::testing::NotNull;

// A folder of the test's own. All go at the end: what was read is known by its inode, which a file
// that is removed leaves to the next one.
class OutputsTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() {
    for (const fs::path& folder : Folders()) {
      fs::remove_all(folder);
    }
  }
  static std::vector<fs::path>& Folders() {
    static auto& folders = *new std::vector<fs::path>;
    return folders;
  }
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "/outputs_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    Folders().push_back(folder_);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string File(const std::string& name, const std::string& contents) const {
    WriteAll(Path(name), contents);
    return Path(name);
  }
  // How many files the folder has.
  ptrdiff_t Count() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  // That one that reads `input` may not write `output`.
  void ExpectRefused(const std::string& input, const std::string& output) const {
    ASSERT_THAT(ReadData(input), IsOk());
    Outputs outputs;
    EXPECT_THAT(outputs.Open("--out", output), IsNull()) << output;
    EXPECT_THAT(outputs.status(),
                IsInvalid("--out " + output + " would overwrite " + input + ", which is read"));
    EXPECT_THAT(outputs.Commit(), IsInvalid(output));
  }

  fs::path folder_;
};

TEST_F(OutputsTest, WhatIsWrittenStandsInItsPlaceOnceAllIsDone) {
  Outputs outputs;
  OutputFile* const file = outputs.Open("--out", Path("x"));
  OutputFile* const other = outputs.Open("--csv", File("y", "old"));
  EXPECT_THAT(outputs.Open("--plot", ""), IsNull());
  ASSERT_THAT(outputs.status(), IsOk());
  file->Write("ab");
  file->Write("cd");
  other->Write("new");
  EXPECT_FALSE(fs::exists(Path("x")));
  EXPECT_EQ(ReadAll(Path("y")), "old");
  EXPECT_THAT(outputs.Commit(), IsOk());
  EXPECT_EQ(ReadAll(Path("x")), "abcd");
  EXPECT_EQ(ReadAll(Path("y")), "new");
  EXPECT_EQ(Count(), 2);
  EXPECT_EQ(outputs.report(), stdout);
}

TEST_F(OutputsTest, WhatEndsEarlyLeavesAllAsItWas) {
  File("x", "old");
  {
    Outputs outputs;
    outputs.Open("--out", Path("x"))->Write("half");
    outputs.Open("--csv", Path("y"))->Write("half");
  }
  EXPECT_EQ(ReadAll(Path("x")), "old");
  EXPECT_EQ(Count(), 1);
}

TEST_F(OutputsTest, AnInputIsNotOverwrittenUnderAnyName) {
  const std::string input = File("in", "precious");
  fs::create_symlink("in", Path("link"));
  fs::create_symlink("link", Path("link_to_link"));
  fs::create_hard_link(input, Path("hard"));
  fs::create_directory(Path("sub"));
  fs::create_directory_symlink(folder_, Path("folder_link"));
  for (const std::string& output : {input, Path("link"), Path("link_to_link"), Path("hard"),
                                    Path("./in"), Path("sub/../in"), Path("folder_link/in")}) {
    ExpectRefused(input, output);
  }
  EXPECT_EQ(ReadAll(input), "precious");
}

TEST_F(OutputsTest, AnInputReadThroughALinkIsNotOverwrittenEither) {
  const std::string target = File("in", "precious");
  fs::create_symlink("in", Path("link"));
  ExpectRefused(Path("link"), target);
}

// --token-file, which is read when the connection is made.
TEST_F(OutputsTest, WhatIsBeingWrittenIsNotReadAnyMore) {
  Outputs outputs;
  ASSERT_THAT(outputs.Open("--out", File("x", "token")), NotNull());
  EXPECT_THAT(ReadData(Path("x")), IsInvalid("--out " + Path("x") + " would overwrite"));
}

TEST_F(OutputsTest, TwoOutputsAreNotOneFile) {
  fs::create_symlink("new", Path("dangling"));
  File("a", "");
  fs::create_hard_link(Path("a"), Path("b"));
  for (const auto& [first, second] :
       {std::pair("new", "new"), std::pair("new", "./new"), std::pair("new", "dangling"),
        std::pair("dangling", "new"), std::pair("a", "b")}) {
    Outputs outputs;
    EXPECT_THAT(outputs.Open("--csv", Path(first)), NotNull());
    EXPECT_THAT(outputs.Open("--plot", Path(second)), IsNull());
    EXPECT_THAT(outputs.status(), IsInvalid("--plot " + Path(second) + " and --csv " + Path(first) +
                                            " are the same file"));
  }
}

TEST_F(OutputsTest, BothFilesOfARecordingCount) {
  const std::string data = File("r.sigmf-data", "samples");
  ASSERT_THAT(ReadData(data), IsOk());
  {
    Outputs outputs;
    OpenSamples("--out", Path("r.sigmf-meta"), &outputs);
    EXPECT_THAT(outputs.status(), IsInvalid("r.sigmf-data, which is read"));
  }
  Outputs outputs;
  OpenSamples("--out", Path("s.sigmf-meta"), &outputs);
  EXPECT_THAT(outputs.status(), IsOk());
  outputs.Open("--plot", Path("s.sigmf-data"));
  EXPECT_THAT(outputs.status(), IsInvalid("are the same file"));
}

TEST_F(OutputsTest, AFolderThatIsMissingIsToldBeforeAnythingIsWritten) {
  Outputs outputs;
  EXPECT_THAT(outputs.Open("--plot", Path("nowhere/x.svg")), IsNull());
  EXPECT_THAT(outputs.status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("--plot " + Path("nowhere/x.svg")),
                             HasSubstr("there is no such folder; make it first"))));
  Outputs folder;
  EXPECT_THAT(folder.Open("--plot", folder_.string()), IsNull());
  EXPECT_THAT(folder.status(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("is a folder")));
}

TEST_F(OutputsTest, ALinkIsFollowedAndStays) {
  File("target", "old");
  fs::create_symlink("target", Path("link"));
  fs::create_symlink("made", Path("dangling"));
  Outputs outputs;
  outputs.Open("--out", Path("link"))->Write("new");
  outputs.Open("--csv", Path("dangling"))->Write("new");
  EXPECT_THAT(outputs.Commit(), IsOk());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
  EXPECT_EQ(ReadAll(Path("target")), "new");
  EXPECT_EQ(ReadAll(Path("made")), "new");
}

TEST_F(OutputsTest, AFileKeepsItsModeAndANewOneHasTheUsual) {
  File("old", "");
  chmod(Path("old").c_str(), 0640);
  const mode_t mask = umask(0027);
  Outputs outputs;
  outputs.Open("--out", Path("old"));
  outputs.Open("--csv", Path("new"));
  EXPECT_THAT(outputs.Commit(), IsOk());
  umask(mask);
  struct stat status = {};
  ASSERT_EQ(stat(Path("old").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  ASSERT_EQ(stat(Path("new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST_F(OutputsTest, DevicesAndPipesAreWrittenInPlaceAsOftenAsOneLikes) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  Outputs outputs;
  for (const char* flag : {"--out", "--csv"}) {
    outputs.Open(flag, "/dev/null")->Write("x");
  }
  outputs.Open("--plot", Path("pipe"))->Write("through");
  EXPECT_THAT(outputs.Commit(), IsOk());
  char buffer[16] = {};
  EXPECT_EQ(read(reader, buffer, sizeof(buffer)), 7);
  EXPECT_STREQ(buffer, "through");
  close(reader);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(Count(), 1);
}

TEST_F(OutputsTest, OnlyOneOutputGoesToStandardOutputAndTheReportElsewhere) {
  Outputs outputs;
  EXPECT_THAT(outputs.Open("--csv", "-"), NotNull());
  EXPECT_EQ(outputs.report(), stderr);
  EXPECT_THAT(outputs.Open("--plot", "-"), IsNull());
  EXPECT_THAT(outputs.status(), IsInvalid("--plot -: another output goes to standard output"));
}

TEST_F(OutputsTest, AFullDiskIsToldAndNothingIsMoved) {
  File("x", "old");
  Outputs outputs;
  OutputFile* const full = outputs.Open("--csv", "/dev/full");
  outputs.Open("--out", Path("x"))->Write("new");
  ASSERT_THAT(outputs.status(), IsOk());
  full->Write(std::string(1 << 20, 'x'));
  EXPECT_THAT(outputs.status(), StatusIs(absl::StatusCode::kNotFound,
                                         HasSubstr("cannot write --csv /dev/full: No space left")));
  EXPECT_THAT(outputs.Commit(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/dev/full")));
  EXPECT_EQ(ReadAll(Path("x")), "old");
}

}  // namespace
}  // namespace baseband::ctl
