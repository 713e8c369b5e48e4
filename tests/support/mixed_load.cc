#include "tests/support/mixed_load.h"

#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace baseband::testing {
namespace {

// The log has the patience. A server that has just been started on a busy host may think for a
// while that a request takes minutes; it is to refuse none for that.
constexpr absl::Duration kTimeout = absl::Hours(24);
constexpr absl::Duration kResponseTimeout = absl::Seconds(100);
constexpr absl::Duration kPause = absl::Milliseconds(5);  // after Unavailable

}  // namespace

MixedLoadOptions LoadOf(const std::string& target) {
  MixedLoadOptions options;
  options.client.target = target;
  options.client.connections = 2;
  options.client.max_attempts = 1;
  return options;
}

MixedLoad::MixedLoad(const Mix& mix, const MixedLoadOptions& options, RequestLog* log)
    : mix_(mix),
      options_(options),
      log_(log),
      client_(client::Client::Create(options.client).value()) {
  const std::pair<Round, int> kinds[] = {{&MixedLoad::CallSome, options.unary},
                                         {&MixedLoad::SubmitSome, options.submit},
                                         {&MixedLoad::StreamOnce, options.streams},
                                         {&MixedLoad::SearchOnce, options.searches}};
  for (const auto& [round, count] : kinds) {
    for (int i = 0; i < count; ++i) {
      loops_.emplace_back(&MixedLoad::Loop, this, round, static_cast<unsigned>(loops_.size()));
    }
  }
}

void MixedLoad::Stop() {
  stop_ = true;
  Join();
}

void MixedLoad::Join() {
  for (std::thread& loop : loops_) loop.join();
  loops_.clear();
}

void MixedLoad::Loop(Round round, unsigned seed) {
  std::mt19937 random(seed);
  while (!stop_) {
    const absl::Status status = (this->*round)(&random);
    if (absl::IsUnavailable(status) && !options_.go_on) return;
    if (!status.ok()) absl::SleepFor(kPause);
  }
}

int MixedLoad::Pick(std::mt19937* random) const {
  return std::uniform_int_distribution<int>(0, mix_.size() - 1)(*random);
}

absl::Status MixedLoad::CallSome(std::mt19937* random) {
  client::CallOptions options;
  options.timeout = kTimeout;
  options.wait_for_ready = options_.wait_for_ready;
  Batch batch(log_);
  for (int i = 0; i < 3; ++i) mix_.Call(*client_, Pick(random), options, batch.Enter());
  return batch.Wait();
}

absl::Status MixedLoad::SubmitSome(std::mt19937* random) {
  client::SubmitStreamOptions stream_options;
  stream_options.response_timeout = kResponseTimeout;
  stream_options.wait_for_ready = options_.wait_for_ready;
  const auto stream = client_->OpenSubmitStream(stream_options).value();
  client::SubmitOptions options;
  options.timeout = kTimeout;
  Batch batch(log_);
  absl::Status status;
  for (int i = 0; i < 20 && !stop_ && status.ok(); ++i) {
    status = mix_.Submit(*stream, Pick(random), options, batch.Enter());
    if (!status.ok()) batch.Withdraw();
  }
  status.Update(batch.Wait());
  status.Update(stream->Finish());
  return status;
}

absl::Status MixedLoad::StreamOnce(std::mt19937*) {
  client::StreamOptions options;
  options.response_timeout = kResponseTimeout;
  options.wait_for_ready = options_.wait_for_ready;
  Batch batch(log_);
  batch.Enter()(mix_.Stream(*client_, options));
  return batch.Wait();
}

absl::Status MixedLoad::SearchOnce(std::mt19937*) {
  client::CallOptions options;
  options.timeout = kTimeout;
  options.wait_for_ready = options_.wait_for_ready;
  Batch batch(log_);
  batch.Enter()(mix_.Search(*client_, options));
  return batch.Wait();
}

}  // namespace baseband::testing
