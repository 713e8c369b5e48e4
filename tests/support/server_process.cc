#include "tests/support/server_process.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/support/loopback.h"

namespace baseband::testing {
namespace {

// The environment without BASEBANDD_*; its strings are this process's own.
std::vector<char*> CleanEnvironment() {
  std::vector<char*> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!absl::StartsWith(*entry, "BASEBANDD_")) entries.push_back(*entry);
  }
  entries.push_back(nullptr);
  return entries;
}

bool IsServing(const std::string& target,
               const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // no backoff from the last try
  const auto stub =
      grpc::health::v1::Health::NewStub(grpc::CreateCustomChannel(target, credentials, arguments));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(2)));
  grpc::health::v1::HealthCheckResponse response;
  return stub->Check(&context, grpc::health::v1::HealthCheckRequest(), &response).ok() &&
         response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

std::string ProgramOf(const Place& place) {
  return place.launcher.empty() ? ProgramPath("basebandd") : place.launcher[0];
}

std::vector<std::string> ArgumentsOf(const Place& place, const std::string& program,
                                     const std::vector<std::string>& flags) {
  std::vector<std::string> arguments;
  if (!place.launcher.empty()) {
    arguments.assign(place.launcher.begin() + 1, place.launcher.end());
    arguments.push_back(program);
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

}  // namespace

int FreePort() {
  // Below those that the kernel gives to connections. A socket of the port's name is its lock until
  // this process ends, so that tests that run at the same time never get the same one: a name that
  // is no file, which the kernel forgets by itself, and which is the network namespace's like a
  // port.
  constexpr int kFirst = 10000;
  constexpr int kCount = 22000;
  static std::atomic<int> next{static_cast<int>(getpid() % kCount)};
  for (int tried = 0; tried < kCount; ++tried) {
    const int port = kFirst + next.fetch_add(1) % kCount;
    const int lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = absl::StrCat("baseband_port_", port);
    text.copy(name.sun_path + 1, text.size());
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(port);
    const bool is_free =
        bind(lock, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 &&
        bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    if (is_free) return port;  // `lock` stays open
    close(lock);
  }
  return 0;
}

std::string ProgramPath(const std::string& name) {
  if (const char* const folder = std::getenv("BASEBAND_PROGRAMS")) {
    return absl::StrCat(folder, "/", name);
  }
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0) {
    const std::string path = self;
    const std::string beside = path.substr(0, path.rfind('/') + 1) + name;
    if (access(beside.c_str(), X_OK) == 0) return beside;
  }
  const char* const folder = name == "basebandd"             ? BASEBAND_SERVER_FOLDER
                             : name == "basebandd-ldpc-tool" ? BASEBAND_LDPC_TOOL_FOLDER
                                                             : BASEBAND_CTL_FOLDER;
  return absl::StrCat(folder, "/", name);
}

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments) {
  output_path_ = "/tmp/baseband_child_XXXXXX";
  const int output = mkostemp(output_path_.data(), O_CLOEXEC);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> environment = CleanEnvironment();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {  // nothing here but what is safe in a child of a threaded process
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execve(program.c_str(), argv.data(), environment.data());
    _exit(127);
  }
  close(output);
}

ChildProcess::~ChildProcess() {
  if (IsRunning()) {
    Signal(SIGKILL);
    Wait(absl::Seconds(10));
  }
  std::remove(output_path_.c_str());
}

void ChildProcess::Signal(int signal) const {
  if (pid_ > 0 && !exit_code_.has_value()) kill(pid_, signal);
}

absl::optional<int> ChildProcess::Wait(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!exit_code_.has_value()) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (absl::Now() >= deadline) {
      break;
    } else {
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  return exit_code_;
}

std::string ChildProcess::Output() const {
  std::ostringstream text;
  text << std::ifstream(output_path_).rdbuf();
  return text.str();
}

std::string ChildProcess::OutputWith(const std::string& text) const {
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  for (;;) {
    std::string output = Output();
    if (absl::StrContains(output, text) || absl::Now() > deadline) return output;
    absl::SleepFor(absl::Milliseconds(20));
  }
}

ServerProcess::ServerProcess(Place place, const std::vector<std::string>& flags)
    : place_(std::move(place)),
      process_(ProgramOf(place_), ArgumentsOf(place_, ProgramPath("basebandd"), flags)) {}

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(
    std::vector<std::string> flags, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  const Place place = {
      {}, absl::StrCat("127.0.0.1:", FreePort()), absl::StrCat("127.0.0.1:", FreePort())};
  return StartAt(place, std::move(flags), credentials);
}

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::StartAt(
    const Place& place, std::vector<std::string> flags,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  // Small pools: a test machine runs several servers at a time.
  // The same tests run a server on a GPU with BASEBAND_TEST_DEVICE=cuda.
  const char* const device = std::getenv("BASEBAND_TEST_DEVICE");
  std::vector<std::string> all = {"--listen=" + place.target,
                                  "--metrics-listen=" + place.metrics_address};
  const auto add_default = [&](const std::string& name, const std::string& value) {
    for (const std::string& flag : flags) {
      if (absl::StartsWith(flag, "--" + name + "=")) return;
    }
    all.push_back(absl::StrCat("--", name, "=", value));
  };
  add_default("device", device != nullptr ? device : "cpu");
  add_default("cpu-threads", "2");
  add_default("log-level", "info");
  all.insert(all.end(), flags.begin(), flags.end());

  std::unique_ptr<ServerProcess> server(new ServerProcess(place, all));
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!IsServing(place.target, credentials)) {
    if (!server->process_.IsRunning() || absl::Now() > deadline) {
      return absl::InternalError(
          absl::StrCat("basebandd does not serve; it wrote:\n", server->process_.Output()));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  return server;
}

std::string ServerProcess::MetricsPage() const {
  return HttpGet(place_.metrics_address, "/metrics");
}

double ServerProcess::Metric(const std::string& name,
                             const std::vector<std::string>& labels) const {
  const std::string page = MetricsPage();
  double sum = 0;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::StartsWith(line, name)) continue;
    if (line.size() <= name.size() || (line[name.size()] != '{' && line[name.size()] != ' ')) {
      continue;
    }
    bool matches = true;
    for (const std::string& label : labels) matches &= absl::StrContains(line, label);
    double value = 0;
    if (matches && absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value)) sum += value;
  }
  return sum;
}

bool ServerProcess::WaitForMetric(const std::string& name, const std::vector<std::string>& labels,
                                  double value, absl::Duration timeout) const {
  const absl::Time deadline = absl::Now() + timeout;
  while (Metric(name, labels) != value) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
}

absl::optional<int> ServerProcess::Terminate(absl::Duration timeout) {
  process_.Signal(SIGTERM);
  return process_.Wait(timeout);
}

std::string HttpGet(const std::string& address, const std::string& path) {
  return HttpAsk(address, path).body;
}

HttpAnswer HttpAsk(const std::string& address, const std::string& path) {
  const int fd = ConnectTo(address);
  std::string reply;
  const std::string request = absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: test\r\n\r\n");
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    char buffer[16384];
    for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
      reply.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  HttpAnswer answer;
  const size_t body = reply.find("\r\n\r\n");
  const size_t blank = reply.find(' ');  // HTTP/1.1 200 OK
  if (body != std::string::npos && absl::SimpleAtoi(reply.substr(blank + 1, 3), &answer.status)) {
    answer.body = reply.substr(body + 4);
  }
  return answer;
}

}  // namespace baseband::testing
