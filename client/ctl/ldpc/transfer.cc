#include "client/ctl/ldpc/transfer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/ldpc/transfer_calls.h"

namespace baseband::ctl {
namespace {

using client::PackedBytes;
using transfer_internal::BlocksPerRequest;
using transfer_internal::CopyPayload;
using transfer_internal::MakeRequest;
using transfer_internal::Transfer;
using transfer_internal::WrongSize;

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

// What is wrong with the answer to `request`, whose group has `count` frames.
absl::Status CheckAnswer(const v1::CarrierGroup& group, int64_t count,
                         const v1::RecoverCarrierResponse& response) {
  if (response.frames_size() != count ||
      response.timings_size() != (group.has_timing() ? count : int64_t{0}) ||
      (group.has_timing() && response.reaches_size() != 1) ||
      response.curves_size() != (group.curve() ? count : int64_t{0})) {
    return absl::InternalError("the server's results are not one a frame");
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

void TransferTimes::Append(const TransferTimes& next) {
  wall += next.wall;
  requests += next.requests;
  const double share =
      requests == 0 ? 0 : static_cast<double>(next.requests) / static_cast<double>(requests);
  for (double TransferTimes::*mean :
       {&TransferTimes::receive_us, &TransferTimes::queue_us, &TransferTimes::copy_in_us,
        &TransferTimes::h2d_us, &TransferTimes::kernel_us, &TransferTimes::d2h_us,
        &TransferTimes::batch_blocks, &TransferTimes::batch_requests}) {
    this->*mean += share * (next.*mean - this->*mean);
  }
}

namespace transfer_internal {

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

void Finish(absl::Duration wall, TransferTimes* times) {
  times->wall = wall;
  const double n = static_cast<double>(std::max<int64_t>(times->requests, 1));
  for (double* sum :
       {&times->receive_us, &times->queue_us, &times->copy_in_us, &times->h2d_us, &times->kernel_us,
        &times->d2h_us, &times->batch_blocks, &times->batch_requests}) {
    *sum /= n;
  }
}

int64_t BlocksPerRequest(const Session& session, int64_t blocks, int64_t block_bytes,
                         int64_t most_blocks) {
  constexpr int64_t kWorthARequest = 64 << 10;
  const RequestLimits limits = session.limits();
  const int64_t most =
      std::clamp<int64_t>(limits.bytes / block_bytes, 1, std::min(limits.blocks, most_blocks));
  return std::clamp<int64_t>(blocks / (2 * session.flags().in_flight),
                             std::min(most, kWorthARequest / block_bytes + 1), most);
}

absl::Status WrongSize(absl::string_view field, size_t got, int64_t expected) {
  return absl::InternalError(
      absl::StrCat("the server's ", field, " has ", got, " bytes instead of ", expected));
}

absl::Status CopyPayload(absl::string_view rpc, const std::string& payload, int64_t bytes,
                         int64_t first, int64_t count, std::string* all) {
  if (static_cast<int64_t>(payload.size()) != count * bytes) {
    return WrongSize(absl::StrCat(rpc, " payload"), payload.size(), count * bytes);
  }
  std::memcpy(&(*all)[first * bytes], payload.data(), payload.size());
  return absl::OkStatus();
}

}  // namespace transfer_internal

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

absl::StatusOr<Encoded> EncodeBlocks(const Session& session, const v1::EncodeGroup& group,
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
  const auto times = Transfer<v1::EncodeResponse>(
      session, blocks, BlocksPerRequest(session, blocks, std::max(in_bytes, out_bytes)),
      [&](int64_t first, int64_t count) {
        return MakeRequest<v1::EncodeRequest>(group, payload, in_bytes, first, count);
      },
      [&](v1::EncodeRequest request, auto done) {
        session.client()->Encode(std::move(request), session.flags().call(), std::move(done));
      },
      [&](int64_t first, int64_t count, v1::EncodeResponse* response) {
        return CopyPayload("Encode", response->payload(), out_bytes, first, count, &result.payload);
      },
      progress);
  result.times = times.value_or(TransferTimes());
  return times.ok() ? absl::StatusOr<Encoded>(std::move(result)) : times.status();
}

absl::StatusOr<Decoded> DecodeBlocks(const Session& session, const v1::DecodeGroup& group,
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
  const int64_t chunk = BlocksPerRequest(session, blocks, in_bytes);
  std::vector<std::string> soft((blocks + chunk - 1) / chunk);
  const auto times = Transfer<v1::DecodeResponse>(
      session, blocks, chunk,
      [&](int64_t first, int64_t count) {
        return MakeRequest<v1::DecodeRequest>(group, llr, in_bytes, first, count);
      },
      [&](v1::DecodeRequest request, auto done) {
        session.client()->Decode(std::move(request), session.flags().call(), std::move(done));
      },
      [&](int64_t first, int64_t count, v1::DecodeResponse* response) {
        if (response->iterations_size() != count || response->parity_ok_size() != count) {
          return absl::InternalError("the server's block results are not one a block");
        }
        std::copy(response->iterations().begin(), response->iterations().end(),
                  result.iterations.begin() + first);
        std::copy(response->parity_ok().begin(), response->parity_ok().end(),
                  result.parity_ok.begin() + first);
        soft[first / chunk] = std::move(*response->mutable_soft());
        return CopyPayload("Decode", response->payload(), out_bytes, first, count, &result.payload);
      },
      progress);
  if (!times.ok()) {
    return times.status();
  }
  result.times = *times;
  result.soft = absl::StrJoin(soft, "");
  return result;
}

int64_t FrameBytes(const v1::CarrierGroup& group) {
  return int64_t{group.has_timing() ? group.frame_samples() : group.frame_symbols()} *
         BytesPerSample(group.format());
}

absl::StatusOr<Recovered> RecoverFrames(const Session& session, const v1::CarrierGroup& group,
                                        absl::string_view received, const OnProgress& progress) {
  const int64_t frame_bytes = FrameBytes(group);
  const int64_t frames = static_cast<int64_t>(received.size()) / frame_bytes;
  Recovered result;
  result.frames.resize(frames);
  result.timings.resize(group.has_timing() ? frames : 0);
  result.curves.resize(group.curve() ? frames : 0);
  const int64_t chunk = BlocksPerRequest(session, frames, frame_bytes);
  std::vector<std::string> curve_points((frames + chunk - 1) / chunk);
  std::vector<std::string> corrected(
      curve_points.size());  // of samples, so many as the server says
  const auto times = Transfer<v1::RecoverCarrierResponse>(
      session, frames, chunk,
      [&](int64_t first, int64_t count) {
        return MakeRequest<v1::RecoverCarrierRequest>(group, received, frame_bytes, first, count);
      },
      [&](v1::RecoverCarrierRequest request, auto done) {
        session.client()->RecoverCarrier(std::move(request), session.flags().call(),
                                         std::move(done));
      },
      [&](int64_t first, int64_t count, v1::RecoverCarrierResponse* response) {
        if (absl::Status status = CheckAnswer(group, count, *response); !status.ok()) {
          return status;
        }
        std::move(response->mutable_frames()->begin(), response->mutable_frames()->end(),
                  result.frames.begin() + first);
        std::copy(response->curves().begin(), response->curves().end(),
                  result.curves.begin() + (group.curve() ? first : 0));
        std::move(response->mutable_timings()->begin(), response->mutable_timings()->end(),
                  result.timings.begin() + (group.has_timing() ? first : 0));
        curve_points[first / chunk] = std::move(*response->mutable_curve_points());
        if (first == 0 && response->reaches_size() > 0) result.reach = response->reaches(0);
        const int64_t symbols =
            group.has_timing() ? response->reaches(0).frame_symbols() : group.frame_symbols();
        const int64_t expected =
            group.corrected() ? count * symbols * BytesPerSample(group.format()) : 0;
        if (static_cast<int64_t>(response->payload().size()) != expected) {
          return WrongSize("RecoverCarrier payload", response->payload().size(), expected);
        }
        corrected[first / chunk] = std::move(*response->mutable_payload());
        return absl::OkStatus();
      },
      progress);
  if (!times.ok()) {
    return times.status();
  }
  result.times = *times;
  result.corrected = absl::StrJoin(corrected, "");
  const std::string points = absl::StrJoin(curve_points, "");
  result.curve_points.resize(points.size() / sizeof(float));
  if (!points.empty()) {
    std::memcpy(result.curve_points.data(), points.data(), points.size());
  }
  return result;
}

}  // namespace baseband::ctl
