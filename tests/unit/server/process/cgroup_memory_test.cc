#include "server/process/cgroup_memory.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/support/test_files.h"

namespace baseband::server {
namespace {

class CgroupMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    baseband::testing::WriteWithFolders(root_ + path, text);
  }
  void WriteGroup2(const std::string& path, const std::string& max, const std::string& current,
                   const std::string& inactive) const {
    const std::string folder = "sys/fs/cgroup" + path;
    Write(folder + "/memory.max", max + "\n");
    Write(folder + "/memory.current", current + "\n");
    Write(folder + "/memory.stat", "anon 1\ninactive_file " + inactive + "\nactive_file 7\n");
  }

  baseband::testing::TemporaryFolder folder_;
  const std::string root_ = folder_.path() + "/";
};

TEST_F(CgroupMemoryTest, WithoutAGroupOrALimitThereIsNone) {
  EXPECT_FALSE(ReadCgroupMemory(root_).has_value());
  Write("proc/self/cgroup", "0::/a\n");
  EXPECT_FALSE(ReadCgroupMemory(root_).has_value());
  WriteGroup2("/a", "max", "1000", "0");
  EXPECT_FALSE(ReadCgroupMemory(root_).has_value());
}

TEST_F(CgroupMemoryTest, TheTightestOfVersion2Counts) {
  Write("proc/self/cgroup", "0::/pod/container\n");
  WriteGroup2("/pod/container", "5000", "900", "100");
  WriteGroup2("/pod", "4000", "1900", "300");
  WriteGroup2("", "max", "9000", "0");
  const auto memory = ReadCgroupMemory(root_);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->limit, 4000);
  EXPECT_EQ(memory->used, 1593);
}

TEST_F(CgroupMemoryTest, WhatIsLeftIsThatOfTheFullestWhichOthersMayHaveFilled) {
  Write("proc/self/cgroup", "0::/pod/container\n");
  WriteGroup2("/pod/container", "4000", "1007", "0");
  WriteGroup2("/pod", "8000", "7907", "0");
  const auto memory = ReadCgroupMemory(root_);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->limit, 4000);
  EXPECT_EQ(memory->used, 3900);
}

TEST_F(CgroupMemoryTest, AContainersOwnGroupIsThatOfTheMount) {
  Write("proc/self/cgroup", "0::/kubepods/that/only/the/host/has\n");
  WriteGroup2("", "4294967296", "1000", "0");
  const auto memory = ReadCgroupMemory(root_);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->limit, 4294967296);
}

TEST_F(CgroupMemoryTest, Version1IsReadToo) {
  Write("proc/self/cgroup", "9:name=systemd:/\n4:cpuset,memory:/process\n0::/\n");
  const std::string folder = "sys/fs/cgroup/memory/process/";
  Write(folder + "memory.limit_in_bytes", "9223372036854771712\n");
  Write(folder + "memory.usage_in_bytes", "5000\n");
  EXPECT_FALSE(ReadCgroupMemory(root_).has_value());
  Write(folder + "memory.limit_in_bytes", "8000\n");
  Write(folder + "memory.stat",
        "inactive_file 1\ntotal_inactive_file 1500\ntotal_active_file 500\n");
  const auto memory = ReadCgroupMemory(root_);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->limit, 8000);
  EXPECT_EQ(memory->used, 3000);
}

}  // namespace
}  // namespace baseband::server
