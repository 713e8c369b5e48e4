#include "client/ctl/operate/health_flags.h"

#include <algorithm>

#include "client/ctl/common/options.h"

namespace baseband::ctl {

void AddHealthFlags(CLI::App* app, HealthFlags* flags) {
  app->add_option("--service", flags->service, "a service's name (empty: the whole server)")
      ->type_name("NAME");
  const char* group = "As grpc_health_probe has them, also with one dash";
  app->add_option("--addr", flags->address, "as --target")->type_name("ADDRESS")->group(group);
  const TimeRange times = {absl::Milliseconds(1), absl::Hours(24)};
  AddTime(app, "--connect-timeout", &flags->connect_timeout, times, "for connecting (--timeout)")
      ->group(group);
  AddTime(app, "--rpc-timeout", &flags->rpc_timeout, times, "for the call (--timeout)")
      ->group(group);
  const auto add_file = [&](const char* name, std::string* path, const char* help) {
    app->add_option(name, *path, help)->type_name("FILE")->group(group);
  };
  add_file("--tls-ca-cert", &flags->tls_ca, "as --tls-ca");
  add_file("--tls-client-cert", &flags->tls_cert, "as --tls-cert");
  add_file("--tls-client-key", &flags->tls_key, "as --tls-key");
}

std::vector<std::string> ToArguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::find(arguments.begin(), arguments.end(), "health") != arguments.end()) {
    for (std::string& argument : arguments) {
      if (argument.size() > 2 && argument[0] == '-' && argument[1] != '-') argument.insert(0, "-");
    }
  }
  return arguments;
}

}  // namespace baseband::ctl
