// basebandctl: the command line of Baseband Offload.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "client/cpp/process_tuning.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/help_formatter.h"
#include "client/ctl/common/session.h"
#include "client/ctl/operate/health_flags.h"

namespace {

using baseband::ctl::Command;
using baseband::ctl::GlobalFlags;

constexpr char kFooter[] =
    "Exit codes: 0 done; 1 bad arguments or files; 2 cannot connect; 3 the server\n"
    "refused or failed; 4 done, and the result is negative (not serving, blocks\n"
    "that did not decode, frames without lock, a file that differs, a case that\n"
    "failed, a load over its limits); 130 interrupted by ^C.\n"
    "\n"
    "Examples:\n"
    "  basebandctl info\n"
    "  basebandctl demo photo.jpg --out=recovered.jpg\n"
    "  basebandctl recover symbols.cf32 --constellation=\"16APSK 3/4\"\n"
    "  basebandctl downconvert air.cs16 --rate 64M --channel 9.1M:8 -o out\n"
    "  basebandctl minimize \"(x-1)^2 + sin(9*x)\" --axis x=-5:0.001:5\n"
    "  basebandctl load decode --rate=2k --deadline=5ms --html=report.html\n"
    "  basebandctl --target=unix:/run/basebandd.sock health\n"
    "  basebandctl COMMAND --help";

void AddGlobalFlags(CLI::App* app, GlobalFlags* flags) {
  app->add_option("--target", flags->target,
                  "the server, HOST:PORT or unix:PATH; several: IP:PORT,IP:PORT or"
                  " dns:///NAME:PORT (127.0.0.1:50151; environment BASEBAND_TARGET)")
      ->envname("BASEBAND_TARGET")
      ->type_name("ADDRESS");
  app->add_option("--timeout", flags->timeout_s,
                  "for connecting and for each request, in seconds (60)")
      ->check(CLI::Range(0.001, 86400.0))
      ->type_name("SECONDS");
  app->add_flag("--wait", flags->wait, "wait for the server to come up, within --timeout");
  app->add_option("--connections", flags->connections,
                  "connections to the server (4); more than 64: load only")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app->add_option("--in-flight", flags->in_flight, "requests in flight at a time (8)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app->add_option("--priority", flags->priority,
                  "what the server does first: high, normal or low (normal)")
      ->check(CLI::IsMember({"high", "normal", "low"}))
      ->type_name("CLASS");
  app->add_flag("--tls", flags->tls, "speak TLS, trusting the system's authorities");
  const auto add_file = [app](const char* name, std::string* path, const char* help) {
    app->add_option(name, *path, help)->type_name("FILE");
  };
  add_file("--tls-ca", &flags->tls_ca, "speak TLS, trusting these authorities, PEM");
  add_file("--tls-cert", &flags->tls_cert, "this client's certificate, PEM");
  add_file("--tls-key", &flags->tls_key, "the certificate's private key, PEM");
  app->add_option("--tls-server-name", flags->tls_server_name,
                  "what the server's certificate is for, if not the target's host")
      ->type_name("NAME");
  add_file("--token-file", &flags->token_file,
           "the bearer token (environment BASEBAND_TOKEN: the token itself)");
  app->add_flag("--json", flags->json, "print one JSON object, for machines");
}

}  // namespace

int main(int argc, char** argv) {
  baseband::client::ApplyMallocTuning();
  CLI::App app("basebandctl talks to a Baseband Offload server, basebandd.", "basebandctl");
  app.formatter(std::make_shared<baseband::ctl::HelpFormatter>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  app.set_version_flag("--version", "basebandctl " BASEBAND_VERSION);
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();
  GlobalFlags flags;
  AddGlobalFlags(&app, &flags);

  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(baseband::ctl::MakeInfoCommand());
  commands.push_back(baseband::ctl::MakeHealthCommand());
  commands.push_back(baseband::ctl::MakeTopCommand());
  commands.push_back(baseband::ctl::MakeAdminCommand());
  commands.push_back(baseband::ctl::MakeEncodeCommand());
  commands.push_back(baseband::ctl::MakeDecodeCommand());
  commands.push_back(baseband::ctl::MakeDemoCommand());
  commands.push_back(baseband::ctl::MakeVerifyCommand());
  commands.push_back(baseband::ctl::MakeBerCommand());
  commands.push_back(baseband::ctl::MakeRecoverCommand());
  commands.push_back(baseband::ctl::MakeCarrierSignalCommand());
  commands.push_back(baseband::ctl::MakeCarrierBenchCommand());
  commands.push_back(baseband::ctl::MakeDownconvertCommand());
  commands.push_back(baseband::ctl::MakeWidebandSignalCommand());
  commands.push_back(baseband::ctl::MakeMinimizeCommand());
  commands.push_back(baseband::ctl::MakeMinimizeBenchCommand());
  commands.push_back(baseband::ctl::MakeLoadCommand());
  std::vector<CLI::App*> apps;
  for (const auto& command : commands) {
    apps.push_back(command->AddTo(&app));
    apps.back()->fallthrough();
    apps.back()->group("Commands");
  }

  try {
    app.parse(baseband::ctl::ToArguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error, std::cout, std::cerr);  // --help, --version
    }
    // CLI11 misses the command before it minds an unknown one.
    const std::vector<std::string> unknown = app.remaining();
    const bool no_command = app.get_subcommands().empty();
    std::cerr << "basebandctl: "
              << (no_command && !unknown.empty() ? "'" + unknown[0] + "' is not known here"
                  : no_command && error.get_name() == "RequiredError" ? "a command is needed"
                                                                      : error.what())
              << "\nbasebandctl --help and basebandctl COMMAND --help tell more.\n";
    return baseband::ctl::kBadArguments;
  }
  for (size_t i = 0; i < commands.size(); ++i) {
    if (apps[i]->parsed()) {
      return commands[i]->Run(flags);
    }
  }
  return baseband::ctl::kBadArguments;
}
