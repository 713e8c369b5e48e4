// `admin`: looks after a server at its address for administration.
#include "absl/strings/str_format.h"
#include "client/cpp/admin_client.h"
#include "client/ctl/command.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

class AdminCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "admin",
        "Looks after a server; --target is its --admin_listen.\n"
        "config prints the settings that apply, log-level LEVEL sets what is logged, drain ends the"
        " server once what it has accepted is answered.");
    command->add_option("action", action_, "config, log-level or drain")
        ->required()
        ->check(CLI::IsMember({"config", "log-level", "drain"}))
        ->type_name("ACTION");
    command->add_option("level", level_, "of log-level: trace, debug, info, warning, error or off")
        ->type_name("LEVEL");
    command->footer(
        "Examples:\n"
        "  basebandctl --target=unix:/run/basebandd/admin.sock admin config\n"
        "  basebandctl --target=127.0.0.1:50152 admin log-level debug");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    if ((action_ == "log-level") == level_.empty()) {
      return FailArguments(
          absl::InvalidArgumentError("log-level takes a LEVEL, other actions take none"));
    }
    const auto options = ToClientOptions(flags);
    if (!options.ok()) {
      return FailConnect(options.status());
    }
    const auto client = client::AdminClient::Create(*options);
    if (!client.ok()) {
      return FailConnect(client.status());
    }
    const absl::Status status = Act(**client, flags);
    return status.ok() ? kOk : absl::IsUnavailable(status) ? FailConnect(status) : FailRpc(status);
  }

 private:
  absl::Status Act(client::AdminClient& client, const GlobalFlags& flags) const {
    const absl::Duration timeout = flags.call().timeout;
    if (action_ == "drain") {
      return client.Drain(timeout);
    }
    if (action_ == "log-level") {
      return client.SetLogLevel(level_, timeout);
    }
    const absl::StatusOr<std::string> config = client.GetConfig(timeout);
    if (config.ok() && flags.json) {
      absl::PrintF("%s\n", nlohmann::ordered_json{{"config", *config}}.dump());
    } else if (config.ok()) {
      absl::PrintF("%s", *config);
    }
    return config.status();
  }

  std::string action_;
  std::string level_;
};

}  // namespace

std::unique_ptr<Command> MakeAdminCommand() { return std::make_unique<AdminCommand>(); }

}  // namespace baseband::ctl
