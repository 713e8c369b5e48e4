// `basebandctl load` notices one wrong bit wherever it comes from: in the first answer, in the
// warm-up, in the middle, in what it asks the server to know what is right.
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "baseband/v1/baseband.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"
#include "tests/support/relay.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What of an answer is the same each time, or that it is none.
template <typename Response>
std::string Essence(const std::string& bytes) {
  Response response;
  if (!response.ParseFromString(bytes)) return "none";
  response.clear_timing();
  return response.SerializeAsString();
}
template <>
std::string Essence<v1::MinimizeResponse>(const std::string& bytes) {
  v1::MinimizeResponse response;
  if (!response.ParseFromString(bytes)) return "none";
  response.mutable_answer()->clear_timing();
  response.mutable_answer()->clear_elapsed_s();
  return response.SerializeAsString();
}

struct Operation {
  const char* name;
  const char* method;
  std::string (*essence)(const std::string&);
};
const Operation kOperations[] = {
    {"encode", "Encode", &Essence<v1::EncodeResponse>},
    {"decode", "Decode", &Essence<v1::DecodeResponse>},
    {"encode-shared-channel", "EncodeSharedChannel", &Essence<v1::EncodeSharedChannelResponse>},
    {"decode-shared-channel", "DecodeSharedChannel", &Essence<v1::DecodeSharedChannelResponse>},
    {"recover", "RecoverCarrier", &Essence<v1::RecoverCarrierResponse>},
    {"downconvert", "Downconvert", &Essence<v1::DownconvertResponse>},
    {"minimize", "Minimize", &Essence<v1::MinimizeResponse>}};

constexpr int kNumOperations = std::size(kOperations);

// Of the operation, for the name of a test.
std::string TestName(int operation) {
  return absl::StrReplaceAll(kOperations[operation].name, {{"-", "_"}});
}

void FlipBit(size_t bit, std::string* bytes) {
  (*bytes)[bit / 8] = static_cast<char>((*bytes)[bit / 8] ^ (1 << bit % 8));
}

// One bit, drawn by `seed`, of what is not a time.
void FlipAnyBit(const Operation& operation, unsigned seed, std::string* bytes) {
  std::mt19937 random(seed);
  const std::string before = operation.essence(*bytes);
  for (;;) {
    std::string flipped = *bytes;
    FlipBit(random() % (8 * bytes->size()), &flipped);
    if (operation.essence(flipped) != before) {
      *bytes = flipped;
      return;
    }
  }
}

// Calls at even instants: 20 in the warm-up, 40 measured, after two for each of two requests.
constexpr int kBefore = 4;
constexpr int kWarmUpCalls = 20;
constexpr int kMeasured = 40;
enum class Place { kFirst, kThird, kLastBefore, kWarmUpsFirst, kLateInWarmUp, kMiddle };
constexpr int64_t kReplies[] = {
    0, 2, kBefore - 1, kBefore, kBefore + kWarmUpCalls - 3, kBefore + kWarmUpCalls + kMeasured / 2};

class LoadWrongAnswersTest : public CtlTest {
 protected:
  static Outcome Load(const std::string& target, const std::string& operation) {
    std::vector<std::string> arguments = SmallRequests(operation);
    arguments.insert(arguments.begin(),
                     {"load", operation, "--rate=50", "--arrivals=constant", "--warmup=400ms",
                      "--duration=800ms", "--variants=2", "--json"});
    return RunAt(target, arguments);
  }
  static nlohmann::json Report(const Outcome& outcome) {
    const size_t begin = outcome.output.find("{\n");
    EXPECT_NE(begin, std::string::npos) << outcome.output;
    return begin == std::string::npos ? nlohmann::json()
                                      : nlohmann::json::parse(outcome.output.substr(begin));
  }
};

class OneWrongBitTest : public LoadWrongAnswersTest,
                        public ::testing::WithParamInterface<std::tuple<int, Place, unsigned>> {};

TEST_P(OneWrongBitTest, IsOneWrongAnswerWhereItCame) {
  const auto& [which, place, seed] = GetParam();
  const Operation& operation = kOperations[which];
  const int64_t wrong_reply = kReplies[static_cast<int>(place)];
  const Relay relay(server_->target(),
                    [&, seed = seed](const std::string& method, int64_t index, std::string* reply) {
                      if (method == operation.method && index == wrong_reply)
                        FlipAnyBit(operation, seed, reply);
                    });
  const Outcome outcome = Load(relay.target(), operation.name);
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  const nlohmann::json wrong = Report(outcome)["wrong_answers"];
  EXPECT_EQ(wrong["count"], 1) << outcome.output;
  EXPECT_EQ(wrong["before"], wrong_reply < kBefore ? 1 : 0);
  EXPECT_EQ(wrong["warm_up"],
            wrong_reply >= kBefore && wrong_reply < kBefore + kWarmUpCalls ? 1 : 0);
  EXPECT_EQ(wrong["measured"], wrong_reply >= kBefore + kWarmUpCalls ? 1 : 0);
  EXPECT_THAT(wrong["example"].get<std::string>(), ::testing::Not(IsEmpty()));
  const nlohmann::json outcomes = Report(outcome)["outcomes"];
  EXPECT_EQ(outcomes["due"], kMeasured);
  EXPECT_EQ(outcomes["good"], kMeasured - wrong["measured"].get<int>());
}

INSTANTIATE_TEST_SUITE_P(Places, OneWrongBitTest,
                         ::testing::Combine(::testing::Range(0, kNumOperations),
                                            ::testing::Values(Place::kFirst, Place::kThird,
                                                              Place::kLastBefore,
                                                              Place::kWarmUpsFirst,
                                                              Place::kLateInWarmUp, Place::kMiddle),
                                            ::testing::Values(1U)),
                         [](const auto& test) {
                           return absl::StrCat(TestName(std::get<0>(test.param)), "_reply_",
                                               kReplies[static_cast<int>(std::get<1>(test.param))]);
                         });
INSTANTIATE_TEST_SUITE_P(Bits, OneWrongBitTest,
                         ::testing::Combine(::testing::Range(0, kNumOperations),
                                            ::testing::Values(Place::kMiddle),
                                            ::testing::Values(2U, 3U)),
                         [](const auto& test) {
                           return absl::StrCat(TestName(std::get<0>(test.param)), "_seed_",
                                               std::get<2>(test.param));
                         });

class LoadOperationTest : public LoadWrongAnswersTest, public ::testing::WithParamInterface<int> {};

TEST_P(LoadOperationTest, RightAnswersAreAllRight) {
  const Operation& operation = kOperations[GetParam()];
  const Relay relay(server_->target(), [](const auto&, int64_t, std::string*) {});
  const Outcome outcome = Load(relay.target(), operation.name);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(Report(outcome)["wrong_answers"]["count"], 0) << outcome.output;
  EXPECT_EQ(Report(outcome)["outcomes"]["good"], kMeasured);
}

// A mistake that is made each time is no reference.
TEST_P(LoadOperationTest, AnswersThatAreWrongAlikeEachTimeEndTheLoadBeforeItBegins) {
  const Operation& operation = kOperations[GetParam()];
  const Relay relay(server_->target(), [&](const std::string& method, int64_t, std::string* reply) {
    if (method != operation.method) return;
    // The highest bit of the payload's last byte: the top one of an exponent, or of information.
    if (method == "RecoverCarrier") {
      v1::RecoverCarrierResponse response;
      ASSERT_TRUE(response.ParseFromString(*reply));
      response.mutable_frames(1)->set_frequency(-response.frames(1).frequency());
      *reply = response.SerializeAsString();
    } else if (method == "Minimize") {
      v1::MinimizeResponse response;
      ASSERT_TRUE(response.ParseFromString(*reply));
      response.mutable_answer()->set_point(1, response.answer().point(1) + 1);
      *reply = response.SerializeAsString();
    } else {
      FlipBit(8 * reply->size() - 1, reply);
    }
  });
  const Outcome outcome = Load(relay.target(), operation.name);
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("wrong answers: "));
}

TEST_F(LoadWrongAnswersTest, ATimingOfSamplesThatIsWrongAlikeEachTimeIsNoReference) {
  const auto load = [](const std::string& target) {
    return RunAt(target, {"load", "recover", "--samples-per-symbol=5/2", "--roll-off=0.3",
                          "--frame-symbols=2000", "--blocks=2", "--variants=2", "--rate=50",
                          "--duration=200ms", "--warmup=0s"});
  };
  const Relay relay(server_->target(), [](const std::string& method, int64_t, std::string* reply) {
    if (method != "RecoverCarrier") return;
    v1::RecoverCarrierResponse response;
    ASSERT_TRUE(response.ParseFromString(*reply));
    ASSERT_EQ(response.timings_size(), 2);
    response.mutable_timings(1)->set_offset(response.timings(1).offset() + 0.2);
    *reply = response.SerializeAsString();
  });
  const Outcome outcome = load(relay.target());
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("wrong answers: "));
  EXPECT_EQ(load(server_->target()).exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Operations, LoadOperationTest, ::testing::Range(0, kNumOperations),
                         [](const auto& test) { return TestName(test.param); });

// What the server is asked for to make RecoverCarrier's frames: the third answer of GetCapabilities
// has the points for the first time, the fifth and seventh again.
class WrongPointsTest : public LoadWrongAnswersTest, public ::testing::WithParamInterface<int> {};

TEST_P(WrongPointsTest, AreOneWrongAnswerAndNotUsed) {
  const Relay relay(
      server_->target(), [](const std::string& method, int64_t index, std::string* reply) {
        if (method != "GetCapabilities" || index != GetParam()) return;
        v1::GetCapabilitiesResponse response;
        ASSERT_TRUE(response.ParseFromString(*reply));
        ASSERT_EQ(response.carrier().points_size(), 1);
        float* const i =
            response.mutable_carrier()->mutable_points(0)->mutable_points()->mutable_data();
        *i *= 1 + 1.0F / (1 << 20);
        *reply = response.SerializeAsString();
      });
  const Outcome outcome = Load(relay.target(), "recover");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_EQ(Report(outcome)["wrong_answers"]["count"], 1) << outcome.output;
  EXPECT_EQ(Report(outcome)["wrong_answers"]["before"], 1);
  EXPECT_EQ(Report(outcome)["outcomes"]["good"], kMeasured);
}

INSTANTIATE_TEST_SUITE_P(Answers, WrongPointsTest, ::testing::Values(2, 4, 6),
                         [](const auto& test) { return absl::StrCat("Reply", test.param); });

TEST_F(LoadWrongAnswersTest, TheReportForPeopleSaysSoToo) {
  const Relay relay(server_->target(),
                    [](const std::string& method, int64_t index, std::string* reply) {
                      if (method == "Downconvert" && index == kBefore + 2)
                        FlipBit(8 * reply->size() - 20, reply);
                    });
  const Outcome outcome =
      RunAt(relay.target(), {"load", "downconvert", "--rate=50", "--duration=300ms", "--variants=2",
                             "--samples=4096", "--warmup=300ms"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("1 wrong answer, 0 of them before the load and 1 in its"));
}

}  // namespace
}  // namespace baseband::testing
