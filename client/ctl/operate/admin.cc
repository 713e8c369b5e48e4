// `admin`: looks after a server at its address for administration.
#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cpp/admin_client.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/connect_errors.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/operate/flight_trace.h"
#include "client/ctl/operate/quarantine_table.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr char kWhere[] = "--target must be the server's --admin-listen.";

// What follows each action; empty: nothing.
const std::map<std::string, std::string>& Actions() {
  static const auto& actions = *new std::map<std::string, std::string>{
      {"config", ""},      {"log-level", "a LEVEL"}, {"drain", ""},        {"records", ""},
      {"trace", "a FILE"}, {"quarantine", ""},       {"inject", "a FAULT"}};
  return actions;
}

const std::map<std::string, v1::InjectFaultRequest::Kind>& Faults() {
  static const auto& faults = *new std::map<std::string, v1::InjectFaultRequest::Kind>{
      {"stall", v1::InjectFaultRequest::STALL},
      {"fail", v1::InjectFaultRequest::FAIL},
      {"corrupt", v1::InjectFaultRequest::CORRUPT},
      {"no-memory", v1::InjectFaultRequest::NO_MEMORY},
      {"lose", v1::InjectFaultRequest::LOSE},
      {"device-fault", v1::InjectFaultRequest::DEVICE_FAULT}};
  return faults;
}

template <typename Value>
std::vector<std::string> NamesOf(const std::map<std::string, Value>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

class AdminCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "admin",
        "Looks after a server; --target is its --admin-listen.\n"
        "config prints the settings that apply, log-level LEVEL sets what is logged, drain ends the"
        " server once what it has accepted is answered. records shows the last requests that failed"
        " for a reason of the server's, missed their deadline or were slow, with the time of each"
        " stage; trace FILE writes them for ui.perfetto.dev. quarantine shows which kinds of "
        "request"
        " are refused for a while, for one of each ran on a device when that faulted; with --lift"
        " they may come again. inject FAULT makes something go wrong, with a server that runs with"
        " --allow-fault-injection.");
    command
        ->add_option("action", action_,
                     "config, log-level, drain, records, trace, quarantine or inject")
        ->required()
        ->check(OneOf(NamesOf(Actions())))
        ->type_name("ACTION");
    command
        ->add_option("argument", argument_,
                     "of log-level: trace, debug, info, warning, error or off; of trace: a file, -"
                     " for standard output; of inject: stall, fail, corrupt, no-memory, lose or"
                     " device-fault")
        ->type_name("LEVEL|FILE|FAULT");
    AddNumber(command, "--count", "N", &count_, Between(1, 1000),
              "of inject: the next so many batches, replies (corrupt) or allocations (no-memory)");
    AddTime(command, "--stall", &stall_, {absl::Milliseconds(1), absl::Minutes(10)},
            "of inject stall: for how long, to the millisecond");
    command->add_option("--device", device_, "of inject: cpu, cuda:0, ..; the only one concerned")
        ->type_name("ID");
    command->add_option("--lift", lift_, "of quarantine: a fingerprint, or all")->type_name("ID");
    command->footer(
        "Examples:\n"
        "  basebandctl --target=unix:/run/basebandd/admin.sock admin config\n"
        "  basebandctl --target=127.0.0.1:50152 admin log-level debug\n"
        "  basebandctl --target=127.0.0.1:50152 admin trace slow.json\n"
        "  basebandctl --target=127.0.0.1:50152 admin inject stall --stall=20s\n"
        "  basebandctl --target=127.0.0.1:50152 admin quarantine --lift=all\n"
        "  basebandctl --target=127.0.0.1:50152 admin inject lose --device=cuda:0");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    const std::string& wanted = Actions().at(action_);
    if (wanted.empty() != argument_.empty()) {
      return FailArguments(absl::InvalidArgumentError(
          absl::StrFormat("%s takes %s", action_, wanted.empty() ? "no argument" : wanted)));
    }
    if (const absl::Status fault = CheckFault(); !fault.ok()) {
      return FailArguments(fault);
    }
    if (action_ != "quarantine" && !lift_.empty()) {
      return FailArguments(absl::InvalidArgumentError("--lift is of quarantine"));
    }
    if (action_ == "inject" && Faults().count(argument_) == 0) {
      return FailArguments(
          absl::InvalidArgumentError(NotOneOf("FAULT", argument_, NamesOf(Faults()))));
    }
    trace_ = outputs_.Open(action_, action_ == "trace" ? argument_ : "");
    if (!outputs_.status().ok()) {
      return FailArguments(outputs_.status());
    }
    const auto options = ToClientOptions(flags);
    if (!options.ok()) {
      return FailConnect(options.status());
    }
    const auto client = client::AdminClient::Create(*options);
    if (!client.ok()) {
      return FailConnect(client.status());
    }
    if (action_ == "quarantine" && lift_.empty()) return ShowQuarantine(**client, flags);
    return action_ == "records" || action_ == "trace" ? Show(**client, flags)
                                                      : ExitCodeOf(Act(**client, flags), flags);
  }

 private:
  // Whether the flags go with the fault, in the flags' own names.
  absl::Status CheckFault() const {
    if (action_ != "inject" && (count_ != 0 || !device_.empty())) {
      return absl::InvalidArgumentError("--count and --device are of inject");
    }
    const bool stalls = action_ == "inject" && argument_ == "stall";
    const bool loses = action_ == "inject" && argument_ == "lose";
    if (stalls && stall_ == absl::ZeroDuration()) {
      return absl::InvalidArgumentError("inject stall takes --stall=TIME");
    }
    if (!stalls && stall_ != absl::ZeroDuration()) {
      return absl::InvalidArgumentError("--stall is of inject stall");
    }
    if (loses && device_.empty()) {
      return absl::InvalidArgumentError("inject lose takes --device=ID");
    }
    if (loses && count_ != 0) {
      return absl::InvalidArgumentError("--count is not of inject lose");
    }
    if (argument_ == "no-memory" && !device_.empty()) {
      return absl::InvalidArgumentError("--device is not of inject no-memory");
    }
    return absl::OkStatus();
  }

  static int ExitCodeOf(const absl::Status& status, const GlobalFlags& flags) {
    if (absl::IsUnavailable(status)) {
      return FailConnect(CannotConnect(flags, status.message(), kWhere));
    }
    if (absl::IsUnimplemented(status)) {
      return FailRpc(absl::UnimplementedError(absl::StrCat(status.message(), "\n", kWhere)));
    }
    return status.ok() ? kOk : FailRpc(status);
  }

  absl::Status Act(client::AdminClient& client, const GlobalFlags& flags) const {
    const absl::Duration timeout = flags.call().timeout;
    if (action_ == "drain") {
      return client.Drain(timeout);
    }
    if (action_ == "log-level") {
      return client.SetLogLevel(argument_, timeout);
    }
    if (action_ == "inject") {
      v1::InjectFaultRequest request;
      request.set_kind(Faults().at(argument_));
      request.set_count(count_);
      request.set_stall_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(stall_)));
      request.set_device(device_);
      return client.InjectFault(request, timeout);
    }
    if (action_ == "quarantine") {
      v1::LiftQuarantineRequest request;
      request.set_all(lift_ == "all");
      if (!request.all()) request.set_fingerprint(lift_);
      const absl::StatusOr<uint32_t> lifted = client.LiftQuarantine(request, timeout);
      if (lifted.ok()) absl::PrintF("%d lifted\n", *lifted);
      return lifted.status();
    }
    const absl::StatusOr<std::string> config = client.GetConfig(timeout);
    if (config.ok() && flags.json) {
      absl::PrintF("%s\n", nlohmann::ordered_json{{"config", *config}}.dump());
    } else if (config.ok()) {
      absl::PrintF("%s", *config);
    }
    return config.status();
  }

  int Show(client::AdminClient& client, const GlobalFlags& flags) {
    const auto records = client.GetFlightRecords(flags.call().timeout);
    if (!records.ok()) {
      return ExitCodeOf(records.status(), flags);
    }
    if (trace_ != nullptr) {
      trace_->Write(ToTrace(*records));
      const absl::Status written = outputs_.Commit();
      return written.ok() ? kOk : FailArguments(written);
    }
    return Print(*records, ToTable(*records), flags);
  }

  static int ShowQuarantine(client::AdminClient& client, const GlobalFlags& flags) {
    const auto quarantine = client.GetQuarantine(flags.call().timeout);
    if (!quarantine.ok()) {
      return ExitCodeOf(quarantine.status(), flags);
    }
    return Print(*quarantine, ToTable(*quarantine, absl::Now()), flags);
  }

  // `text`, or the message itself as JSON.
  static int Print(const google::protobuf::Message& message, std::string text,
                   const GlobalFlags& flags) {
    if (flags.json) {
      text.clear();
      if (!google::protobuf::util::MessageToJsonString(message, &text).ok()) {
        return Fail(absl::InternalError("the answer has no JSON form"), kRpcFailed);
      }
      text += "\n";
    }
    absl::PrintF("%s", text);
    return kOk;
  }

  std::string action_;
  std::string argument_;
  uint32_t count_ = 0;
  absl::Duration stall_;
  std::string device_;
  Outputs outputs_;
  OutputFile* trace_ = nullptr;
  std::string lift_;
};

}  // namespace

std::unique_ptr<Command> MakeAdminCommand() { return std::make_unique<AdminCommand>(); }

}  // namespace baseband::ctl
