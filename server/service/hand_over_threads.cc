#include "server/service/hand_over_threads.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/base/steady_time.h"
#include "server/service/shared_socket.h"

namespace baseband::server {

HandOverThreads::~HandOverThreads() {
  Finish();
  for (std::thread& thread : threads_) thread.join();
}

void HandOverThreads::Start() {
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads_.emplace_back([this, thread] { Run(thread); });
  }
}

void HandOverThreads::Add(int fd, HandOver hand_over) {
  absl::MutexLock lock(&mutex_);
  waiting_.push_back({fd, std::move(hand_over)});
}

std::vector<HandOverThreads::InWork> HandOverThreads::GetInWork() const {
  absl::MutexLock lock(&mutex_);
  std::vector<InWork> in_work;
  std::copy_if(in_work_.begin(), in_work_.end(), std::back_inserter(in_work),
               [](const InWork& one) { return one.fd >= 0; });
  return in_work;
}

void HandOverThreads::Finish() {
  absl::MutexLock lock(&mutex_);
  is_finished_ = true;
  for (const Waiting& waiting : std::exchange(waiting_, {})) close(waiting.fd);
}

void HandOverThreads::Run(size_t thread) {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    mutex_.Await(absl::Condition(this, &HandOverThreads::HasWork));
    if (waiting_.empty()) return;
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    in_work_[thread] = {next.fd, InodeOf(next.fd), SteadyNow()};
    mutex_.Unlock();
    next.hand_over(thread, next.fd);
    mutex_.Lock();
    in_work_[thread] = InWork();
  }
}

}  // namespace baseband::server
