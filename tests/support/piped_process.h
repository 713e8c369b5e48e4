// A child process at both ends of whose pipes the test is.
#ifndef BASEBAND_TESTS_SUPPORT_PIPED_PROCESS_H_
#define BASEBAND_TESTS_SUPPORT_PIPED_PROCESS_H_

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"

namespace baseband::testing {

// Killed in the destructor, and with its parent. Whoever writes to one that has ended gets EPIPE.
class PipedProcess {
 public:
  PipedProcess(const std::string& program, const std::vector<std::string>& arguments) {
    signal(SIGPIPE, SIG_IGN);
    int in[2];
    int out[2];
    int err[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC) + pipe2(out, O_CLOEXEC) + pipe2(err, O_CLOEXEC), 0);
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {  // nothing here but what is safe in a child of a threaded process
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      signal(SIGPIPE, SIG_DFL);
      execv(program.c_str(), argv.data());
      _exit(127);
    }
    for (const int fd : {in[0], out[1], err[1]}) close(fd);
    input_ = in[1];
    output_ = out[0];
    errors_ = err[0];
    listener_ = std::thread([this] { Append(errors_, SIZE_MAX, &error_text_); });
  }
  ~PipedProcess() {
    if (!exit_code_.has_value()) kill(pid_, SIGKILL);
    CloseInput();
    CloseOutput();
    Wait(absl::Seconds(10));
    listener_.join();
    close(errors_);
  }
  PipedProcess(const PipedProcess&) = delete;
  PipedProcess& operator=(const PipedProcess&) = delete;

  // Blocks while the pipe is full; false if nobody reads it any more.
  bool Write(const std::string& bytes) const {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t some = write(input_, &bytes[done], bytes.size() - done);
      if (some < 0 && errno != EINTR) return false;
      done += static_cast<size_t>(some < 0 ? 0 : some);
    }
    return true;
  }
  // As much as is taken until none is for `pause`; how much.
  size_t WriteWhileTaken(const std::string& bytes, absl::Duration pause) const {
    fcntl(input_, F_SETFL, O_NONBLOCK);
    size_t done = 0;
    pollfd fd = {input_, POLLOUT, 0};
    while (done < bytes.size() && poll(&fd, 1, static_cast<int>(ToInt64Milliseconds(pause))) > 0) {
      const ssize_t some = write(input_, &bytes[done], bytes.size() - done);
      if (some < 0 && errno != EAGAIN) break;
      done += static_cast<size_t>(some < 0 ? 0 : some);
    }
    fcntl(input_, F_SETFL, 0);
    return done;
  }
  void CloseInput() { Close(&input_); }

  // So many bytes, or what came before the end.
  std::string Read(size_t bytes) const {
    std::string text;
    Append(output_, bytes, &text);
    return text;
  }
  std::string ReadAll() const { return Read(SIZE_MAX); }
  void CloseOutput() { Close(&output_); }

  // The exit code, 128 + signal if a signal ended it; empty if it still runs after `timeout`.
  absl::optional<int> Wait(absl::Duration timeout = absl::Seconds(60)) {
    const absl::Time deadline = absl::Now() + timeout;
    while (!exit_code_.has_value()) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      } else if (absl::Now() >= deadline) {
        break;
      } else {
        absl::SleepFor(absl::Milliseconds(2));
      }
    }
    return exit_code_;
  }
  // What it wrote to standard error; after it has ended.
  std::string Errors() {
    if (listener_.joinable()) listener_.join();
    listener_ = std::thread([] {});
    return error_text_;
  }

 private:
  static void Append(int fd, size_t bytes, std::string* text) {
    char piece[65536];
    while (text->size() < bytes) {
      const ssize_t some = read(fd, piece, std::min(sizeof(piece), bytes - text->size()));
      if (some == 0 || (some < 0 && errno != EINTR)) return;
      text->append(piece, static_cast<size_t>(some < 0 ? 0 : some));
    }
  }
  static void Close(int* fd) {
    if (*fd >= 0) close(std::exchange(*fd, -1));
  }

  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;
  pid_t pid_ = -1;
  absl::optional<int> exit_code_;
  std::string error_text_;
  std::thread listener_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_PIPED_PROCESS_H_
