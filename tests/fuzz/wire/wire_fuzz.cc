// Strangers that say all kinds of things to a basebandd over HTTP/2, many at once, while somebody
// who may call is to be served rightly and in time, and the process is to stay as large as it was.
//
//   wire_fuzz --seconds=600 --seed=7
//   wire_fuzz --seed=7 --only=1234        plays one sequence, and says what it is
//   wire_fuzz --seed=7 --only=1200-1234
//
// Exit status 0: nothing was found.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"
#include "tests/fuzz/wire/header_block.h"
#include "tests/fuzz/wire/honest_client.h"
#include "tests/fuzz/wire/methods.h"
#include "tests/fuzz/wire/player.h"
#include "tests/fuzz/wire/script.h"
#include "tests/fuzz/wire/server_watch.h"
#include "tests/support/server_process.h"
#include "tests/support/test_files.h"

namespace baseband::testing {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kDefaultMib = 0;  // a sanitizer's own memory grows
#else
constexpr int kDefaultMib = 64;
#endif

struct Settings {
  double seconds = 60;
  double round_seconds = 60;
  uint64_t seed = 1;
  int connections = 8;
  std::string server;
  std::string only;
  double answer_within_s = 2;
  int memory_mib = kDefaultMib;
};

// What the server of this run may hold by what its flags say, and the calm one need not have
// touched yet: its pools, arenas and searches.
constexpr int64_t kDocumentedMib = 8 + 8 + 8 + 8 + 16;

// What was taken is given back within so long, and as long more as an answer may take.
constexpr double kRestSeconds = 28;

std::vector<std::string> ServersFlags(const std::string& tokens_file) {
  return {"--tokens-file=" + tokens_file,
          // Little memory of its own, and bounds that a few clients reach.
          "--max-request-mib=1", "--lane-input-mib=8", "--lane-output-mib=8", "--staging-mib=8",
          "--reply-mib=8", "--queue-mib=8", "--search-memory-mib=16", "--submit-mib=4",
          "--object-mib=8", "--client-object-mib=4", "--client-mib=8", "--client-streams=32",
          "--max-search=1s", "--max-connections=256", "--handshake=5s", "--keepalive=5s",
          "--stall=2s", "--drain=5s"};
}

// By `printf %s TOKEN | sha256sum`.
constexpr char kTokens[] =
    "honest user 9303e2fc823e08f32347d7f131121527b53c6f5609e448cfc30dca3e8323523f\n"
    "holder user a72ea0dfc9dc9a4886223def3631a95a89006a295c4c6c5cb848fc73514cdc90\n";

class WireFuzz {
 public:
  explicit WireFuzz(const Settings& settings)
      : settings_(settings), random_(settings.seed), methods_(AllMethods(random_)) {}

  int Run();

 private:
  bool StartServer();
  bool ReadOnly();
  // A round: attack, then rest. False: something was found.
  bool Attack(absl::Time end);
  bool Rest();
  bool Check(const std::string& fault);
  absl::Duration Patience() const;
  void PrintFigures();
  void PrintServersView() const;

  const Settings& settings_;
  Random random_;
  const std::vector<Method> methods_;
  const TemporaryFolder folder_;
  std::unique_ptr<ServerProcess> server_;
  HostStall stall_;
  std::unique_ptr<HonestClient> honest_;
  std::unique_ptr<ServerWatch> watch_;
  Player::Options play_;
  std::unique_ptr<Player> player_;
  absl::Time start_;
  absl::Time next_figures_;
  absl::Duration longest_answer_;
};

bool WireFuzz::StartServer() {
  const std::string tokens = folder_.path() + "/tokens";
  WriteAll(tokens, kTokens);
  auto started = ServerProcess::Start(ServersFlags(tokens));
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().ToString().c_str());
    return false;
  }
  server_ = *std::move(started);
  honest_ = std::make_unique<HonestClient>(server_->target(), server_->metrics_address(),
                                           [this] { return Patience(); });
  for (int i = 0; i < 20; ++i) {  // until whatever is made at first use is there
    if (const std::string fault = honest_->AskAll(); !fault.empty()) {
      std::fprintf(stderr, "before anything was played: %s\n", fault.c_str());
      return false;
    }
  }
  ServerWatch::Limits limits;
  // What each of the sequences that are played at a time may take, and all of them once they are
  // over.
  if (settings_.memory_mib > 0) {
    limits.more_bytes =
        (settings_.connections * settings_.memory_mib + kDocumentedMib) * int64_t{1 << 20};
    limits.more_bytes_at_rest = (settings_.memory_mib + kDocumentedMib) * int64_t{1 << 20};
  }
  limits.rest = absl::Seconds(kRestSeconds + settings_.answer_within_s);
  // The client's last new connection may not have been seen to end.
  server_->WaitForMetric("baseband_open_connections", {}, 1);
  watch_ = std::make_unique<ServerWatch>(server_.get(), limits);
  return true;
}

bool WireFuzz::ReadOnly() {
  play_.target = server_->target();
  play_.pages = server_->metrics_address();
  play_.seed = settings_.seed;
  play_.at_a_time = settings_.connections;
  if (settings_.only.empty()) return true;
  const std::vector<std::string> ends = absl::StrSplit(settings_.only, absl::MaxSplits('-', 1));
  if (!absl::SimpleAtoi(ends.front(), &play_.first) ||
      !absl::SimpleAtoi(ends.back(), &play_.last)) {
    std::fprintf(stderr, "--only %s is neither N nor N-M\n", settings_.only.c_str());
    return false;
  }
  if (play_.first == play_.last) {
    std::fputs(Describe(SequenceOf(play_.seed, play_.first, methods_)).c_str(), stdout);
  }
  return true;
}

absl::Duration WireFuzz::Patience() const {
  // A call is handed from thread to thread some ten times, and so is its answer.
  return absl::Seconds(settings_.answer_within_s) + 20 * stall_.Longest();
}

int WireFuzz::Run() {
  if (!StartServer() || !ReadOnly()) return 2;
  player_ = std::make_unique<Player>(play_, &methods_);
  start_ = SteadyNow();
  next_figures_ = start_ + absl::Seconds(10);
  const absl::Time end = start_ + absl::Seconds(settings_.seconds);
  while (SteadyNow() < end && !player_->IsDone()) {
    if (!Attack(end) || !Rest()) return 1;
  }
  PrintFigures();
  PrintServersView();
  const absl::optional<int> code = server_->Terminate();
  if (!Check(code == 0 ? "" : absl::StrCat("it ended with ", code.value_or(-1)))) return 1;
  std::printf(
      "nothing found with seed %d; the longest answer took %s, at most %.1f MiB more were "
      "resident\n",
      static_cast<int>(settings_.seed), absl::FormatDuration(longest_answer_).c_str(),
      static_cast<double>(watch_->most_more_bytes()) / (1 << 20));
  return 0;
}

bool WireFuzz::Attack(absl::Time end) {
  end = std::min(end, SteadyNow() + absl::Seconds(settings_.round_seconds));
  honest_->Start();
  player_->Start();
  bool is_well = true;
  while (is_well && SteadyNow() < end && !player_->IsDone()) {
    absl::SleepFor(absl::Milliseconds(20));
    is_well = Check(watch_->Look()) && Check(honest_->Fault());
    if (SteadyNow() > next_figures_) PrintFigures();
  }
  if (!is_well) server_->process().Signal(SIGKILL);  // nobody waits for it any more
  player_->Stop();
  honest_->Stop();
  return is_well && Check(watch_->Look()) && Check(honest_->Fault());
}

bool WireFuzz::Rest() {
  if (!Check(watch_->LookAtRest())) return false;
  std::printf("at rest: %.1f MiB resident\n",
              static_cast<double>(watch_->ResidentBytes()) / (1 << 20));
  return Check(honest_->AskAll());
}

bool WireFuzz::Check(const std::string& fault) {
  if (fault.empty()) return true;
  const std::string log = server_->process().Output();
  constexpr size_t kShown = 4000;
  std::printf("FOUND: %s\nwith --seed=%d --connections=%d, sequences %s\nthe end of its log:\n%s\n",
              fault.c_str(), static_cast<int>(settings_.seed), settings_.connections,
              player_->NumbersNow().c_str(),
              log.substr(log.size() > kShown ? log.size() - kShown : 0).c_str());
  return false;
}

void WireFuzz::PrintFigures() {
  next_figures_ = SteadyNow() + absl::Seconds(10);
  const Player::Figures& played = player_->figures();
  const absl::Duration longest = honest_->TakeLongest();
  longest_answer_ = std::max(longest_answer_, longest);
  std::printf(
      "%4.0f s: %d sequences, %d connections (%d ended by the server, %d stuck, %d not made), "
      "%.1f MiB said, %.1f heard; %d answers, the longest %.0f ms (host %.0f); resident %.1f MiB "
      "(most +%.1f), %d descriptors, %.1f s of CPU\n",
      absl::ToDoubleSeconds(SteadyNow() - start_), static_cast<int>(played.sequences),
      static_cast<int>(played.connections), static_cast<int>(played.ended),
      static_cast<int>(played.stuck), static_cast<int>(played.not_connected),
      static_cast<double>(played.sent_bytes) / (1 << 20),
      static_cast<double>(played.heard_bytes) / (1 << 20), static_cast<int>(honest_->answers()),
      absl::ToDoubleMilliseconds(longest), absl::ToDoubleMilliseconds(stall_.Longest()),
      static_cast<double>(watch_->ResidentBytes()) / (1 << 20),
      static_cast<double>(watch_->most_more_bytes()) / (1 << 20),
      static_cast<int>(CountDescriptors(server_->process().pid())),
      absl::ToDoubleSeconds(watch_->CpuTime()));
  std::fflush(stdout);
}

// How far what was played has come: calls by what they ended with.
void WireFuzz::PrintServersView() const {
  constexpr absl::string_view kRequests = "baseband_requests_total{code=\"";
  const std::string page = server_->MetricsPage();
  std::map<std::string, double> counts;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    double count = 0;
    if (!absl::StartsWith(line, kRequests) ||
        !absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &count)) {
      continue;
    }
    const absl::string_view code = line.substr(kRequests.size());
    counts[std::string(code.substr(0, code.find('"')))] += count;
  }
  std::string text;
  for (const auto& [code, count] : counts) absl::StrAppend(&text, " ", count, " ", code, ",");
  std::printf("calls:%s strangers ended: %.0f, log: %.1f KiB\n", text.c_str(),
              server_->Metric("baseband_strangers_ended_total"),
              static_cast<double>(server_->process().Output().size()) / 1024);
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Says all kinds of things to a basebandd over HTTP/2, and watches it.");
  app.option_defaults()->always_capture_default();
  app.add_option("--seconds", settings.seconds, "How long, at most");
  app.add_option("--round-seconds", settings.round_seconds,
                 "So often everything is left in peace, and must be given back");
  app.add_option("--seed", settings.seed, "What is played follows from it");
  app.add_option("--connections", settings.connections, "Sequences that are played at a time")
      ->check(CLI::Range(1, 64));
  app.add_option("--only", settings.only, "Play these sequences only: N, or N-M");
  app.add_option("--server", settings.server, "Another basebandd than that of this build")
      ->check(CLI::ExistingFile);
  app.add_option("--answer-within-s", settings.answer_within_s,
                 "How long an honest client may wait on a host that has nothing else to do");
  app.add_option("--memory-mib", settings.memory_mib,
                 "Resident memory beside what flags allow: for each attack, and at rest; 0: any");
  CLI11_PARSE(app, argc, argv);
  if (!settings.server.empty()) {
    const size_t name = settings.server.rfind('/') + 1;
    if (settings.server.substr(name) != "basebandd") {
      std::fprintf(stderr, "--server %s: it is to be called basebandd\n", settings.server.c_str());
      return 2;
    }
    setenv("BASEBAND_PROGRAMS", name == 0 ? "." : settings.server.substr(0, name).c_str(), 1);
  }
  return WireFuzz(settings).Run();
}

}  // namespace
}  // namespace baseband::testing

int main(int argc, char** argv) { return baseband::testing::Main(argc, argv); }
