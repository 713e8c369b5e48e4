// The flags of grpc_health_probe, for probes that are written for it.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_HEALTH_FLAGS_H_
#define BASEBAND_CLIENT_CTL_OPERATE_HEALTH_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/time/time.h"
#include "client/ctl/common/session.h"

namespace baseband::ctl {

struct HealthFlags {
  std::string service;
  std::string address, tls_ca, tls_cert, tls_key;  // empty: the global flags'
  absl::Duration connect_timeout, rpc_timeout;     // zero: --timeout
};

void AddHealthFlags(CLI::App* app, HealthFlags* flags);

// The arguments behind the program's name. To `health` flags may also be written as
// grpc_health_probe has them, with one dash: -addr=127.0.0.1:50151; here they have two.
std::vector<std::string> ToArguments(int argc, const char* const* argv);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_HEALTH_FLAGS_H_
