// `health`: the standard gRPC health check, with the exit codes of grpc_health_probe.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/operate/health_flags.h"
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
    AddHealthFlags(command, &health_);
    command->footer(
        "Examples:\n"
        "  basebandctl health --timeout=1s\n"
        "  basebandctl health --service=baseband.v1.Baseband --wait\n"
        "  basebandctl health -addr=127.0.0.1:50151 -connect-timeout=250ms -rpc-timeout=1s");
    return command;
  }

  int Run(const GlobalFlags& global) override {
    GlobalFlags flags = global;
    flags.connections = 1;
    for (const auto& [own, shared] :
         {std::pair(&health_.address, &flags.target), std::pair(&health_.tls_ca, &flags.tls_ca),
          std::pair(&health_.tls_cert, &flags.tls_cert),
          std::pair(&health_.tls_key, &flags.tls_key)}) {
      if (!own->empty()) *shared = *own;
    }
    if (health_.connect_timeout > absl::ZeroDuration()) {
      flags.timeout = health_.connect_timeout;
    }
    const auto client = Connect(flags);
    if (!client.ok()) {
      return FailConnect(client.status());
    }
    client::CallOptions call = global.call();
    if (health_.rpc_timeout > absl::ZeroDuration()) {
      call.timeout = health_.rpc_timeout;
    }
    const absl::StatusOr<client::Health> health = (*client)->CheckHealth(health_.service, call);
    if (!health.ok()) {
      return FailRpc(
          absl::IsNotFound(health.status())
              ? absl::NotFoundError(absl::StrCat("service '", health_.service, "' is unknown"))
              : health.status());
    }
    const bool serving = *health == client::Health::kServing;
    if (flags.json) {
      nlohmann::ordered_json json;
      json["service"] = health_.service;
      json["status"] = Name(*health);
      absl::PrintF("%s\n", json.dump());
    } else {
      absl::PrintF("%s\n", serving ? Good(Name(*health)) : Bad(Name(*health)));
    }
    return serving ? kOk : kNegativeResult;
  }

 private:
  HealthFlags health_;
};

}  // namespace

std::unique_ptr<Command> MakeHealthCommand() { return std::make_unique<HealthCommand>(); }

}  // namespace baseband::ctl
