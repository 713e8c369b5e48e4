#include "client/load/reply.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace baseband::load {
namespace {

constexpr uint8_t kTimingTag = 1 << 3 | 2;  // field 1, length-delimited
constexpr size_t kMaxTimingBytes = 127;     // so that its length is one byte; eight uint32 are 48

}  // namespace

ReplyView::ReplyView(const grpc::ByteBuffer& reply) : size_(reply.Length()) {
  if (!reply.Dump(&slices_).ok()) slices_.clear();
}

bool ReplyView::ReadTiming(v1::Timing* timing) {
  if (size_ < 2 || slices_.empty()) return false;
  if (slices_.front().size() < std::min(size_, 2 + kMaxTimingBytes) && slices_.size() > 1) {
    std::string joined = Rest();  // the first slice is too short to hold it for sure
    slices_.assign(1, grpc::Slice(joined));
  }
  const grpc::Slice& first = slices_.front();
  const size_t length = first.begin()[1];
  if (first.begin()[0] != kTimingTag || length > kMaxTimingBytes || first.size() < 2 + length ||
      !timing->ParseFromArray(first.begin() + 2, static_cast<int>(length))) {
    return false;
  }
  skipped_ = 2 + length;
  return true;
}

bool ReplyView::RestIs(const std::string& bytes) const {
  if (bytes.size() != size_ - skipped_) return false;
  const char* at = bytes.data();
  size_t skip = skipped_;
  for (const grpc::Slice& slice : slices_) {
    if (std::memcmp(slice.begin() + skip, at, slice.size() - skip) != 0) return false;
    at += slice.size() - skip;
    skip = 0;
  }
  return true;
}

std::string ReplyView::Rest() const {
  std::string rest;
  rest.reserve(size_);
  for (const grpc::Slice& slice : slices_) {
    rest.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return rest.substr(skipped_);
}

void KnownReply::Set(std::string rest) {
  absl::MutexLock lock(&mutex_);
  if (is_set_.load(std::memory_order_relaxed)) return;
  rest_ = std::move(rest);
  is_set_.store(true, std::memory_order_release);
}

bool KnownReply::Is(const ReplyView& reply) const {
  return is_set_.load(std::memory_order_acquire) && reply.RestIs(rest_);
}

}  // namespace baseband::load
