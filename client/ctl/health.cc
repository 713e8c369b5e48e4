// `health`: the standard gRPC health check, with the exit codes of grpc_health_probe.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/command.h"
#include "client/ctl/terminal.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

const char* Name(client::Health health) {
  switch (health) {
    case client::Health::kServing:
      return "SERVING";
    case client::Health::kNotServing:
      return "NOT_SERVING";
    default:
      return "UNKNOWN";
  }
}

class HealthCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "health",
        "Asks whether the server serves; the exit code answers.\n"
        "0 it does, 1 bad arguments, 2 cannot connect, 3 the call failed (also for an unknown"
        " service), 4 it does not: those of grpc_health_probe.");
    command->add_option("--service", service_, "a service's name (empty: the whole server)")
        ->type_name("NAME");
    command->footer(
        "Examples:\n"
        "  basebandctl health --timeout=1\n"
        "  basebandctl health --service=baseband.v1.Baseband --wait");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    const auto client = Connect(flags);
    if (!client.ok()) {
      return FailConnect(client.status());
    }
    const absl::StatusOr<client::Health> health = (*client)->CheckHealth(service_, flags.call());
    if (!health.ok()) {
      return FailRpc(absl::IsNotFound(health.status())
                         ? absl::NotFoundError(absl::StrCat("service '", service_, "' is unknown"))
                         : health.status());
    }
    const bool serving = *health == client::Health::kServing;
    if (flags.json) {
      nlohmann::ordered_json json;
      json["service"] = service_;
      json["status"] = Name(*health);
      absl::PrintF("%s\n", json.dump());
    } else {
      absl::PrintF("%s\n", serving ? Good(Name(*health)) : Bad(Name(*health)));
    }
    return serving ? kOk : kNegativeResult;
  }

 private:
  std::string service_;
};

}  // namespace

std::unique_ptr<Command> MakeHealthCommand() { return std::make_unique<HealthCommand>(); }

}  // namespace baseband::ctl
