// Which of a stream's requests go when, and which do not go at all.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/messages.h"
#include "client/cpp/submit_call.h"
#include "kernels/base/steady_time.h"
#include "tests/integration/client_calls.h"
#include "tests/support/matchers.h"

namespace baseband::client {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kNever = absl::InfiniteDuration();

// A stream whose server reads and writes as the test says. Requests are told apart by payload.
class SubmitOrderTest : public ::testing::Test {
 protected:
  explicit SubmitOrderTest(bool throttle = true) {
    server_.on_submit = [this](grpc::ServerContext*, FakeBaseband::SubmitStream* stream) {
      stream_ = stream;
      opened_.Notify();
      for (v1::SubmitRequest request; MayRead() && stream->Read(&request);) {
        const absl::MutexLock lock(&mutex_);
        received_.push_back(request);
      }
      const absl::MutexLock nobody_writes(&write_mutex_);
      return grpc::Status::OK;
    };
    server_.Start();
    ClientOptions options;
    options.target = server_.target();
    options.connections = 1;
    options.throttle = throttle;
    channels_ = std::make_unique<ChannelPool>(options);
    call_ = std::make_shared<SubmitCall>(SubmitStreamOptions(), channels_.get(), &queue_,
                                         [this] { closed_.Notify(); });
    polling_ = std::thread([this] {
      void* tag = nullptr;
      for (bool ok = false; queue_.Next(&tag, &ok);) {
        const std::unique_ptr<CallTag> event(static_cast<CallTag*>(tag));
        event->call->OnEvent(event->event, ok);
      }
    });
  }
  ~SubmitOrderTest() override {
    ReadUpTo(1000);
    call_->Cancel();
    closed_.WaitForNotification();
    queue_.Shutdown();
    polling_.join();
  }

  // From then on requests go. With `credits` from the server.
  void Start(uint32_t credits) {
    call_->Start();
    opened_.WaitForNotification();
    Grant(credits);
  }
  void Enqueue(const std::string& payload, absl::Duration timeout) {
    SubmitItem item;
    item.fields = kSubmitEncode;
    item.request = *Serialize(RequestOf(payload));
    item.deadline = SteadyNow() + timeout;
    item.done = [this, payload](const absl::StatusOr<grpc::ByteBuffer>& answer) {
      const absl::MutexLock lock(&mutex_);
      answers_[payload] = answer.status();
    };
    EXPECT_THAT(call_->Enqueue(std::move(item)), IsOk());
  }
  void Grant(uint32_t requests) {
    v1::SubmitResponse response;
    response.mutable_credits()->set_requests(requests);
    response.mutable_credits()->set_bytes(1 << 30);
    Write(response);
  }
  // Without credits.
  void Answer(const v1::SubmitRequest& request) {
    v1::SubmitResponse response;
    response.set_id(request.id());
    response.mutable_encode();
    Write(response);
  }
  // From now on the client has one request of such a timeout in flight, and others wait.
  void LimitToOne(absl::Duration timeout) {
    const auto kind = ClientThrottle::KindOf(absl::StrCat("Submit ", kSubmitEncode.request),
                                             SubmitStreamOptions().priority, timeout);
    for (int i = 0; i < InFlightLimit::kLeastEnds; ++i) {
      EXPECT_THAT(channels_->throttle().Admit(kind).status, IsOk());
      channels_->throttle().OnEnd(kind, absl::DeadlineExceededError(""), /*was_late=*/true, 0.01);
    }
  }
  // How many requests the server reads.
  void ReadUpTo(size_t count) {
    const absl::MutexLock lock(&mutex_);
    readable_ = count;
  }
  // Once there are `count`.
  std::vector<v1::SubmitRequest> AwaitReceived(size_t count) {
    const absl::MutexLock lock(&mutex_);
    const auto are_there = [&] { return received_.size() >= count; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&are_there), kPatience));
    return received_;
  }
  absl::Status AwaitAnswer(const std::string& payload) {
    const absl::MutexLock lock(&mutex_);
    const auto is_there = [&] { return answers_.count(payload) > 0; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&is_there), kPatience));
    return answers_[payload];
  }
  static std::vector<std::string> Payloads(const std::vector<v1::SubmitRequest>& requests) {
    std::vector<std::string> payloads;
    for (const auto& request : requests) payloads.push_back(request.encode().payload());
    return payloads;
  }

  // A request that has all of kTimeout was answered after kUsual at the earliest.
  static constexpr absl::Duration kTimeout = absl::Milliseconds(1990);
  static constexpr absl::Duration kUsual = absl::Milliseconds(400);
  // After this wait it is too late.
  static constexpr absl::Duration kTooLong = absl::Milliseconds(1790);
  // The credits are used up then.
  void LearnTheUsualTime() {
    for (bool learned = false; !learned;) {
      const size_t before = AwaitReceived(0).size();
      Enqueue("known", kTimeout);
      const auto received = AwaitReceived(before + 1);
      absl::SleepFor(kUsual);
      Answer(received.back());
      learned = AwaitAnswer("known").ok();
      const absl::MutexLock lock(&mutex_);
      answers_.erase("known");
      if (!learned) Grant(1);
    }
  }

  // The usual time is known, and the server has another request, with the first of `credits`. How
  // many it has received by then.
  size_t StartBesideAnother(uint32_t credits = 1) {
    Start(1);
    LearnTheUsualTime();
    const size_t others = AwaitReceived(0).size() + 1;
    Grant(credits);
    Enqueue("other", kNever);
    AwaitReceived(others);
    return others;
  }

  absl::Mutex mutex_;
  absl::Mutex write_mutex_;  // while the server writes its stream is there
  absl::Notification opened_;
  absl::Notification closed_;
  FakeBaseband::SubmitStream* stream_ = nullptr;
  size_t readable_ ABSL_GUARDED_BY(mutex_) = 1000;
  std::vector<v1::SubmitRequest> received_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Status> answers_ ABSL_GUARDED_BY(mutex_);
  FakeBaseband server_;
  std::unique_ptr<ChannelPool> channels_;
  grpc::CompletionQueue queue_;
  std::shared_ptr<SubmitCall> call_;
  std::thread polling_;

 private:
  void Write(const v1::SubmitResponse& response) {
    const absl::MutexLock lock(&write_mutex_);
    stream_->Write(response);
  }
  bool MayRead() {
    const absl::MutexLock lock(&mutex_);
    const auto may_read = [&] { return received_.size() < readable_; };
    mutex_.Await(absl::Condition(&may_read));
    return true;
  }
};

TEST_F(SubmitOrderTest, WhatWaitsForCreditsGoesEarliestDeadlineFirst) {
  Enqueue("third", absl::Minutes(30));
  Enqueue("fourth", kNever);
  Enqueue("first", absl::Minutes(10));
  Enqueue("second", absl::Minutes(20));
  Enqueue("fifth", kNever);
  Start(1);
  for (size_t received = 1; received < 5; ++received) {
    AwaitReceived(received);
    Grant(1);
  }
  EXPECT_THAT(Payloads(AwaitReceived(5)),
              ElementsAre("first", "second", "third", "fourth", "fifth"));
}

TEST_F(SubmitOrderTest, WhatCameBeforeAnUrgentRequestButWaitsToBeWrittenGoesAfterIt) {
  constexpr size_t kLarge = 8 << 20;  // more than a connection holds
  ReadUpTo(1);
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    Enqueue(std::string(kLarge, name), absl::Minutes(20));
  }
  Start(100);
  AwaitReceived(1);
  Enqueue("urgent", absl::Minutes(10));
  ReadUpTo(1000);
  const std::vector<std::string> order = Payloads(AwaitReceived(6));
  EXPECT_LE(std::find(order.begin(), order.end(), "urgent") - order.begin(), 3);
}

TEST_F(SubmitOrderTest, ARequestThatWaitsInSubmitTakesItsTurn) {
  Start(1);
  Enqueue("before", kNever);
  AwaitReceived(1);  // the credits are used up
  Enqueue("urgent", absl::Minutes(10));
  std::thread waiting([&] {
    SubmitItem item;
    item.fields = kSubmitEncode;
    item.request = *Serialize(RequestOf("patient"));
    item.deadline = SteadyNow() + absl::Minutes(20);
    item.done = [](const absl::StatusOr<grpc::ByteBuffer>&) {};
    EXPECT_THAT(call_->Submit(std::move(item), /*wait_for_credits=*/true), IsOk());
  });
  Grant(1);
  AwaitReceived(2);
  Grant(1);
  waiting.join();
  EXPECT_THAT(Payloads(AwaitReceived(3)), ElementsAre("before", "urgent", "patient"));
}

TEST_F(SubmitOrderTest, ARequestThatCannotBeInTimeAnyMoreIsNotSent) {
  const size_t before = StartBesideAnother();
  Enqueue("small", kTimeout);
  absl::SleepFor(kTooLong);
  Grant(1);
  EXPECT_THAT(AwaitAnswer("small"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("timeout")));
  EXPECT_EQ(call_->in_flight(), 1);
  Enqueue("next", kNever);  // has its credits
  EXPECT_EQ(Payloads(AwaitReceived(before + 1)).back(), "next");
}

TEST_F(SubmitOrderTest, ItIsSentIfTheServerHasNothingElse) {
  Start(1);
  LearnTheUsualTime();
  Enqueue("alone", kTimeout);
  absl::SleepFor(kTooLong);
  Grant(1);
  // That is, not by this side.
  EXPECT_THAT(AwaitAnswer("alone"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no answer within")));
}

TEST_F(SubmitOrderTest, ASmallRequestIsNotHeldForOneThatIsNotSent) {
  const size_t before = StartBesideAnother();
  Enqueue(std::string(100, 's'), kTimeout - absl::Milliseconds(20));  // of another size: not known
  Enqueue("late", kTimeout);
  absl::SleepFor(kTooLong);
  Grant(2);
  EXPECT_THAT(AwaitAnswer("late"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("not sent")));
  EXPECT_EQ(Payloads(AwaitReceived(before + 1)).back(), std::string(100, 's'));
}

class UnthrottledSubmitOrderTest : public SubmitOrderTest {
 protected:
  UnthrottledSubmitOrderTest() : SubmitOrderTest(/*throttle=*/false) {}
};

TEST_F(UnthrottledSubmitOrderTest, ARequestThatCannotBeInTimeAnyMoreIsSentAllTheSame) {
  const size_t before = StartBesideAnother();
  Enqueue("small", kTimeout);
  absl::SleepFor(kTooLong);
  Grant(1);
  EXPECT_EQ(Payloads(AwaitReceived(before + 1)).back(), "small");
}

// The client may have one request of such a timeout in flight.
class SubmitRoomTest : public SubmitOrderTest {
 protected:
  static constexpr absl::Duration kLong = absl::Seconds(600);

  SubmitRoomTest() {
    LimitToOne(kLong);
    Start(100);
    Enqueue("first", kLong);
    AwaitReceived(1);
  }
};

TEST_F(SubmitRoomTest, WhatHasTimeWaitsForRoomMostTimeFirst) {
  Enqueue("less", kLong + absl::Seconds(10));
  Enqueue("most", kLong + absl::Seconds(20));
  EXPECT_EQ(call_->in_flight(), 3);
  for (size_t received = 1; received < 3; ++received) {
    absl::SleepFor(absl::Milliseconds(30));
    const auto requests = AwaitReceived(received);
    EXPECT_EQ(requests.size(), received);
    Answer(requests.back());
  }
  EXPECT_THAT(Payloads(AwaitReceived(3)), ElementsAre("first", "most", "less"));
}

TEST_F(SubmitRoomTest, OthersPassIt) {
  Enqueue("waits", kLong);
  Enqueue("other", kNever);
  EXPECT_EQ(Payloads(AwaitReceived(2)).back(), "other");
}

TEST_F(SubmitRoomTest, WhatWaitsIsToldOfTheStreamsEnd) {
  Enqueue("waits", kLong);
  call_->Cancel();
  EXPECT_THAT(AwaitAnswer("waits"), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(SubmitRoomTest, WhatWaitsIsSentBeforeTheStreamIsFinished) {
  Enqueue("waits", kLong);
  call_->HalfClose();
  Answer(AwaitReceived(1).back());
  EXPECT_EQ(Payloads(AwaitReceived(2)).back(), "waits");
}

// It has the time that most take, by what the throttle knows of all; not by what the stream knows
// of those of its size.
TEST_F(SubmitOrderTest, WhoIsToldOfRoomAndDoesNotGoPassesItOn) {
  LimitToOne(kTimeout);
  const size_t before = StartBesideAnother(10);
  Enqueue("first", kTimeout - absl::Milliseconds(50));
  const auto received = AwaitReceived(before + 1);
  Enqueue("known", kTimeout);  // most time left
  Enqueue(std::string(100, 'y'), kTimeout - absl::Milliseconds(20));
  absl::SleepFor(absl::Milliseconds(1700));
  ASSERT_EQ(AwaitReceived(0).size(), before + 1);
  Answer(received.back());
  EXPECT_THAT(AwaitAnswer("known"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("too little was left")));
  EXPECT_EQ(Payloads(AwaitReceived(before + 2)).back(), std::string(100, 'y'));
}

}  // namespace
}  // namespace baseband::client
