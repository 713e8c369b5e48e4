#include "tests/support/fleet.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"

namespace baseband::testing {
namespace {

// The packages' own places; a test's PATH need not have sbin.
std::string Program(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return name;
}

// Runs `command` and waits for it; Unavailable with what it wrote if it fails.
absl::Status Run(const std::vector<std::string>& command) {
  ChildProcess child(Program(command[0]), {command.begin() + 1, command.end()});
  if (child.Wait(absl::Seconds(20)) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(absl::StrJoin(command, " "), ": ", child.Output()));
}

// The launcher of what shall run in the namespace of `keeper`.
std::vector<std::string> Inside(const ChildProcess& keeper) {
  return {Program("nsenter"), "--target", absl::StrCat(keeper.pid()), "--net"};
}

std::string NamespaceOf(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/ns/net"), error).string();
}

}  // namespace

absl::Status Fleet::MakeLink(int number, Host* host) {
  host->keeper = std::make_unique<ChildProcess>(
      Program("unshare"), std::vector<std::string>{"--net", Program("sleep"), "infinity"});
  const pid_t keeper = host->keeper->pid();
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (NamespaceOf(keeper) == NamespaceOf(getpid())) {
    if (!host->keeper->IsRunning() || absl::Now() > deadline) {
      return absl::UnavailableError(absl::StrCat("unshare: ", host->keeper->Output()));
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
  // Two addresses of a network of their own, by this process's number, for tests run side by side.
  const std::string network =
      absl::StrCat("10.", 100 + getpid() / 60 % 100, ".", 4 * (getpid() % 60) + number);
  host->link = absl::StrCat("bb", getpid(), "n", number);
  BASEBAND_RETURN_IF_ERROR(Run({"ip", "link", "add", host->link, "type", "veth", "peer", "name",
                                "eth0", "netns", absl::StrCat(keeper)}));
  BASEBAND_RETURN_IF_ERROR(Run({"ip", "addr", "add", network + ".1/30", "dev", host->link}));
  BASEBAND_RETURN_IF_ERROR(Run({"ip", "link", "set", host->link, "up"}));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"ip", "link", "set", "lo", "up"},
        {"ip", "addr", "add", network + ".2/30", "dev", "eth0"},
        {"ip", "link", "set", "eth0", "up"}}) {
    std::vector<std::string> inside = Inside(*host->keeper);
    inside.push_back(Program(command[0]));
    inside.insert(inside.end(), command.begin() + 1, command.end());
    BASEBAND_RETURN_IF_ERROR(Run(inside));
  }
  host->place = {Inside(*host->keeper), network + ".2:50151", network + ".2:9151"};
  return absl::OkStatus();
}

Fleet::Fleet(int servers, std::vector<std::string> flags)
    : flags_(std::move(flags)), hosts_(static_cast<size_t>(servers)) {
  has_links_ = true;
  for (int i = 0; i < servers && has_links_; ++i) {
    const absl::Status made = MakeLink(i, &hosts_[static_cast<size_t>(i)]);
    if (made.ok()) continue;
    std::printf("no network namespaces here, addresses of the loopback network instead: %s\n",
                std::string(made.message()).c_str());
    has_links_ = false;
  }
  for (int i = 0; i < servers && !has_links_; ++i) {
    Host& host = hosts_[static_cast<size_t>(i)];
    const std::string address = absl::StrCat("127.0.0.", i + 2, ":");
    host.keeper.reset();
    host.place = {{}, absl::StrCat(address, FreePort()), absl::StrCat(address, FreePort())};
  }
}

absl::Status Fleet::Start(int server) {
  Host& host = hosts_[static_cast<size_t>(server)];
  host.process.reset();
  std::vector<std::string> flags = flags_;
  if (has_links_) flags.push_back("--allow-plaintext-network");
  BASEBAND_ASSIGN_OR_RETURN(host.process, ServerProcess::StartAt(host.place, flags));
  return absl::OkStatus();
}

absl::Status Fleet::StartAll() {
  for (int i = 0; i < size(); ++i) BASEBAND_RETURN_IF_ERROR(Start(i));
  return absl::OkStatus();
}

std::string Fleet::target() const {
  return absl::StrJoin(hosts_, ",", [](std::string* out, const Host& host) {
    absl::StrAppend(out, host.place.target);
  });
}

absl::Status Fleet::SetLink(int server, bool up) {
  return Run({"ip", "link", "set", hosts_[static_cast<size_t>(server)].link, up ? "up" : "down"});
}

}  // namespace baseband::testing
