// The real server with its administration, to inject faults by.
#ifndef BASEBAND_TESTS_SUPPORT_ADMINISTERED_SERVER_H_
#define BASEBAND_TESTS_SUPPORT_ADMINISTERED_SERVER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/admin_client.h"
#include "kernels/base/status_macros.h"
#include "tests/support/server_process.h"

namespace baseband::testing {

struct AdministeredServer {
  std::unique_ptr<ServerProcess> server;
  std::unique_ptr<client::AdminClient> admin;
};

// As ServerProcess::Start.
inline absl::StatusOr<AdministeredServer> StartAdministered(std::vector<std::string> flags) {
  client::ClientOptions options;
  options.target = absl::StrCat("127.0.0.1:", FreePort());
  flags.push_back("--admin-listen=" + options.target);
  AdministeredServer started;
  BASEBAND_ASSIGN_OR_RETURN(started.server, ServerProcess::Start(std::move(flags)));
  BASEBAND_ASSIGN_OR_RETURN(started.admin, client::AdminClient::Create(options));
  return started;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_ADMINISTERED_SERVER_H_
