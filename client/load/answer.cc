#include "client/load/answer.h"

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
  const grpc::Slice& front = slices_.front();
  if (front.size() < 2 || front.size() < 2 + size_t{front.begin()[1]}) {
    std::string joined = Rest();  // the first slice is too short to hold it
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

Answer* Answers::Add(const std::string& bytes, int64_t failed_blocks, Answer::State state,
                     const Iterations& iterations) {
  absl::MutexLock lock(&mutex_);
  if (Answer* const known = Find([&](const std::string& other) { return other == bytes; })) {
    return known;
  }
  const size_t place = count_.load(std::memory_order_relaxed);
  if (right_ >= kinds_ || place == kMost) return nullptr;
  answers_[place] = std::make_unique<Answer>(bytes, failed_blocks, iterations);
  Answer* const answer = answers_[place].get();
  if (state == Answer::State::kRight) MakeRight(answer);
  count_.store(place + 1, std::memory_order_release);
  return answer;
}

void Answers::MakeRight(Answer* answer) {
  answer->state = Answer::State::kRight;
  answer->calls.clear();
  ++right_;
}

void Answers::Note(Answer* answer, const Ended& call) {
  absl::MutexLock lock(&mutex_);
  if (answer->state != Answer::State::kDoubtful) return;
  answer->calls.push_back(call);
  answer->calls.back().timing = nullptr;
  if (answer->calls.size() >= kAgreement && right_ < kinds_) MakeRight(answer);
}

void Answers::Settle(size_t agreement) {
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < count_; ++i) {
    Answer* const answer = answers_[i].get();
    if (answer->state == Answer::State::kDoubtful && answer->calls.size() >= agreement &&
        right_ < kinds_) {
      MakeRight(answer);
    }
  }
}

bool Answers::is_open() const {
  bool open = false;
  for (size_t i = 0; i < count_; ++i) {
    open |= answers_[i]->state == Answer::State::kDoubtful;
  }
  return open && right_ < kinds_;
}

std::vector<Ended> Answers::Reject() {
  absl::MutexLock lock(&mutex_);
  std::vector<Ended> calls;
  for (size_t i = 0; i < count_; ++i) {
    Answer& answer = *answers_[i];
    if (answer.state != Answer::State::kDoubtful) continue;
    answer.state = Answer::State::kWrong;
    calls.insert(calls.end(), answer.calls.begin(), answer.calls.end());
    answer.calls.clear();
  }
  return calls;
}

}  // namespace baseband::load
