#include "client/ldpc_tool/frame_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
#include "kernels/base/steady_time.h"

namespace baseband::ldpc_tool {
namespace {

// "standard output: Broken pipe", from errno.
absl::Status PipeError(absl::string_view pipe) {
  return absl::InvalidArgumentError(absl::StrCat(pipe, ": ", std::strerror(errno)));
}

// To what an unprivileged process may have, so that both sides are woken less often.
void Enlarge(int pipe) {
  constexpr int kBytes = 1 << 20;
  const int now = fcntl(pipe, F_GETPIPE_SZ);  // below 0: it is no pipe
  if (now >= 0 && now < kBytes) {
    fcntl(pipe, F_SETPIPE_SZ, kBytes);
  }
}

FramePipeOptions WithSoftOutput(FramePipeOptions options) {
  options.group.set_soft_output(true);
  return options;
}

// What is wrong with an answer for `frames` frames, of which each has `least_soft` soft values.
absl::Status CheckAnswer(const v1::DecodeResponse& answer, int64_t frames, int64_t least_soft,
                         int64_t info_bytes) {
  const auto soft = static_cast<int64_t>(answer.soft().size());
  const auto info = static_cast<int64_t>(answer.payload().size());
  if (answer.iterations_size() != frames || answer.parity_ok_size() != frames ||
      info != frames * info_bytes || soft % frames != 0 || soft / frames < least_soft) {
    return absl::InternalError(absl::StrCat(
        "the answer for ", frames, " frames has ", answer.parity_ok_size(), " results, ", info,
        " bytes of information and ", soft, " soft values; due are ", info_bytes, " and at least ",
        least_soft, " a frame"));
  }
  return absl::OkStatus();
}

// Sum-product rounds its soft values: the zeros among those of information bits `first` to `end`
// get the sign that was decided. `info` is packed, the most significant bit first.
void SignZeros(const char* info, int64_t first, int64_t end, char* soft) {
  char* at = soft;
  char* const stop = soft + (end - first);
  while ((at = static_cast<char*>(std::memchr(at, 0, static_cast<size_t>(stop - at))))) {
    const int64_t bit = first + (at - soft);
    *at++ = (info[bit / 8] >> (7 - bit % 8) & 1) != 0 ? -1 : 0;
  }
}

}  // namespace

FramePipe::FramePipe(const FramePipeOptions& options, Batches::Send send)
    : options_(WithSoftOutput(options)),
      frame_bytes_(options.group.llr_count() != 0 ? options.group.llr_count()
                                                  : client::ShapeOf(options.group.code())->sent()),
      punctured_(client::ShapeOf(options.group.code())->full() -
                 client::ShapeOf(options.group.code())->sent()),
      info_bits_(client::ShapeOf(options.group.code())->k() - options.group.n_filler()),
      batches_(std::make_shared<Batches>(options.in_flight, options.patience, std::move(send))),
      buffer_(static_cast<size_t>(options.batch_frames * frame_bytes_), '\0') {}

FramePipeEnd FramePipe::Run() {
  if (batches_->changes() < 0) {
    end_.pipes = PipeError("eventfd");
    return end_;
  }
  Enlarge(options_.input);
  Enlarge(options_.output);
  std::thread writer([this] { WriteAll(); });
  const absl::Status read = ReadAll();
  batches_->Close();
  writer.join();
  end_.pipes.Update(read);
  totals_.wall = totals_.read > 0 ? SteadyNow() - begin_ : absl::ZeroDuration();
  return end_;
}

absl::Status FramePipe::ReadAll() {
  const auto capacity = static_cast<int64_t>(buffer_.size());
  for (bool ended = false;;) {
    const bool has_frame = filled_ >= frame_bytes_;
    const bool may_send = has_frame && batches_->HasRoom();
    if (may_send && (ended || filled_ == capacity)) {
      SendFrames();
      continue;
    }
    if (ended && !has_frame) {
      break;
    }
    const bool may_read = !ended && filled_ < capacity;
    pollfd fds[] = {{may_read ? options_.input : -1, POLLIN, 0},
                    {batches_->changes(), POLLIN, 0},
                    {options_.output, 0, 0}};  // only whether its other side is gone
    const int ready = poll(fds, 3, may_send ? 0 : -1);
    if (ready < 0 && errno != EINTR) {
      return PipeError("poll");
    }
    if (ready == 0) {
      SendFrames();  // no more at the moment
      continue;
    }
    batches_->ForgetChanges();
    if (batches_->is_stopped()) {
      return absl::OkStatus();  // whoever stopped it knows why
    }
    if (ready > 0 && fds[2].revents != 0) {
      batches_->Stop();
      return absl::InvalidArgumentError("standard output was closed by whoever read it");
    }
    if (ready > 0 && fds[0].revents != 0) {
      if (absl::Status status = ReadSome(&ended); !status.ok()) {
        return status;
      }
    }
  }
  return filled_ == 0 ? absl::OkStatus()
                      : absl::InvalidArgumentError(
                            absl::StrCat("standard input ended within a frame, after ", filled_,
                                         " of its ", frame_bytes_, " bytes"));
}

absl::Status FramePipe::ReadSome(bool* ended) {
  const ssize_t bytes = read(options_.input, &buffer_[static_cast<size_t>(filled_)],
                             buffer_.size() - static_cast<size_t>(filled_));
  if (bytes < 0) {
    return errno == EINTR || errno == EAGAIN ? absl::OkStatus() : PipeError("standard input");
  }
  if (filled_ == 0 && totals_.read == 0) {
    begin_ = SteadyNow();
  }
  *ended = bytes == 0;
  filled_ += bytes;
  return absl::OkStatus();
}

void FramePipe::SendFrames() {
  const int64_t frames = filled_ / frame_bytes_;
  const int64_t bytes = frames * frame_bytes_;
  v1::DecodeRequest request;
  *request.add_groups() = options_.group;
  request.mutable_groups(0)->set_count(static_cast<uint32_t>(frames));
  request.set_payload(buffer_.data(), static_cast<size_t>(bytes));
  std::memmove(buffer_.data(), &buffer_[static_cast<size_t>(bytes)],
               static_cast<size_t>(filled_ - bytes));
  filled_ -= bytes;
  totals_.read += frames;
  ++totals_.requests;
  batches_->Add(std::move(request), frames);
}

void FramePipe::WriteAll() {
  while (const std::unique_ptr<Batches::Answered> next = batches_->Next()) {
    end_.server = next->answer.status();
    if (end_.server.ok()) {
      end_.server = CheckAnswer(*next->answer, next->frames, punctured_ + frame_bytes_,
                                client::PackedBytes(info_bits_));
    }
    if (end_.server.ok()) {
      end_.pipes = WriteBatch(*next->answer, next->frames);
    }
    if (!end_.server.ok() || !end_.pipes.ok()) {
      batches_->Stop();
      return;
    }
    batches_->Pop();
  }
}

absl::Status FramePipe::WriteBatch(const v1::DecodeResponse& answer, int64_t frames) {
  const int64_t soft_bytes = static_cast<int64_t>(answer.soft().size()) / frames;
  const int64_t info_bytes = client::PackedBytes(info_bits_);
  corrected_.resize(static_cast<size_t>(frames * frame_bytes_));
  for (int64_t i = 0; i < frames; ++i) {
    char* const frame = &corrected_[static_cast<size_t>(i * frame_bytes_)];
    std::memcpy(frame, &answer.soft()[static_cast<size_t>(i * soft_bytes + punctured_)],
                static_cast<size_t>(frame_bytes_));
    const int64_t info_end = std::min(info_bits_, punctured_ + frame_bytes_);
    if (options_.group.algorithm() == v1::DECODE_ALGORITHM_SUM_PRODUCT && info_end > punctured_) {
      SignZeros(&answer.payload()[static_cast<size_t>(i * info_bytes)], punctured_, info_end,
                frame);
    }
  }
  if (absl::Status status = WriteBytes(corrected_); !status.ok()) {
    return status;
  }
  totals_.failed += std::count(answer.parity_ok().begin(), answer.parity_ok().end(), false);
  totals_.iterations +=
      std::accumulate(answer.iterations().begin(), answer.iterations().end(), int64_t{0});
  return absl::OkStatus();
}

absl::Status FramePipe::WriteBytes(absl::string_view bytes) {
  int64_t written = 0;
  while (written < static_cast<int64_t>(bytes.size())) {
    const ssize_t some = write(options_.output, &bytes[static_cast<size_t>(written)],
                               bytes.size() - static_cast<size_t>(written));
    if (some >= 0) {
      written += some;
    } else if (errno == EAGAIN) {
      pollfd fd = {options_.output, POLLOUT, 0};
      poll(&fd, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  totals_.written += written / frame_bytes_;
  return written == static_cast<int64_t>(bytes.size()) ? absl::OkStatus()
                                                       : PipeError("standard output");
}

}  // namespace baseband::ldpc_tool
