// Minimize through the real server: progress, cancellation, deadlines, contention, refusals.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/searching_server.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

// Minutes of one core.
v1::MinimizeRequest LongSearch() {
  return Formula("sum(j, 1, 1000, sin(j * x))", 0, 1e-9, 100'000'000);
}

// Two sinusoids whose tables take some 10^9 operations, and the search itself next to nothing: the
// slow_path has it for a second or so.
v1::MinimizeRequest SlowToPrepare() {
  constexpr int kSamples = 200'000;
  v1::MinimizeRequest request;
  request.mutable_sinusoids()->set_num_samples(kSamples);
  request.mutable_sinusoids()->set_sampling_interval_s(1.0);
  AddAxis(0.01, 1e-4, 1000, &request);
  AddAxis(0.2, 1e-4, 1000, &request);
  std::vector<double> signal;
  for (int n = 0; n < kSamples; ++n) signal.push_back(std::sin(0.3 * n) + std::sin(1.4 * n));
  Append(signal, request.mutable_payload());
  return request;
}

TEST_F(MinimizeTest, ProgressGoesUpAndTheAnswerIsLast) {
  v1::MinimizeRequest request = Formula("sum(j, 1, 200, sin(j * x))", 0, 1e-6, 1'000'000);
  request.set_progress_interval_ms(10);
  const Outcome outcome = Run(request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  ASSERT_FALSE(outcome.progress.empty());
  uint64_t points = 0;
  for (const v1::MinimizeProgress& progress : outcome.progress) {
    EXPECT_GE(progress.points(), points);
    EXPECT_EQ(progress.total_points(), 1'000'000U);
    EXPECT_TRUE(progress.has_best());
    points = progress.points();
  }
}

TEST_F(MinimizeTest, ACancelledSearchLeavesItsPlaceToOthers) {
  // Each would take one of eight places for minutes.
  for (int k = 0; k < 16; ++k) {
    grpc::ClientContext context;
    v1::MinimizeRequest request = LongSearch();
    request.set_progress_interval_ms(10);
    const auto reader = stub_->Minimize(&context, request);
    v1::MinimizeResponse response;
    ASSERT_TRUE(reader->Read(&response));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
    ASSERT_TRUE(AwaitSearches(0));
  }
  EXPECT_TRUE(Run(Formula("x", 0, 1, 10)).status.ok());
}

TEST_F(MinimizeTest, TheDeadlineIsHonouredAndWhatCannotMakeItIsRefusedAtOnce) {
  grpc::ClientContext context;
  // At the deadline itself the client would say so, in other words.
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::MinimizeRequest request = LongSearch();
  const Outcome outcome = Run(request, &context);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("takes about"));
}

TEST_F(MinimizeTest, CancellationAndDeadlineReachASearchThatIsBeingPrepared) {
  const v1::MinimizeRequest request = SlowToPrepare();
  for (const bool cancels : {false, true}) {
    grpc::ClientContext context;
    const auto patience = std::chrono::milliseconds(200);
    if (!cancels) context.set_deadline(std::chrono::system_clock::now() + patience);
    const auto reader = stub_->Minimize(&context, request);
    if (cancels) {
      ASSERT_TRUE(AwaitSearches(1));
      // Meanwhile others are served: were it prepared on a thread of gRPC's, half of them would
      // wait, and it be over after them.
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(Run(Formula("x", 0, 1, 10)).status.ok());
      ASSERT_TRUE(AwaitSearches(1));
      context.TryCancel();
    }
    EXPECT_EQ(reader->Finish().error_code(),
              cancels ? grpc::StatusCode::CANCELLED : grpc::StatusCode::DEADLINE_EXCEEDED);
    ASSERT_TRUE(AwaitSearches(0));
  }
}

TEST_F(MinimizeTest, MemoryOfSearchesIsBoundedInBytes) {
  constexpr uint64_t kNumbers = 5'000'000;  // 40 MB
  v1::MinimizeRequest request = Formula("x + a[0]", 0, 1, 10);
  v1::NamedArray& array = *request.mutable_expression()->add_arrays();
  array.set_name("a");
  array.set_size(kNumbers);
  request.mutable_payload()->resize(kNumbers * sizeof(double));
  const Outcome outcome = Run(request);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "it never fits";
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("bytes of memory"));
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("have 33554432"));
  // What was refused holds nothing: this one needs more than half of it.
  array.set_size(2'000'000);
  request.mutable_payload()->resize(2'000'000 * sizeof(double));
  for (int k = 0; k < 3; ++k) {
    const Outcome taken = Run(request);
    EXPECT_TRUE(taken.status.ok()) << taken.status.error_message();
  }
}

// Searches of all kinds, cancelled at any time: on the slow path, in the queue, on a lane, at the
// end.
TEST_F(MinimizeTest, CancelledAtRandomTheyGiveEverythingBack) {
  const v1::MinimizeRequest slow = SlowToPrepare();
  v1::MinimizeRequest refined = Formula("(x - 7.3)^2", 0, 0.001, 100'000);
  refined.set_refinement(v1::REFINEMENT_BRENT);
  v1::MinimizeRequest tops = LongSearch();
  tops.set_top(8);
  tops.set_progress_interval_ms(10);
  const v1::MinimizeRequest* const requests[] = {&slow, &refined, &tops};
  std::vector<std::thread> clients;
  for (unsigned c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937 random(c);
      for (int k = 0; k < 25; ++k) {
        grpc::ClientContext context;
        const auto reader = stub_->Minimize(&context, *requests[random() % 3]);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        context.TryCancel();
        const grpc::StatusCode code = reader->Finish().error_code();
        EXPECT_TRUE(code == grpc::StatusCode::OK || code == grpc::StatusCode::CANCELLED ||
                    code == grpc::StatusCode::RESOURCE_EXHAUSTED)
            << code;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  // All places and all memory are there again, once the last pieces and preparations have ended.
  v1::MinimizeRequest large = Formula("x + a[0]", 0, 1, 10);
  v1::NamedArray& array = *large.mutable_expression()->add_arrays();
  array.set_name("a");
  array.set_size(2'500'000);
  large.mutable_payload()->resize(2'500'000 * sizeof(double));
  Outcome outcome = Run(large);
  for (int k = 0; k < 500 && !outcome.status.ok(); ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    outcome = Run(large);
  }
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.error_message();
}

TEST_F(MinimizeTest, ASearchOfHoursIsRefusedWithItsEstimate) {
  v1::MinimizeRequest request = LongSearch();
  request.mutable_axes(0)->set_count(uint64_t{1} << 40);
  const Outcome outcome = Run(request);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("takes no search of more than 1h"));
}

TEST_F(MinimizeTest, ShortSearchesPassALongOne) {
  grpc::ClientContext context;
  const auto reader = stub_->Minimize(&context, LongSearch());
  for (int k = 0; k < 50; ++k) {
    EXPECT_TRUE(Run(Formula("(x - 7)^2", 0, 1, 1000)).status.ok());
  }
  EXPECT_TRUE(AwaitSearches(1)) << "they would else have come after it";
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(MinimizeTest, ASearchTooManyIsToldSo) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::MinimizeResponse>>> readers;
  v1::MinimizeRequest request = LongSearch();
  request.set_progress_interval_ms(10);
  for (int k = 0; k < 8; ++k) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub_->Minimize(contexts.back().get(), request));
    v1::MinimizeResponse response;
    ASSERT_TRUE(readers.back()->Read(&response));
  }
  const Outcome outcome = Run(Formula("x", 0, 1, 10));
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(outcome.status.error_message(), HasSubstr("8 searches are open already"));
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& reader : readers) (void)reader->Finish();
  ASSERT_TRUE(AwaitSearches(0));
  // Their last pieces may be on their way, but hold no places.
  const Outcome next = Run(Formula("x", 0, 1, 10));
  EXPECT_TRUE(next.status.ok()) << next.status.error_message();
}

TEST_F(MinimizeTest, FormulasAreRefusedWithColumnAndWhatWasExpected) {
  EXPECT_THAT(Refusal(Formula("sin(x", 0, 1, 10)), HasSubstr("column 6"));
  EXPECT_THAT(Refusal(Formula("x + q", 0, 1, 10)), HasSubstr("q"));
  EXPECT_THAT(Refusal(Formula("sum(j, 0, 3, y[j])", 0, 1, 10)), HasSubstr("y"));
  EXPECT_THAT(Refusal(Formula(std::string(70000, '('), 0, 1, 10)), HasSubstr("expression"));
}

TEST_F(MinimizeTest, NumbersOutOfRangeAreRefusedByName) {
  v1::MinimizeRequest request = Formula("x", 0, 1, 10);
  request.clear_axes();
  EXPECT_THAT(Refusal(request), HasSubstr("axes has 0 entries, not 1 to 4"));
  EXPECT_THAT(Refusal(Formula("x", 0, 1, 0)), HasSubstr("axes[0].count"));
  EXPECT_THAT(Refusal(Formula("x", 0, 0, 2)), HasSubstr("axes[0].step"));
  EXPECT_THAT(Refusal(Formula("x", std::numeric_limits<double>::quiet_NaN(), 1, 2)),
              HasSubstr("axes[0].begin"));
  EXPECT_THAT(Refusal(Formula("x", 0, 1, ~uint64_t{0})),
              HasSubstr("axes[0].count 18446744073709551615 is"));
  request = Formula("x", 0, 1, uint64_t{1} << 30);
  AddAxis(0, 1, uint64_t{1} << 30, &request);
  EXPECT_THAT(
      Refusal(request),
      HasSubstr("axes[1].count 1073741824 is not in [1, 1024]: the grid has at most 2^40 points"));
  request = Formula("x", 0, 1, 10);
  request.set_payload("12345678");
  EXPECT_THAT(Refusal(request), HasSubstr("payload has 8 bytes"));
  request = Formula("x", 0, 1, 10);
  request.set_top(65);
  EXPECT_THAT(Refusal(request), HasSubstr("top 65 is not in"));
  request = Formula("x", 0, 1, 10);
  request.add_separation(1);
  request.add_separation(1);
  EXPECT_THAT(Refusal(request), HasSubstr("separation has 2 numbers for 1 axes"));
  request = Formula("x", 0, 1, 10);
  request.set_progress_interval_ms(5);
  EXPECT_THAT(Refusal(request), HasSubstr("progress_interval_ms 5"));
  request = Formula("x", 0, 1, 10);
  request.set_first_point(10);
  EXPECT_THAT(Refusal(request), HasSubstr("first"));
  request.set_first_point(~uint64_t{0});
  EXPECT_THAT(Refusal(request), HasSubstr("first_point 18446744073709551615 is not in [0, 9]"));
  request.set_first_point(1);
  request.set_num_points(~uint64_t{0});
  EXPECT_THAT(Refusal(request), HasSubstr("num_points 18446744073709551615 is not in [0, 9]"));
  request = Formula("x", 0, 1, 10);
  request.add_separation(~uint64_t{0});
  EXPECT_THAT(Refusal(request), HasSubstr("separation[0] 18446744073709551615 is not in [1, "));
  request = Formula("x", 0, 1, 10);
  request.mutable_expression()->add_arrays()->set_size(~uint64_t{0});
  EXPECT_THAT(Refusal(request),
              HasSubstr("expression.arrays[0].size 18446744073709551615 is not in [1, "));
  request = Formula("x", 0, 1, 10);
  request.set_goal(static_cast<v1::SearchGoal>(7));
  EXPECT_THAT(Refusal(request), HasSubstr("goal 7 is not in [0, 2]"));
  request.clear_expression();
  EXPECT_THAT(Refusal(request), HasSubstr("functional is not set"));
  request.mutable_sinusoids()->set_num_samples(3);
  EXPECT_THAT(Refusal(request), HasSubstr("sinusoids.num_samples 3"));
  request.mutable_chirp()->set_num_samples(3);
  EXPECT_THAT(Refusal(request), HasSubstr("chirp.num_samples 3"));
  request.mutable_chirp()->set_num_samples(4);
  EXPECT_THAT(Refusal(request), HasSubstr("the functional takes 8 float64 numbers"));
  request.mutable_payload()->assign(64, '\0');
  request.mutable_chirp()->set_sampling_interval_s(-1);
  EXPECT_THAT(Refusal(request), HasSubstr("sampling_interval_s -1"));
  request.mutable_chirp()->set_sampling_interval_s(1);
  EXPECT_THAT(Refusal(request), HasSubstr("number of axes 1 is not 2"));
  request.mutable_delay_doppler()->set_num_samples((1 << 18) + 1);
  EXPECT_THAT(Refusal(request), HasSubstr("delay_doppler.num_samples 262145"));
  request.mutable_delay_doppler()->set_num_samples(4);
  EXPECT_THAT(Refusal(request), HasSubstr("the functional takes 16 float64 numbers"));
  request.mutable_payload()->assign(128, '\0');
  request.mutable_delay_doppler()->set_sampling_interval_s(1);
  EXPECT_THAT(Refusal(request), HasSubstr("replica's energy 0"));
}

}  // namespace
}  // namespace baseband::testing
