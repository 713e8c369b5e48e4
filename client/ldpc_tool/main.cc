// basebandd-ldpc-tool: LDPC frames through a pipe, as leandvb's --ldpc-helper has them.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "client/cpp/code_shape.h"
#include "client/cpp/process_tuning.h"
#include "client/ctl/common/connection_flags.h"
#include "client/ctl/common/flag_names.h"
#include "client/ctl/common/help_formatter.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/session.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ldpc_tool/frame_pipe.h"

namespace baseband::ldpc_tool {
namespace {

constexpr char kDescription[] =
    "Decodes LDPC frames by a Baseband Offload server: frames of signed bytes, LLRs of which"
    " positive means 0, on standard input; the corrected frames on standard output, in order."
    " The pipe and the first flags are those of leandvb's --ldpc-helper.";

constexpr char kFooter[] =
    "A frame whose parity checks do not hold is written as it was decided. Exit codes:\n"
    "0 all that was read is written; 1 bad arguments, input that ended within a frame,\n"
    "output that was closed; 2 cannot connect; 3 the server refused it, or failed.\n"
    "\n"
    "Examples:\n"
    "  basebandd-ldpc-tool --wifi=1/2 --n=1944 -v < llr.bin > corrected.bin\n"
    "  basebandd-ldpc-tool --nr-bg=1 --zc=384 --rows=46 --trials=20 --batch-size=16\n"
    "  basebandd-ldpc-tool --target=10.0.0.7:50151 --wait --wimax=3/4A";

struct Flags {
  // Of ldpc_tool.
  absl::optional<int> modcod;
  std::string standard;
  bool shortframes = false;
  int64_t batch_frames = 32;

  ctl::CodeFlags code;
  ctl::DecodeFlags decode;
  ctl::GlobalFlags connection;
  bool verbose = false;
};

void AddFlags(CLI::App* app, Flags* flags) {
  const char* const helper = "Of leandvb's --ldpc-helper";
  ctl::AddNumber(app, "--trials", "N", &flags->decode.iterations, ctl::Between(1, 100),
                 "most iterations per frame, another name of --iterations (10)")
      ->group(helper);
  ctl::AddNumber(app, "--batch-size", "N", &flags->batch_frames, ctl::Between(1, 4096),
                 "most frames of a request, as far as the server takes so many (32)")
      ->group(helper);
  ctl::AddNumber(app, "--modcod", "N", &flags->modcod, ctl::Between(0, 31),
                 "a code of DVB-S2: not served yet")
      ->group(helper);
  app->add_option("--standard", flags->standard, "DVB-S2: not served yet")
      ->type_name("NAME")
      ->group(helper);
  app->add_flag("--shortframes", flags->shortframes, "of DVB-S2: not served yet")->group(helper);
  ctl::AddCodeFlags(app, &flags->code);
  ctl::AddNumber(app, "--llr-count", "N", &flags->decode.llr_count, ctl::Between(1, 1 << 20),
                 "LLRs per frame, of the first bits that are sent (all)")
      ->group("Decoder");
  ctl::AddDecodeFlags(app, &flags->decode);
  ctl::AddConnectionFlags(app, &flags->connection);
  app->add_flag("--verbose,-v", flags->verbose,
                "tell at the end, on standard error, what was decoded, and how fast");
}

// What is said of the codes of DVB-S2 while no server has them.
absl::Status RefuseDvb(const Flags& flags) {
  if (!flags.modcod.has_value() && flags.standard.empty() && !flags.shortframes) {
    return absl::OkStatus();
  }
  const std::string asked =
      absl::StrCat(flags.standard.empty() ? "" : " --standard=" + flags.standard,
                   flags.modcod.has_value() ? absl::StrCat(" --modcod=", *flags.modcod) : "",
                   flags.shortframes ? " --shortframes" : "");
  return absl::InvalidArgumentError(absl::StrCat(
      "the codes of DVB-S2 are not served yet, and", asked, " asks for one. Served are\n",
      "  5G NR                   --nr-bg=1 --zc=384 --rows=46\n"
      "  WiMAX, 802.16e          --wimax=1/2 --n=2304\n"
      "  WiFi, 802.11n           --wifi=1/2 --n=1944\n"
      "  a matrix of your own    --matrix=FILE --zc=81\n"
      "Give one of these in place of --modcod, --standard and --shortframes."));
}

absl::StatusOr<v1::DecodeGroup> ToGroup(const Flags& flags) {
  if (absl::Status refused = RefuseDvb(flags); !refused.ok()) {
    return refused;
  }
  absl::StatusOr<v1::LdpcCode> code = ctl::ToLdpcCode(flags.code);
  absl::StatusOr<v1::DecodeGroup> group = ctl::ToDecodeGroup(flags.decode);
  if (!code.ok() || !group.ok()) {
    return code.ok() ? group.status() : code.status();
  }
  if (const int sent = client::ShapeOf(*code)->sent(); flags.decode.llr_count > sent) {
    return absl::InvalidArgumentError(
        absl::StrCat("--llr-count ", flags.decode.llr_count, " is not in [1, ", sent, "]"));
  }
  *group->mutable_code() = *std::move(code);
  group->set_n_filler(static_cast<uint32_t>(flags.code.filler));
  return group;
}

void Tell(const v1::DecodeGroup& group, const FramePipeTotals& totals) {
  const auto frames = static_cast<double>(totals.written);
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(totals.wall));
  const double information = client::ShapeOf(group.code())->k() - group.n_filler();
  absl::FPrintF(stderr,
                "%s of %s in %s: %d failed, %.2f iterations on average, %s, %s of information\n",
                ctl::Plural(totals.written, "frame"), ctl::Describe(group.code()),
                ctl::Plural(totals.requests, "request"), totals.failed,
                static_cast<double>(totals.iterations) / std::max(1.0, frames),
                ctl::HumanDuration(totals.wall), ctl::HumanRate(frames * information / seconds));
}

int Finish(const FramePipeEnd& end, const FramePipeTotals& totals) {
  const std::string came =
      absl::StrCat(ctl::Plural(totals.read, "frame"), " read, ", totals.written, " written");
  if (!end.server.ok()) {
    const int code = ctl::FailRpc(end.server);
    absl::FPrintF(stderr, "%s: %s\n", ctl::ProgramName(), came);
    return code;
  }
  return end.pipes.ok() ? ctl::kOk
                        : ctl::FailArguments(absl::InvalidArgumentError(
                              absl::StrCat(end.pipes.message(), "; ", came)));
}

int Run(const Flags& flags) {
  const absl::StatusOr<v1::DecodeGroup> group = ToGroup(flags);
  if (!group.ok()) {
    return ctl::FailArguments(group.status());
  }
  const ctl::Session session(flags.connection);
  if (session.exit_code() != ctl::kOk) {
    return session.exit_code();
  }
  client::CallOptions call = flags.connection.call();
  FramePipeOptions options;
  options.group = *group;
  options.in_flight = flags.connection.in_flight;
  options.patience = flags.connection.wait ? call.timeout : absl::ZeroDuration();
  const int64_t frame_bytes =
      group->llr_count() != 0 ? group->llr_count() : client::ShapeOf(group->code())->sent();
  const ctl::RequestLimits limits = session.limits();
  options.batch_frames = std::max<int64_t>(
      1, std::min({flags.batch_frames, limits.bytes / frame_bytes, limits.blocks}));
  FramePipe pipe(options, [&](v1::DecodeRequest request, Batches::Done done) {
    session.client()->Decode(std::move(request), call, std::move(done));
  });
  const FramePipeEnd end = pipe.Run();
  if (flags.verbose) {
    Tell(*group, pipe.totals());
  }
  return Finish(end, pipe.totals());
}

// What was closed when the program began is by now gRPC's, which makes an eventfd as it is loaded.
absl::Status CheckPipes() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    struct stat status = {};
    if (fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) == 0) {  // of no kind of file
      return absl::InvalidArgumentError(
          absl::StrCat("standard ", fd == STDIN_FILENO ? "input" : "output", " is closed"));
    }
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const absl::Status pipes = CheckPipes();
  CLI::App app(kDescription, "basebandd-ldpc-tool");
  app.formatter(std::make_shared<ctl::HelpFormatter>());
  app.set_version_flag("--version", "basebandd-ldpc-tool " BASEBAND_VERSION);
  app.footer(kFooter);
  Flags flags;
  AddFlags(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error, std::cout, std::cerr);  // --help, --version
    }
    const std::string flag = ctl::UnknownFlag(app);
    std::cerr << app.get_name() << ": " << (flag.empty() ? error.what() : flag) << "\n"
              << app.get_name() << " --help tells more.\n";
    return ctl::kBadArguments;
  }
  ctl::NoteCommand(&app);
  signal(SIGPIPE, SIG_IGN);  // a write says so
  return pipes.ok() ? Run(flags) : ctl::FailArguments(pipes);
}

}  // namespace
}  // namespace baseband::ldpc_tool

int main(int argc, char** argv) {
  baseband::client::ApplyMallocTuning();
  baseband::client::LockWithoutChecks();
  baseband::client::QuietGrpcLog();
  return baseband::ldpc_tool::Main(argc, argv);
}
