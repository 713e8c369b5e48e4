// Answers: their Timing, and which of them are right.
#include <string>
#include <vector>

#include "client/load/answer.h"
#include "client/load/workload.h"
#include "tests/support/matchers.h"

namespace baseband::load {
namespace {

using ::testing::Field;
using testing::IsOk;
using testing::StatusIs;

// The bytes of `response` in slices of at most `slice` bytes.
grpc::ByteBuffer Cut(const v1::DecodeResponse& response, size_t slice) {
  const std::string bytes = response.SerializeAsString();
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice) slices.emplace_back(bytes.substr(at, slice));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

v1::DecodeResponse ResponseOf(const std::string& payload, uint32_t queue_us = 300) {
  v1::DecodeResponse response;
  response.mutable_timing()->set_queue_us(queue_us);
  response.mutable_timing()->set_kernel_us(70000);
  response.add_iterations(3);
  response.set_payload(payload);
  return response;
}

TEST(ReplyViewTest, TheTimingIsReadAndTheRestComparedHoweverTheBytesLie) {
  const v1::DecodeResponse response = ResponseOf(std::string(1000, 'p'));
  ReplyView first(Cut(response, 5000));
  v1::Timing timing;
  ASSERT_TRUE(first.ReadTiming(&timing));
  EXPECT_EQ(timing.kernel_us(), 70000);
  const std::string rest = first.Rest();

  for (const size_t slice : {1, 7, 64, 200, 1000, 5000}) {
    ReplyView same(Cut(ResponseOf(std::string(1000, 'p'), static_cast<uint32_t>(slice)), slice));
    ASSERT_TRUE(same.ReadTiming(&timing)) << slice;
    EXPECT_EQ(timing.queue_us(), slice);
    EXPECT_TRUE(same.RestIs(rest)) << slice;
    ReplyView different(Cut(ResponseOf(std::string(999, 'p') + "q"), slice));
    ASSERT_TRUE(different.ReadTiming(&timing));
    EXPECT_FALSE(different.RestIs(rest)) << slice;
  }
}

TEST(ReplyViewTest, AnAnswerThatDoesNotBeginWithATimingHasNone) {
  v1::DecodeResponse response;
  response.set_payload("x");
  v1::Timing timing;
  EXPECT_FALSE(ReplyView(Cut(response, 100)).ReadTiming(&timing));
  EXPECT_FALSE(ReplyView(grpc::ByteBuffer()).ReadTiming(&timing));
  const grpc::Slice lies("\x0a\x7f\x01", 3);  // says that a Timing of 127 bytes follows
  EXPECT_FALSE(ReplyView(grpc::ByteBuffer(&lies, 1)).ReadTiming(&timing));
}

// A workload of one request; its answers are right as far as they are known if they begin with r.
class JudgeTest : public ::testing::Test {
 protected:
  explicit JudgeTest(int kinds = 1) {
    workload_.name = "decode";
    Request request;
    request.answers = std::make_unique<Answers>(kinds);
    request.check = [this](const grpc::ByteBuffer& reply) -> absl::StatusOr<int64_t> {
      ++checks_;
      ReplyView view(reply);
      v1::Timing timing;
      view.ReadTiming(&timing);
      v1::DecodeResponse response;
      if (!response.ParseFromString(view.Rest()) || response.payload().substr(0, 1) != "r") {
        return absl::DataLossError("not right");
      }
      return static_cast<int64_t>(response.payload().size());
    };
    workload_.requests.push_back(std::move(request));
  }
  Answers& answers() { return *workload_.requests[0].answers; }
  // A call number `number` gets `payload`.
  Judgement Get(const std::string& payload, size_t number = 0) {
    const Judgement judgement = Judge(workload_, workload_.requests[0],
                                      Cut(ResponseOf(payload, static_cast<uint32_t>(number)), 100));
    if (judgement.doubtful != nullptr) {
      Ended call;
      call.workload = number;
      answers().Note(judgement.doubtful, call);
    }
    return judgement;
  }

  Workload workload_;
  int checks_ = 0;
};

TEST_F(JudgeTest, WhatIsKnownToBeWrongIsWrongEachTime) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Get("wrong").right, StatusIs(absl::StatusCode::kDataLoss, "not right"));
  }
  EXPECT_FALSE(answers().has_right());
}

TEST_F(JudgeTest, ThreeEqualAnswersAreRightAndNeedNoCheckAnyMore) {
  for (size_t i = 0; i < 10; ++i) {
    const Judgement judgement = Get("rrr", i);
    EXPECT_THAT(judgement.right, IsOk());
    EXPECT_EQ(judgement.failed_blocks, 3);
    EXPECT_TRUE(judgement.has_timing);
    EXPECT_EQ(judgement.doubtful != nullptr, i < 3);
  }
  EXPECT_EQ(checks_, 1);
  EXPECT_TRUE(answers().has_right());
  EXPECT_THAT(answers().Reject(), IsEmpty());
}

TEST_F(JudgeTest, IterationsAreReadOnceOfEachAnswer) {
  int reads = 0;
  workload_.iterations = [&reads](const grpc::ByteBuffer&) {
    ++reads;
    Iterations iterations;
    iterations.Add(5);
    return iterations;
  };
  for (size_t i = 0; i < 10; ++i) {
    const Judgement judgement = Get("rrr", i);
    ASSERT_NE(judgement.iterations, nullptr);
    EXPECT_EQ(judgement.iterations->mean(), 5);
  }
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(Get("wrong").iterations, nullptr);
}

TEST_F(JudgeTest, AfterwardsAnyOtherAnswerIsWrongHoweverOftenItComes) {
  for (int i = 0; i < 3; ++i) Get("rrr");
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Get("rrR").right, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differs")));
  }
}

TEST_F(JudgeTest, AnAnswerBeforeThatWhichStaysAloneIsFoundWrongAtTheEndWithItsCall) {
  EXPECT_THAT(Get("rrR", 7).right, IsOk());
  for (size_t i = 0; i < 3; ++i) Get("rrr", i);
  EXPECT_THAT(answers().Reject(), ElementsAre(Field(&Ended::workload, 7)));
  EXPECT_THAT(answers().Reject(), IsEmpty()) << "once";
  EXPECT_THAT(Get("rrR").right, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differs")));
  EXPECT_THAT(Get("rrr").right, IsOk());
}

TEST_F(JudgeTest, TwoOfThreeAreEnoughWhereThatIsAllThereIs) {
  Get("rrr");
  Get("rrR");
  Get("rrr");
  EXPECT_FALSE(answers().has_right());
  EXPECT_TRUE(answers().is_open());
  answers().Settle(2);
  EXPECT_TRUE(answers().has_right());
  EXPECT_FALSE(answers().is_open());
  EXPECT_THAT(answers().Reject(), SizeIs(1));
}

TEST_F(JudgeTest, AnAnswerThatIsKnownMakesAllOthersWrongAtOnce) {
  v1::DecodeResponse known = ResponseOf("rrr");
  known.clear_timing();
  answers().Add(known.SerializeAsString(), 1, Answer::State::kRight);
  EXPECT_THAT(Get("rrr").right, IsOk());
  EXPECT_THAT(Get("rrR").right, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differs")));
}

TEST_F(JudgeTest, MoreAnswersThanCanBeToldApartAreWrong) {
  for (size_t i = 0; i < Answers::kMost; ++i) {
    EXPECT_THAT(Get("r" + std::to_string(i)).right, IsOk());
  }
  EXPECT_THAT(Get("r and more").right, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differs")));
  answers().Settle(2);
  EXPECT_FALSE(answers().has_right());
}

class TwoKindsTest : public JudgeTest {
 protected:
  TwoKindsTest() : JudgeTest(2) {}
};

TEST_F(TwoKindsTest, HaveTwoRightAnswersAndNoThird) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Get("rrr").right, IsOk());
    EXPECT_THAT(Get("rrR").right, IsOk());
  }
  EXPECT_THAT(Get("rRR").right, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differs")));
  EXPECT_THAT(answers().Reject(), IsEmpty());
}

TEST_F(TwoKindsTest, ASecondAnswerThatComesButTwiceIsWrong) {
  for (int i = 0; i < 3; ++i) Get("rrr");
  Get("rrR", 5);
  Get("rrR", 6);
  EXPECT_THAT(answers().Reject(),
              ElementsAre(Field(&Ended::workload, 5), Field(&Ended::workload, 6)));
}

TEST(JudgeEssenceTest, WhereAnAnswerHasTimesInItsMidstItsEssenceIsCompared) {
  Workload workload;
  workload.essence = [](const grpc::ByteBuffer& reply) -> absl::StatusOr<std::string> {
    v1::Timing timing;
    ReplyView view(reply);
    if (!view.ReadTiming(&timing)) return absl::InternalError("cannot be read");
    return std::string("the same");
  };
  Request request;
  request.check = [](const grpc::ByteBuffer&) -> absl::StatusOr<int64_t> { return 0; };
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(Judge(workload, request, Cut(ResponseOf(std::to_string(i)), 100)).right, IsOk());
  }
  EXPECT_THAT(Judge(workload, request, grpc::ByteBuffer()).right,
              StatusIs(absl::StatusCode::kInternal, "cannot be read"));
}

}  // namespace
}  // namespace baseband::load
