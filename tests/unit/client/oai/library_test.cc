#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "client/oai/library.h"
}

// What this program has of the same name, and what a library must not take for its own.
extern "C" __attribute__((visibility("default"))) int LDPCdecoder(void);
extern "C" int LDPCdecoder(void) { return -1; }

namespace baseband::testing {
namespace {

int Call(bo_function function) { return reinterpret_cast<int (*)()>(function)(); }

TEST(OaiLibraryTest, HasAPartIfItHasAllOfIt) {
  bo_library library{};
  EXPECT_TRUE(bo_open_library(&library, BO_SLOTS, FAKE_LDPC_SLOTS));
  EXPECT_FALSE(bo_open_library(&library, BO_SEGMENTS, FAKE_LDPC_SLOTS));
  EXPECT_TRUE(bo_open_library(&library, BO_SEGMENTS, FAKE_LDPC_SEGMENTS));
  EXPECT_FALSE(bo_open_library(&library, BO_SLOTS, FAKE_LDPC_SEGMENTS));
  EXPECT_FALSE(bo_open_library(&library, BO_SEGMENTS, "/nonexistent/libldpc.so"));
}

TEST(OaiLibraryTest, CallsItsOwnFunctionsThoughOthersHaveTheirNames) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers do not go with RTLD_DEEPBIND";
#endif
  bo_library library{};
  ASSERT_TRUE(bo_open_library(&library, BO_SLOTS, FAKE_LDPC_SLOTS));
  EXPECT_EQ(Call(library.slot_decoder), 71);
  ASSERT_TRUE(bo_open_library(&library, BO_SEGMENTS, FAKE_LDPC_SEGMENTS));
  EXPECT_EQ(Call(library.decoder), 7);
  EXPECT_EQ(library.slot_init, nullptr);
  EXPECT_NE(library.init, nullptr);
}

TEST(OaiLibraryTest, IsLookedForOnceAndSaidIfItIsNotThere) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(bo_library_for(BO_SEGMENTS, "/nonexistent/libldpc.so"), nullptr);
  EXPECT_EQ(bo_library_for(BO_SEGMENTS, FAKE_LDPC_SEGMENTS), nullptr);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(
      said.find("libldpc_baseband: BASEBAND_LIBRARY=/nonexistent/libldpc.so cannot be used ("), 0U)
      << said;
  EXPECT_NE(said.find("No such file"), said.npos) << said;
  EXPECT_NE(said.find("): without a server there is nothing that codes segments\n"), said.npos);
  EXPECT_TRUE(bo_library_is_missing());
  const bo_library* const slots = bo_library_for(BO_SLOTS, FAKE_LDPC_SLOTS);
  ASSERT_NE(slots, nullptr);
  EXPECT_EQ(slots->path, std::string(FAKE_LDPC_SLOTS));
  EXPECT_EQ(bo_library_for(BO_SLOTS, "/nonexistent/libldpc.so"), slots);
}

}  // namespace
}  // namespace baseband::testing
