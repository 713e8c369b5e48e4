// `top`: servers at work, from their metrics pages.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/options.h"
#include "client/ctl/operate/live_screen.h"
#include "client/ctl/operate/top_model.h"
#include "client/ctl/operate/top_poller.h"
#include "client/ctl/operate/top_text.h"
#include "client/load/http_get.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

constexpr char kDefaultUrl[] = "http://127.0.0.1:9151/metrics";
// How long a server may take to answer: longer than a busy one takes, and no longer than a person
// wants to wait for the program's end.
constexpr absl::Duration kPatience = absl::Seconds(2);

class TopCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "top",
        "Shows what servers do, from their metrics pages, again and again.\n"
        "On a terminal in place: q or ^C ends, up and down select a server, Esc all. Else a frame"
        " after the other.");
    command
        ->add_option("--metrics", urls_,
                     absl::StrCat("a server's metrics page; repeatable (", kDefaultUrl, ")"))
        ->type_name("URL");
    AddTime(command, "--interval", &interval_, {absl::Milliseconds(100), absl::Hours(1)},
            "from frame to frame (1s)");
    command->add_flag("--once", once_, "one frame, after one interval");
    command
        ->add_option("--metrics-token-file", token_file_,
                     "a token of role metrics, for pages that want one; sent in clear text")
        ->type_name("FILE");
    command->footer(
        "With --json a frame is one line, an object. With --once the exit code is 2 if no\n"
        "server could be reached.\n"
        "\n"
        "Examples:\n"
        "  basebandctl top\n"
        "  basebandctl top --metrics=http://gpu1:9151/metrics --metrics=http://gpu2:9151/metrics\n"
        "  basebandctl top --once --json | jq .total.requests_per_s");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    if (urls_.empty()) {
      urls_.push_back(kDefaultUrl);
    }
    std::string token;
    if (!token_file_.empty()) {
      absl::StatusOr<std::string> read = ReadText(token_file_, kMaxSecretBytes);
      if (!read.ok()) {
        return FailArguments(read.status());
      }
      token = std::string(absl::StripAsciiWhitespace(*read));
    }
    for (const std::string& url : urls_) {
      if (const absl::Status status = load::CheckUrl(url); !status.ok()) {
        return FailArguments(status);
      }
    }
    return !once_ && !flags.json && LiveScreen::IsPossible() ? ShowLive(token)
                                                             : Print(token, flags.json);
  }

 private:
  TopView View(int columns, int selected) const {
    TopView view;
    view.columns = columns;
    view.selected = selected;
    view.interval = interval_;
    view.now = absl::Now();
    view.steady = SteadyNow();
    return view;
  }

  // Frames one after the other, each once all servers have answered or had the time to.
  int Print(const std::string& token, bool json) {
    constexpr int kColumns = 160;
    TopModel model(urls_);
    TopPoller poller(urls_, kPatience, token);
    absl::Time next = SteadyNow();
    for (bool first = true;; first = false) {
      next = std::max(next + interval_, SteadyNow());
      poller.Ask();
      poller.WaitUntilIdle();
      model.Add(poller.Last());
      if (!first) {  // which has no rates
        std::string text;
        if (json) {
          text = ToJson(model, absl::Now()).dump() + "\n";
        } else {
          for (const Line& line : ToLines(model, View(kColumns, -1))) {
            absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line.text), "\n");
          }
          absl::StrAppend(&text, once_ ? "" : "\n");
        }
        if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
          return kBadArguments;  // whoever read has gone
        }
        if (once_) {
          break;
        }
      }
      absl::SleepFor(next - SteadyNow());
    }
    const std::vector<Sample> last = poller.Last();
    const bool any = std::any_of(last.begin(), last.end(),
                                 [](const Sample& sample) { return !sample.page.empty(); });
    return any ? kOk : kCannotConnect;
  }

  int ShowLive(const std::string& token) {
    auto screen = std::make_unique<LiveScreen>();
    TopModel model(urls_);
    TopPoller poller(urls_, kPatience, token);
    const int last = static_cast<int>(urls_.size()) - 1;
    int selected = -1;
    const auto draw = [&] {
      const ScreenSize size = screen->size();
      std::vector<Line> lines = ToLines(model, View(size.columns, selected));
      lines.resize(static_cast<size_t>(std::max(size.rows - 1, 1)));
      lines.push_back(
          {" q ends   up, down: requests of one server   Esc: of all", LineStyle::kFaint});
      screen->Draw(lines);
    };
    // A look, then the wait for the next one. A server that takes its time is shown as it was.
    bool waits_for_looks = false;
    for (absl::Time next = SteadyNow();;) {
      if (SteadyNow() >= next) {
        poller.Ask();
        waits_for_looks = true;
        next = std::max(next + interval_, SteadyNow());
      }
      switch (screen->Wait(next, waits_for_looks ? poller.idle_fd() : -1)) {
        case ScreenEvent::kTime:
        case ScreenEvent::kReady:
          waits_for_looks = false;
          model.Add(poller.Last());
          break;
        case ScreenEvent::kQuit:
          screen.reset();
          return kOk;
        case ScreenEvent::kUp:
          selected = selected < 0 ? last : selected - 1;
          break;
        case ScreenEvent::kDown:
          selected = selected == last ? -1 : selected + 1;
          break;
        case ScreenEvent::kEscape:
          selected = -1;
          break;
        case ScreenEvent::kResize:
          break;
      }
      draw();
    }
  }

  std::vector<std::string> urls_;
  absl::Duration interval_ = absl::Seconds(1);
  bool once_ = false;
  std::string token_file_;
};

}  // namespace

std::unique_ptr<Command> MakeTopCommand() { return std::make_unique<TopCommand>(); }

}  // namespace baseband::ctl
