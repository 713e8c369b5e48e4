#include <cstdlib>
#include <memory>
#include <string>

#include "gtest/gtest.h"

extern "C" {
#include "client/oai/settings.h"
}

namespace baseband::testing {
namespace {

class OaiSettingsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"BASEBAND_SOCKET", "BASEBAND_HARQ", "BASEBAND_LLR_SCALE",
                             "BASEBAND_DEADLINE_US", "BASEBAND_SPIN_US"}) {
      unsetenv(name);
    }
  }
  void Set(const char* name, const char* value) { setenv(name, value, 1); }
  std::string Read() {
    ::testing::internal::CaptureStderr();
    bo_read_settings(settings_.get());
    return ::testing::internal::GetCapturedStderr();
  }
  std::unique_ptr<bo_settings> settings_ = std::make_unique<bo_settings>();
};

TEST_F(OaiSettingsTest, AreTheDefaultsWhereTheEnvironmentSaysNothing) {
  EXPECT_EQ(Read(), "");
  EXPECT_STREQ(settings_->socket, "/run/basebandd/shm.sock");
  EXPECT_STREQ(settings_->library, "");
  EXPECT_FALSE(settings_->harq_on_host);
  EXPECT_EQ(settings_->llr_scale, 0);
  EXPECT_EQ(settings_->deadline_ns, 100'000'000U);
}

TEST_F(OaiSettingsTest, AreWhatTheEnvironmentSays) {
  Set("BASEBAND_SOCKET", "unix:/tmp/s");
  Set("BASEBAND_HARQ", "host");
  Set("BASEBAND_LLR_SCALE", "0.25");
  Set("BASEBAND_DEADLINE_US", "400");
  Set("BASEBAND_SPIN_US", "");
  EXPECT_EQ(Read(), "");
  EXPECT_STREQ(settings_->socket, "unix:/tmp/s");
  EXPECT_TRUE(settings_->harq_on_host);
  EXPECT_EQ(settings_->llr_scale, 0.25F);
  EXPECT_EQ(settings_->deadline_ns, 400'000U);
  EXPECT_EQ(settings_->spin_ns, 20'000U);
}

TEST_F(OaiSettingsTest, WhatCannotBeIsSaidAndTheDefaultTaken) {
  Set("BASEBAND_HARQ", "both");
  Set("BASEBAND_LLR_SCALE", "x");
  Set("BASEBAND_DEADLINE_US", "99");
  Set("BASEBAND_SOCKET", std::string(200, 's').c_str());
  const std::string said = Read();
  EXPECT_NE(said.find("BASEBAND_HARQ=both is neither server nor host: server is taken"), said.npos);
  EXPECT_NE(said.find("BASEBAND_DEADLINE_US=99 is not in [100, 1e+07]: 100000 is taken"),
            said.npos);
  EXPECT_NE(said.find("BASEBAND_SOCKET has 200 bytes, of which there may be 107: "
                      "/run/basebandd/shm.sock is taken"),
            said.npos);
  EXPECT_NE(said.find("BASEBAND_LLR_SCALE=x is not in [1e-06, 1e+06]: it is chosen"), said.npos);
  EXPECT_STREQ(settings_->socket, "/run/basebandd/shm.sock");
  EXPECT_EQ(settings_->deadline_ns, 100'000'000U);
}

}  // namespace
}  // namespace baseband::testing
