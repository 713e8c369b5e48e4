// Requests on their way to a server, and their answers in order.
//
//   Pipeline<v1::DecodeRequest, v1::DecodeResponse> pipeline(&client, limits, check, wake);
//   while (pipeline.HasRoom()) pipeline.Send(NextRequest(), frames);
//   pipeline.Wait();
//   if (pipeline.IsReady()) absl::StatusOr<v1::DecodeResponse> response = pipeline.Take().response;
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_PIPELINE_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_PIPELINE_H_

#include <gnuradio/thread/thread.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/client.h"
#include "client/gnuradio/lib/failure.h"

namespace gr::baseband_offload {

namespace v1 = ::baseband::v1;
using ::baseband::client::CallHandle;
using ::baseband::client::CallOptions;
using ::baseband::client::Client;

inline CallHandle Call(Client* client, v1::EncodeRequest request, const CallOptions& options,
                       Client::Callback<v1::EncodeResponse> done) {
  return client->Encode(std::move(request), options, std::move(done));
}
inline CallHandle Call(Client* client, v1::DecodeRequest request, const CallOptions& options,
                       Client::Callback<v1::DecodeResponse> done) {
  return client->Decode(std::move(request), options, std::move(done));
}
inline CallHandle Call(Client* client, v1::RecoverCarrierRequest request,
                       const CallOptions& options,
                       Client::Callback<v1::RecoverCarrierResponse> done) {
  return client->RecoverCarrier(std::move(request), options, std::move(done));
}

struct PipelineLimits {
  int in_flight = 4;
  absl::Duration timeout = absl::Seconds(10);  // of one call
  // A request whose failure may pass is sent again until it is answered, or has failed as INTERNAL
  // kMostInternalErrors times; else its error is its answer.
  bool hold = true;
  // Before it is sent again, unless the server says later; each further time after twice as long,
  // at most max_pause.
  absl::Duration first_pause = absl::Milliseconds(100);
  absl::Duration max_pause = absl::Seconds(1);
};

// A change between answers and failures.
struct PipelineEvent {
  bool failing = false;  // else it is served again
  absl::Status error;    // of the request that failed
};

// One thread sends and takes; answers come on threads of the client's. A wait is an interruption
// point of boost::thread, by which GNU Radio ends a flow graph.
template <typename Request, typename Response>
class Pipeline {
 public:
  // Whether an OK answer is one to a request of so many frames.
  using Check = std::function<absl::Status(int frames, const Response&)>;
  struct Answer {
    int frames = 0;
    absl::StatusOr<Response> response;
  };

  // `client` outlives the pipeline. `wake` runs after the oldest request is answered and after an
  // event, on any thread, also shortly after the pipeline is gone.
  Pipeline(Client* client, const PipelineLimits& limits, Check check, std::function<void()> wake)
      : client_(client),
        limits_(limits),
        state_(std::make_shared<State>()),
        sender_([this] { SendAgain(); }) {
    state_->check = std::move(check);
    state_->wake = std::move(wake);
    state_->limits = limits;
  }

  // Cancels what is on its way, and waits for no server.
  ~Pipeline() {
    std::vector<CallHandle> calls;
    {
      gr::thread::scoped_lock lock(state_->mutex);
      state_->closed = true;
      for (const auto& slot : state_->slots) calls.push_back(slot->call);
      state_->slots.clear();
      state_->changed.notify_all();
    }
    for (const CallHandle& call : calls) call.Cancel();
    sender_.join();
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Fewer than limits.in_flight requests have answers that were not taken.
  bool HasRoom() const { return InFlight() < limits_.in_flight; }
  int InFlight() const {
    gr::thread::scoped_lock lock(state_->mutex);
    return static_cast<int>(state_->slots.size());
  }
  // The oldest request is answered.
  bool IsReady() const {
    gr::thread::scoped_lock lock(state_->mutex);
    return state_->IsReady();
  }

  // `request` has one group, whose count this sets.
  void Send(Request request, int frames) {
    request.mutable_groups(0)->set_count(static_cast<uint32_t>(frames));
    auto slot = std::make_shared<Slot>();
    slot->request = std::move(request);
    slot->frames = frames;
    slot->pause = limits_.first_pause;
    {
      gr::thread::scoped_lock lock(state_->mutex);
      state_->slots.push_back(slot);
    }
    Start(slot);
  }

  // Until the oldest request is answered, or there is an event. Not with nothing in flight.
  void Wait() {
    gr::thread::scoped_lock lock(state_->mutex);
    while (!state_->IsReady() && state_->events.empty()) state_->changed.wait(lock);
  }

  // IsReady().
  Answer Take() {
    gr::thread::scoped_lock lock(state_->mutex);
    const std::shared_ptr<Slot> slot = std::move(state_->slots.front());
    state_->slots.pop_front();
    return {slot->frames, std::move(slot->response)};
  }

  std::vector<PipelineEvent> TakeEvents() {
    std::vector<PipelineEvent> events;
    gr::thread::scoped_lock lock(state_->mutex);
    events.swap(state_->events);
    return events;
  }

 private:
  struct Slot {
    Request request;
    int frames = 0;
    bool done = false;
    bool failed = false;  // at least once, and is held
    int internal_errors = 0;
    absl::StatusOr<Response> response = absl::UnknownError("on its way");
    CallHandle call;
    absl::Duration pause;
    absl::Time again = absl::InfiniteFuture();  // on the clock of SteadyNow()
  };

  // Outlives the pipeline in the callbacks of calls.
  struct State {
    bool IsReady() const { return !slots.empty() && slots.front()->done; }

    // Whether that is an event: the first failure; then that all is answered which has failed, or,
    // where nothing is held, as many requests in a row as are in flight.
    bool Note(Slot* slot, const absl::Status& status, bool passing) {
      if (slot->failed != (passing && limits.hold)) {
        slot->failed = !slot->failed;
        failed_slots += slot->failed ? 1 : -1;
      }
      served_in_a_row = status.ok() ? served_in_a_row + 1 : 0;
      const bool is_served =
          status.ok() && failed_slots == 0 && (limits.hold || served_in_a_row >= limits.in_flight);
      if (failing ? !is_served : !passing) return false;
      failing = !failing;
      events.push_back({failing, status});
      return true;
    }

    Check check;
    std::function<void()> wake;
    PipelineLimits limits;

    mutable gr::thread::mutex mutex;
    gr::thread::condition_variable changed;
    bool closed = false;
    bool failing = false;
    int failed_slots = 0;
    int served_in_a_row = 0;
    std::deque<std::shared_ptr<Slot>> slots;
    std::vector<PipelineEvent> events;
  };

  static absl::Time SteadyNow() {
    return absl::UnixEpoch() +
           absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }

  void Start(const std::shared_ptr<Slot>& slot) {
    CallOptions options;
    options.timeout = limits_.timeout;
    Request request;
    if (limits_.hold) {
      request = slot->request;
    } else {
      request = std::move(slot->request);
    }
    CallHandle call = Call(client_, std::move(request), options,
                           [state = state_, slot](absl::StatusOr<Response> answer) {
                             OnAnswer(state, slot, std::move(answer));
                           });
    gr::thread::scoped_lock lock(state_->mutex);
    if (state_->closed) call.Cancel();
    slot->call = std::move(call);
  }

  static void OnAnswer(const std::shared_ptr<State>& state, const std::shared_ptr<Slot>& slot,
                       absl::StatusOr<Response> response) {
    if (response.ok()) {
      if (absl::Status right = state->check(slot->frames, *response); !right.ok()) {
        response = std::move(right);
      }
    }
    bool wake = false;
    {
      gr::thread::scoped_lock lock(state->mutex);
      if (state->closed) return;
      if (absl::IsInternal(response.status()) && ++slot->internal_errors >= kMostInternalErrors) {
        response = NotPassing(response.status());
      }
      const bool passing = !response.ok() && IsPassing(response.status());
      wake = state->Note(slot.get(), response.status(), passing);
      if (passing && state->limits.hold) {
        slot->again =
            SteadyNow() + std::max(slot->pause, ::baseband::client::RetryAfter(response.status()));
        slot->pause = std::min(2 * slot->pause, state->limits.max_pause);
      } else {
        slot->done = true;
        slot->response = std::move(response);
        slot->request.Clear();
        wake = wake || state->IsReady();
      }
      state->changed.notify_all();
    }
    if (wake) state->wake();
  }

  // The thread that sends what is held.
  void SendAgain() {
    gr::thread::scoped_lock lock(state_->mutex);
    while (!state_->closed) {
      const absl::Time now = SteadyNow();
      absl::Time next = absl::InfiniteFuture();
      std::shared_ptr<Slot> due;
      for (const std::shared_ptr<Slot>& slot : state_->slots) {
        if (slot->again <= now) {
          due = slot;
          break;
        }
        next = std::min(next, slot->again);
      }
      if (due != nullptr) {
        due->again = absl::InfiniteFuture();
        lock.unlock();
        Start(due);
        lock.lock();
      } else if (next == absl::InfiniteFuture()) {
        state_->changed.wait(lock);
      } else {
        state_->changed.wait_for(
            lock, boost::chrono::microseconds(absl::ToInt64Microseconds(next - now) + 1));
      }
    }
  }

  Client* const client_;
  const PipelineLimits limits_;
  const std::shared_ptr<State> state_;
  std::thread sender_;
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_PIPELINE_H_
