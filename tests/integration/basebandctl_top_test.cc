// basebandctl top against real servers, in a pipe and on a terminal.
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PageOf(const ServerProcess& server) {
  return absl::StrCat("--metrics=http://", server.metrics_address(), "/metrics");
}

// Sends requests until it is destroyed.
class Traffic {
 public:
  explicit Traffic(const ServerProcess& server)
      : load_(ProgramPath("basebandctl"),
              {"--target=" + server.target(), "load", "encode", "--zc=32", "--nr-bg=1",
               "--blocks=2", "--in-flight=2", "--duration=600s", "--json"}) {
    EXPECT_TRUE(WaitForRequests(server));
  }

 private:
  static bool WaitForRequests(const ServerProcess& server) {
    const absl::Time deadline = SteadyNow() + absl::Seconds(60);
    while (server.Metric("baseband_requests_total", {"Encode", "OK"}) < 20) {
      if (SteadyNow() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return true;
  }

  ChildProcess load_;
};

class BasebandctlTopTest : public CtlTest {
 protected:
  void SetUp() override {
    CtlTest::SetUp();
    auto started = ServerProcess::Start();
    ASSERT_THAT(started, IsOk());
    other_ = *std::move(started);
  }

  std::unique_ptr<ServerProcess> other_;
};

TEST_F(BasebandctlTopTest, OnceShowsServersAtWorkAndThoseThatAreGone) {
  const Traffic traffic(*server_);
  const std::string page_of_the_dead = PageOf(*other_);
  other_->process().Signal(SIGKILL);
  ASSERT_EQ(other_->process().Wait(absl::Seconds(60)), 128 + SIGKILL);
  const Outcome outcome = Run({"top", "--once", PageOf(*server_), page_of_the_dead});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("2 servers, 1 serving"), HasSubstr("req/s"),
                                    HasSubstr("unreachable"), HasSubstr("cannot connect"),
                                    HasSubstr("Encode"), HasSubstr("cpu"), Not(HasSubstr("\x1b"))));
}

TEST_F(BasebandctlTopTest, JsonIsAnObjectAFrameAndFollowsAServerThatDies) {
  const Traffic traffic(*server_);
  ChildProcess top(ProgramPath("basebandctl"),
                   {"top", "--json", "--interval=200ms", PageOf(*server_), PageOf(*other_)});
  // Complete frames so far.
  const auto frames = [&] {
    std::vector<nlohmann::json> parsed;
    const std::string output = top.Output();
    for (const absl::string_view line :
         absl::StrSplit(output.substr(0, output.rfind('\n') + 1), '\n', absl::SkipEmpty())) {
      parsed.push_back(nlohmann::json::parse(std::string(line), nullptr, false));
      EXPECT_FALSE(parsed.back().is_discarded()) << line;
    }
    return parsed;
  };
  const auto wait_for = [&](const std::string& state) -> nlohmann::json {
    const absl::Time deadline = SteadyNow() + absl::Seconds(60);
    while (SteadyNow() < deadline) {
      const std::vector<nlohmann::json> all = frames();
      if (!all.empty() && all.back()["servers"][0]["state"] == "serving" &&
          all.back()["servers"][1]["state"] == state) {
        return all.back();
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
    ADD_FAILURE() << "no frame with " << state << ": " << top.Output();
    return {};
  };
  const nlohmann::json both = wait_for("serving");
  ASSERT_TRUE(both.is_object());
  EXPECT_EQ(both["servers"][0]["state"], "serving");
  EXPECT_GT(both["servers"][0]["uptime_s"], 0);
  EXPECT_TRUE(both["servers"][0]["requests_per_s"].is_number());
  EXPECT_EQ(both["servers"][0]["devices"][0]["device"], "cpu");
  EXPECT_EQ(both["servers"][1]["requests_per_s"], 0);
  other_->process().Signal(SIGKILL);
  const nlohmann::json one = wait_for("unreachable");
  ASSERT_TRUE(one.is_object());
  EXPECT_EQ(one["servers"][0]["state"], "serving");
  EXPECT_EQ(one["servers"][1]["requests_per_s"], nullptr);
  EXPECT_EQ(one["total"]["requests_per_s"], one["servers"][0]["requests_per_s"]);
  top.Signal(SIGTERM);
  EXPECT_EQ(top.Wait(absl::Seconds(60)), 128 + SIGTERM);
}

TEST_F(BasebandctlTopTest, OnceWithoutAnyServerIsExitCodeTwo) {
  const Outcome outcome =
      Run({"top", "--once", absl::StrCat("--metrics=http://127.0.0.1:", FreePort(), "/metrics")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("cannot connect"));
}

TEST_F(BasebandctlTopTest, AtAServersOwnPortItSaysWhereThePageIs) {
  auto server = ServerProcess::Start();
  ASSERT_THAT(server, IsOk());
  const std::string page = absl::StrCat("--metrics=http://", (*server)->target(), "/metrics");
  const Outcome top = Run({"top", "--once", page});
  EXPECT_EQ(top.exit_code, 2) << top.output;
  EXPECT_THAT(top.output, HasSubstr("gave no answer of the web"));
  const Outcome load = Run({"load", "encode", page});
  EXPECT_EQ(load.exit_code, 2) << load.output;
  EXPECT_THAT(load.output, HasSubstr("--metrics-listen, port 9151 as a rule"));
}

TEST_F(BasebandctlTopTest, WrongFlagsAreRefusedByName) {
  EXPECT_THAT(Run({"top", "--interval=0s"}).output, HasSubstr("--interval 0s is not in [100ms"));
  const Outcome outcome = Run({"top", "--once", "--metrics=https://host/metrics"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("is not http://HOST:PORT/PATH"));
}

// --------------------------------------------------------------------------------- on a terminal

// The program with a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(const std::vector<std::string>& arguments) {
    winsize window = {};
    window.ws_row = 30;
    window.ws_col = 100;
    const std::string program = ProgramPath("basebandctl");
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    int slave = -1;
    EXPECT_EQ(openpty(&master_, &slave, nullptr, nullptr, &window), 0);
    EXPECT_EQ(tcgetattr(slave, &before_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(master_);
      if (login_tty(slave) == 0) execv(argv[0], argv.data());
      _exit(127);
    }
    slave_ = slave;  // kept open: the settings can be asked for after the program's end
  }
  ~OnTerminal() {
    if (!exit_code_.has_value()) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(slave_);
    close(master_);
  }

  void Type(const std::string& keys) {
    ASSERT_EQ(write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void Resize(unsigned short rows, unsigned short columns) {
    winsize window = {};
    window.ws_row = rows;
    window.ws_col = columns;
    ASSERT_EQ(ioctl(master_, TIOCSWINSZ, &window), 0);
  }
  void Signal(int signal) { kill(pid_, signal); }
  // Reads until `text` has come; false after a minute, or at the end.
  bool WaitFor(const std::string& text, size_t from = 0) {
    const absl::Time deadline = SteadyNow() + absl::Seconds(60);
    while (output_.find(text, from) == std::string::npos) {
      if (SteadyNow() > deadline || !ReadSome()) return false;
    }
    return true;
  }
  // What the process exits with; its last words are read.
  int Wait() {
    const absl::Time deadline = SteadyNow() + absl::Seconds(60);
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (SteadyNow() > deadline) return -1;
      ReadSome();
    }
    while (ReadSome()) {
    }
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return *exit_code_;
  }
  bool HasItsOldSettings() const {
    termios now = {};
    return tcgetattr(slave_, &now) == 0 && now.c_lflag == before_.c_lflag &&
           now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag;
  }
  const std::string& output() const { return output_; }

 private:
  // False once the process has ended and all it wrote is read.
  bool ReadSome() {
    pollfd readable = {master_, POLLIN, 0};
    if (poll(&readable, 1, 100) == 0) return !HasEnded();
    char buffer[4096];
    const ssize_t size = read(master_, buffer, sizeof(buffer));
    if (size <= 0) return false;
    output_.append(buffer, static_cast<size_t>(size));
    return true;
  }
  bool HasEnded() const {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == pid_;
  }

  int master_ = -1;
  int slave_ = -1;
  pid_t pid_ = -1;
  termios before_ = {};
  absl::optional<int> exit_code_;
  std::string output_;
};

constexpr char kOtherScreen[] = "\x1b[?1049h";
constexpr char kBack[] = "\x1b[?25h\x1b[?1049l";

TEST_F(BasebandctlTopTest, OnATerminalQEndsItAndTheTerminalIsAsBefore) {
  OnTerminal top({"top", "--interval=200ms", PageOf(*server_), PageOf(*other_)});
  ASSERT_TRUE(top.WaitFor("2 servers, 2 serving")) << top.output();
  EXPECT_THAT(top.output(), HasSubstr(kOtherScreen));
  EXPECT_FALSE(top.HasItsOldSettings()) << "keys come one by one";
  EXPECT_THAT(top.output(), Not(HasSubstr(kBack)));
  top.Type("q");
  EXPECT_EQ(top.Wait(), 0);
  EXPECT_THAT(top.output(), HasSubstr(kBack));
  EXPECT_TRUE(top.HasItsOldSettings());
}

TEST_F(BasebandctlTopTest, InterruptAndTermEndItTheSameWay) {
  for (const bool by_key : {true, false}) {
    OnTerminal top({"top", "--interval=200ms", PageOf(*server_)});
    ASSERT_TRUE(top.WaitFor("1 server, 1 serving")) << top.output();
    by_key ? top.Type("\x03") : top.Signal(SIGTERM);
    EXPECT_EQ(top.Wait(), 0);
    EXPECT_THAT(top.output(), HasSubstr(kBack));
    EXPECT_TRUE(top.HasItsOldSettings());
  }
}

TEST_F(BasebandctlTopTest, ItFollowsTheTerminalsSize) {
  OnTerminal top({"top", "--interval=200ms", PageOf(*server_)});
  ASSERT_TRUE(top.WaitFor("1 server, 1 serving")) << top.output();
  ASSERT_TRUE(top.WaitFor("q ends"));
  // The last line of a frame says its height: it is drawn after as many line feeds as fit.
  const auto lines_of_next_frame = [&] {
    const size_t begin = top.output().size();
    EXPECT_TRUE(top.WaitFor("\x1b[H", begin));
    const size_t frame = top.output().find("\x1b[H", begin);
    EXPECT_TRUE(top.WaitFor("q ends", frame));
    const std::string text = top.output().substr(frame, top.output().find("q ends", frame) - frame);
    return std::count(text.begin(), text.end(), '\n') + 1;
  };
  EXPECT_EQ(lines_of_next_frame(), 30);
  top.Resize(12, 60);
  const absl::Time deadline = SteadyNow() + absl::Seconds(60);
  while (lines_of_next_frame() != 12) ASSERT_LT(SteadyNow(), deadline);
}

TEST_F(BasebandctlTopTest, AServerThatDiesAndComesBackIsFollowedAndCanBeSelected) {
  OnTerminal top({"top", "--interval=200ms", PageOf(*server_), PageOf(*other_)});
  ASSERT_TRUE(top.WaitFor("2 servers, 2 serving")) << top.output();
  top.Type("\x1b[B");
  EXPECT_TRUE(top.WaitFor("of " + server_->metrics_address()));
  top.Type("j");
  EXPECT_TRUE(top.WaitFor("of " + other_->metrics_address()));
  const std::string address = other_->metrics_address();
  other_->process().Signal(SIGKILL);
  EXPECT_TRUE(top.WaitFor("unreachable for")) << top.output();
  const size_t gone = top.output().size();
  const ChildProcess again(
      ProgramPath("basebandd"),
      {"--device=cpu", "--cpu-threads=2", "--listen=127.0.0.1:0", "--metrics-listen=" + address});
  EXPECT_TRUE(top.WaitFor("2 servers, 2 serving", gone)) << again.Output();
  top.Type("q");
  EXPECT_EQ(top.Wait(), 0);
}

}  // namespace
}  // namespace baseband::testing
