#include "client/ctl/ldpc/transfer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/carrier/symbols.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

using client::PackedBytes;

// The state of one ForEachChunk().
class Window {
 public:
  Window(int in_flight, const OnProgress& progress) : limit_(in_flight), progress_(progress) {}

  // Waits for room; false after an error.
  bool Enter() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Window::HasRoom));
    ++unfinished_;
    return error_.ok();
  }

  void Leave(const absl::Status& status, int64_t count) {
    absl::MutexLock lock(&mutex_);
    --unfinished_;
    finished_items_ += count;
    error_.Update(status);
    if (status.ok() && progress_) {
      progress_(finished_items_);
    }
  }

  absl::Status Wait() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Window::IsIdle));
    return error_;
  }

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return unfinished_ < limit_; }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return unfinished_ == 0; }

  const int limit_;
  const OnProgress& progress_;
  absl::Mutex mutex_;
  int unfinished_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t finished_items_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

void Add(const v1::Timing& timing, TransferTimes* times) {
  ++times->requests;
  times->receive_us += timing.receive_us();
  times->queue_us += timing.queue_us();
  times->copy_in_us += timing.copy_in_us();
  times->h2d_us += timing.h2d_us();
  times->kernel_us += timing.kernel_us();
  times->d2h_us += timing.d2h_us();
  times->batch_blocks += timing.batch_blocks();
  times->batch_requests += timing.batch_requests();
}

// From sums to means.
void Finish(absl::Duration wall, TransferTimes* times) {
  times->wall = wall;
  const double n = static_cast<double>(std::max<int64_t>(times->requests, 1));
  for (double* sum :
       {&times->receive_us, &times->queue_us, &times->copy_in_us, &times->h2d_us, &times->kernel_us,
        &times->d2h_us, &times->batch_blocks, &times->batch_requests}) {
    *sum /= n;
  }
}

// Enough requests to keep all of them in flight twice over, but none below 64 KiB for that.
int64_t BlocksPerRequest(const GlobalFlags& flags, const RequestLimits& limits, int64_t blocks,
                         int64_t block_bytes) {
  constexpr int64_t kWorthARequest = 64 << 10;
  const int64_t most = std::clamp<int64_t>(limits.bytes / block_bytes, 1, limits.blocks);
  return std::clamp<int64_t>(blocks / (2 * flags.in_flight),
                             std::min(most, kWorthARequest / block_bytes + 1), most);
}

absl::Status WrongSize(absl::string_view field, size_t got, int64_t expected) {
  return absl::InternalError(
      absl::StrCat("the server's ", field, " has ", got, " bytes instead of ", expected));
}

// What is wrong with the answer to `request`, whose group has `count` frames.
absl::Status CheckAnswer(const v1::CarrierGroup& group, int64_t count, int64_t request_bytes,
                         const v1::RecoverCarrierResponse& response) {
  if (response.frames_size() != count ||
      response.curves_size() != (group.curve() ? count : int64_t{0})) {
    return absl::InternalError("the server's results are not one a frame");
  }
  const int64_t corrected_bytes = group.corrected() ? request_bytes : 0;
  if (static_cast<int64_t>(response.payload().size()) != corrected_bytes) {
    return WrongSize("RecoverCarrier payload", response.payload().size(), corrected_bytes);
  }
  int64_t curve_bytes = 0;
  for (const v1::CarrierCurve& curve : response.curves()) {
    curve_bytes += int64_t{curve.num_points()} * int64_t{sizeof(float)};
  }
  return static_cast<int64_t>(response.curve_points().size()) == curve_bytes
             ? absl::OkStatus()
             : WrongSize("curve_points", response.curve_points().size(), curve_bytes);
}

}  // namespace

absl::Status ForEachChunk(int64_t total, int64_t chunk, int in_flight,
                          const std::function<void(int64_t first, int64_t count,
                                                   std::function<void(absl::Status)> done)>& start,
                          const OnProgress& progress) {
  // Shared with the callbacks: the last of them may still be unlocking when Wait() returns.
  const auto window = std::make_shared<Window>(in_flight, progress);
  for (int64_t first = 0; first < total; first += chunk) {
    const int64_t count = std::min(chunk, total - first);
    if (!window->Enter()) {
      window->Leave(absl::OkStatus(), 0);
      break;
    }
    start(first, count,
          [window, count](const absl::Status& status) { window->Leave(status, count); });
  }
  return window->Wait();
}

absl::StatusOr<Encoded> EncodeBlocks(client::Client* client, const GlobalFlags& flags,
                                     const RequestLimits& limits, const v1::EncodeGroup& group,
                                     absl::string_view payload, const OnProgress& progress) {
  const absl::StatusOr<client::CodeShape> shape = client::ShapeOf(group.code());
  if (!shape.ok()) {
    return shape.status();
  }
  const int64_t in_bytes = PackedBytes(shape->k() - group.n_filler());
  const int64_t out_bytes = PackedBytes(client::OutputBits(*shape, group.output()));
  const int64_t blocks = static_cast<int64_t>(payload.size()) / in_bytes;
  Encoded result;
  result.payload.resize(blocks * out_bytes);
  absl::Mutex mutex;  // guards result.times
  const absl::Time begin = SteadyNow();
  const absl::Status status = ForEachChunk(
      blocks, BlocksPerRequest(flags, limits, blocks, std::max(in_bytes, out_bytes)),
      flags.in_flight,
      [&](int64_t first, int64_t count, std::function<void(absl::Status)> done) {
        v1::EncodeRequest request;
        *request.add_groups() = group;
        request.mutable_groups(0)->set_count(static_cast<uint32_t>(count));
        request.set_payload(payload.data() + first * in_bytes, count * in_bytes);
        client->Encode(
            std::move(request), flags.call(),
            [&, first, count, done](absl::StatusOr<v1::EncodeResponse> response) {
              if (!response.ok()) {
                return done(response.status());
              }
              if (static_cast<int64_t>(response->payload().size()) != count * out_bytes) {
                return done(
                    WrongSize("Encode payload", response->payload().size(), count * out_bytes));
              }
              std::memcpy(&result.payload[first * out_bytes], response->payload().data(),
                          count * out_bytes);
              {
                absl::MutexLock lock(&mutex);
                Add(response->timing(), &result.times);
              }
              done(absl::OkStatus());
            });
      },
      progress);
  if (!status.ok()) {
    return status;
  }
  Finish(SteadyNow() - begin, &result.times);
  return result;
}

absl::StatusOr<Decoded> DecodeBlocks(client::Client* client, const GlobalFlags& flags,
                                     const RequestLimits& limits, const v1::DecodeGroup& group,
                                     absl::string_view llr, const OnProgress& progress) {
  const absl::StatusOr<client::CodeShape> shape = client::ShapeOf(group.code());
  if (!shape.ok()) {
    return shape.status();
  }
  const int64_t in_bytes = group.llr_count() == 0 ? shape->sent() : group.llr_count();
  const int64_t out_bytes = PackedBytes(shape->k() - group.n_filler());
  const int64_t blocks = static_cast<int64_t>(llr.size()) / in_bytes;
  Decoded result;
  result.payload.resize(blocks * out_bytes);
  result.iterations.resize(blocks);
  result.parity_ok.resize(blocks);
  const int64_t chunk = BlocksPerRequest(flags, limits, blocks, in_bytes);
  std::vector<std::string> soft((blocks + chunk - 1) / chunk);
  absl::Mutex mutex;  // guards result.times
  const absl::Time begin = SteadyNow();
  const absl::Status status = ForEachChunk(
      blocks, chunk, flags.in_flight,
      [&](int64_t first, int64_t count, std::function<void(absl::Status)> done) {
        v1::DecodeRequest request;
        *request.add_groups() = group;
        request.mutable_groups(0)->set_count(static_cast<uint32_t>(count));
        request.set_payload(llr.data() + first * in_bytes, count * in_bytes);
        client->Decode(
            std::move(request), flags.call(),
            [&, first, count, done](absl::StatusOr<v1::DecodeResponse> response) {
              if (!response.ok()) {
                return done(response.status());
              }
              if (static_cast<int64_t>(response->payload().size()) != count * out_bytes) {
                return done(
                    WrongSize("Decode payload", response->payload().size(), count * out_bytes));
              }
              if (response->iterations_size() != count || response->parity_ok_size() != count) {
                return done(absl::InternalError("the server's block results are not one a block"));
              }
              std::memcpy(&result.payload[first * out_bytes], response->payload().data(),
                          count * out_bytes);
              std::copy(response->iterations().begin(), response->iterations().end(),
                        result.iterations.begin() + first);
              std::copy(response->parity_ok().begin(), response->parity_ok().end(),
                        result.parity_ok.begin() + first);
              soft[first / chunk] = std::move(*response->mutable_soft());
              {
                absl::MutexLock lock(&mutex);
                Add(response->timing(), &result.times);
              }
              done(absl::OkStatus());
            });
      },
      progress);
  if (!status.ok()) {
    return status;
  }
  Finish(SteadyNow() - begin, &result.times);
  for (const std::string& part : soft) {
    result.soft += part;
  }
  return result;
}

absl::StatusOr<Recovered> RecoverFrames(client::Client* client, const GlobalFlags& flags,
                                        const RequestLimits& limits, const v1::CarrierGroup& group,
                                        absl::string_view symbols, const OnProgress& progress) {
  const int64_t frame_bytes = int64_t{group.frame_symbols()} * BytesPerSample(group.format());
  const int64_t frames = static_cast<int64_t>(symbols.size()) / frame_bytes;
  Recovered result;
  result.frames.resize(frames);
  result.curves.resize(group.curve() ? frames : 0);
  result.corrected.resize(group.corrected() ? frames * frame_bytes : 0);
  const int64_t chunk = BlocksPerRequest(flags, limits, frames, frame_bytes);
  std::vector<std::string> curve_points((frames + chunk - 1) / chunk);
  absl::Mutex mutex;  // guards result.times
  const absl::Time begin = SteadyNow();
  const absl::Status status = ForEachChunk(
      frames, chunk, flags.in_flight,
      [&](int64_t first, int64_t count, std::function<void(absl::Status)> done) {
        v1::RecoverCarrierRequest request;
        *request.add_groups() = group;
        request.mutable_groups(0)->set_count(static_cast<uint32_t>(count));
        request.set_payload(symbols.data() + first * frame_bytes, count * frame_bytes);
        client->RecoverCarrier(
            std::move(request), flags.call(),
            [&, first, count, done](absl::StatusOr<v1::RecoverCarrierResponse> response) {
              const absl::Status checked =
                  response.ok() ? CheckAnswer(group, count, count * frame_bytes, *response)
                                : response.status();
              if (!checked.ok()) {
                return done(checked);
              }
              std::move(response->mutable_frames()->begin(), response->mutable_frames()->end(),
                        result.frames.begin() + first);
              std::copy(response->curves().begin(), response->curves().end(),
                        result.curves.begin() + (group.curve() ? first : 0));
              if (group.corrected()) {
                std::memcpy(&result.corrected[first * frame_bytes], response->payload().data(),
                            count * frame_bytes);
              }
              curve_points[first / chunk] = std::move(*response->mutable_curve_points());
              {
                absl::MutexLock lock(&mutex);
                Add(response->timing(), &result.times);
              }
              done(absl::OkStatus());
            });
      },
      progress);
  if (!status.ok()) {
    return status;
  }
  Finish(SteadyNow() - begin, &result.times);
  for (const std::string& part : curve_points) {
    const size_t old_size = result.curve_points.size();
    result.curve_points.resize(old_size + part.size() / sizeof(float));
    std::memcpy(result.curve_points.data() + old_size, part.data(), part.size());
  }
  return result;
}

}  // namespace baseband::ctl
