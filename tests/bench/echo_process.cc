#include "tests/bench/echo_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "tests/bench/echo_server.h"
#include "tests/bench/must.h"

namespace baseband::bench {
namespace {

constexpr char kRole[] = "--be-an-echo";

}  // namespace

EchoProcess::EchoProcess(int64_t reply_bytes, int num_queues, int threads_per_queue,
                         int max_request_bytes, int max_frame_bytes) {
  const std::string bytes = absl::StrCat(reply_bytes);
  const std::string queues = absl::StrCat(num_queues);
  const std::string threads = absl::StrCat(threads_per_queue);
  const std::string most = absl::StrCat(max_request_bytes);
  const std::string frames = absl::StrCat(max_frame_bytes);
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) Fail("no pipe to an echo");
  process_ = fork();
  if (process_ < 0) Fail("no process for an echo");
  if (process_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl("/proc/self/exe", "echo", kRole, bytes.c_str(), queues.c_str(), threads.c_str(),
          most.c_str(), frames.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_process_ = in[1];
  for (char c = 0; read(out[0], &c, 1) == 1 && c != '\n';) address_ += c;
  close(out[0]);
  if (address_.empty()) Fail("the echo did not start");
}

EchoProcess::~EchoProcess() {
  close(to_process_);
  waitpid(process_, nullptr, 0);
}

void EchoProcess::set_delay(std::chrono::microseconds delay) const {
  const std::string line = absl::StrCat(delay.count(), "\n");
  if (write(to_process_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    Fail("the echo does not listen");
  }
}

bool RunAsEchoProcess(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as basebandd does
  if (argc != 7 || absl::string_view(argv[1]) != kRole) return false;
  int64_t reply_bytes = 0;
  int num_queues = 0;
  int num_threads = 0;
  int most = 0;
  int frames = 0;
  if (!absl::SimpleAtoi(argv[2], &reply_bytes) || !absl::SimpleAtoi(argv[3], &num_queues) ||
      !absl::SimpleAtoi(argv[4], &num_threads) || !absl::SimpleAtoi(argv[5], &most) ||
      !absl::SimpleAtoi(argv[6], &frames)) {
    return false;
  }
  EchoServer echo(reply_bytes, num_queues, num_threads, most, frames);
  std::printf("%s\n", echo.address().c_str());
  std::fflush(stdout);
  for (int64_t delay_us = 0; std::cin >> delay_us;) {
    echo.set_delay(std::chrono::microseconds(delay_us));
  }
  return true;
}

}  // namespace baseband::bench
