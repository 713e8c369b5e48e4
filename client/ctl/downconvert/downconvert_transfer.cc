#include "client/ctl/downconvert/downconvert_transfer.h"

#include <algorithm>
#include <deque>
#include <future>
#include <utility>

namespace baseband::ctl {
namespace {

constexpr int kMaxStreamWindow = 64;

void AddRetunes(const DownconvertPlan& plan, v1::DownconvertRequest* request) {
  for (const v1::Retune& retune : plan.retunes) {
    *request->add_retunes() = retune;
  }
}

class StreamTransfer final : public DownconvertTransfer {
 public:
  StreamTransfer(std::unique_ptr<client::DownconvertStream> stream, const DownconvertPlan& plan,
                 int window)
      : plan_(plan), window_(window), stream_(std::move(stream)) {}

  absl::Status Send(int64_t index, std::string samples) override {
    v1::DownconvertRequest request;
    if (first_) {
      *request.mutable_setup() = plan_.setup;
      AddRetunes(plan_, &request);
      first_ = false;
    }
    request.set_first_sample(static_cast<uint64_t>(index));
    request.set_payload(std::move(samples));
    return stream_->Write(request) ? absl::OkStatus() : WhyEnded();
  }

  absl::StatusOr<v1::DownconvertResponse> Receive() override {
    v1::DownconvertResponse response;
    if (!stream_->Read(&response)) {
      return WhyEnded();
    }
    return response;
  }

  int in_flight() const override { return stream_->in_flight(); }
  bool full() const override { return in_flight() >= window_; }
  absl::Status Finish() override { return stream_->Finish(); }

 private:
  absl::Status WhyEnded() {
    const absl::Status status = stream_->Finish();
    return status.ok() ? absl::InternalError("the server ended the stream") : status;
  }

  const DownconvertPlan& plan_;
  const int window_;
  bool first_ = true;
  const std::unique_ptr<client::DownconvertStream> stream_;
};

class UnaryTransfer final : public DownconvertTransfer {
 public:
  UnaryTransfer(client::Client* client, const GlobalFlags& flags, const DownconvertPlan& plan,
                int bytes_per_sample)
      : client_(client), flags_(flags), plan_(plan), bytes_per_sample_(bytes_per_sample) {}

  absl::Status Send(int64_t index, std::string samples) override {
    int64_t gap = 0;
    if (first_ || index != next_) {
      gap = first_ ? 0 : index - next_;
      begin_ = index;
      recent_.clear();
    }
    const int64_t history = static_cast<int64_t>(recent_.size()) / bytes_per_sample_;
    v1::DownconvertRequest request;
    *request.mutable_setup() = plan_.setup;
    AddRetunes(plan_, &request);
    request.set_first_sample(static_cast<uint64_t>(index - history));
    request.set_history(static_cast<uint64_t>(history));
    request.set_zero_history(begin_ > 0);
    request.set_describe(first_);
    recent_ += samples;
    request.set_payload(recent_);
    next_ = index + static_cast<int64_t>(samples.size()) / bytes_per_sample_;
    first_ = false;
    if (needed_ < 0) {
      // How much history there must be is not known before the first answer.
      absl::StatusOr<v1::DownconvertResponse> response =
          client_->Downconvert(std::move(request), flags_.call());
      if (!response.ok()) {
        return response.status();
      }
      if (response->history() < response->next_sample()) {
        needed_ = static_cast<int64_t>(response->history());
      }
      std::promise<absl::StatusOr<v1::DownconvertResponse>> promise;
      Await(promise.get_future(), gap);
      promise.set_value(std::move(response));
    } else {
      auto promise = std::make_shared<std::promise<absl::StatusOr<v1::DownconvertResponse>>>();
      Await(promise->get_future(), gap);
      client_->Downconvert(std::move(request), flags_.call(),
                           [promise](absl::StatusOr<v1::DownconvertResponse> response) {
                             promise->set_value(std::move(response));
                           });
    }
    const int64_t kept = needed_ < 0 ? INT64_MAX : needed_ * bytes_per_sample_;
    if (static_cast<int64_t>(recent_.size()) > kept) {
      recent_.erase(0, recent_.size() - kept);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<v1::DownconvertResponse> Receive() override {
    Pending pending = std::move(pending_.front());
    pending_.pop_front();
    absl::StatusOr<v1::DownconvertResponse> response = pending.response.get();
    if (response.ok()) {
      response->set_gap(static_cast<uint64_t>(pending.gap));
    }
    return response;
  }

  int in_flight() const override { return static_cast<int>(pending_.size()); }
  bool full() const override { return in_flight() >= flags_.in_flight; }
  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  struct Pending {
    std::future<absl::StatusOr<v1::DownconvertResponse>> response;
    int64_t gap = 0;  // before the piece
  };

  void Await(std::future<absl::StatusOr<v1::DownconvertResponse>> response, int64_t gap) {
    pending_.push_back(Pending{std::move(response), gap});
  }

  client::Client* const client_;
  const GlobalFlags& flags_;
  const DownconvertPlan& plan_;
  const int bytes_per_sample_;
  bool first_ = true;
  int64_t begin_ = 0;    // of what has no gap, up to next_
  int64_t next_ = 0;     // place of the next sample
  int64_t needed_ = -1;  // samples of history; < 0: not known yet
  std::string recent_;   // the last samples: what is needed of them, since begin_
  std::deque<Pending> pending_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DownconvertTransfer>> NewStreamTransfer(
    client::Client* client, const GlobalFlags& flags, const DownconvertPlan& plan) {
  client::StreamOptions options;
  options.max_in_flight = std::min(flags.in_flight, kMaxStreamWindow);
  options.response_timeout = flags.call().timeout;
  options.priority = flags.call().priority;
  auto stream = client->OpenDownconvertStream(options);
  if (!stream.ok()) {
    return stream.status();
  }
  return std::make_unique<StreamTransfer>(*std::move(stream), plan, options.max_in_flight);
}

std::unique_ptr<DownconvertTransfer> NewUnaryTransfer(client::Client* client,
                                                      const GlobalFlags& flags,
                                                      const DownconvertPlan& plan,
                                                      int bytes_per_sample) {
  return std::make_unique<UnaryTransfer>(client, flags, plan, bytes_per_sample);
}

}  // namespace baseband::ctl
