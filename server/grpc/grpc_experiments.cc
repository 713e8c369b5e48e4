#include "server/grpc/grpc_experiments.h"

#include <grpcpp/version_info.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace baseband::server {

void ChooseGrpcExperiments() {
// With this one, from 1.72 on, ServerContext::peer() of a connection that gRPC was handed does not
// name its descriptor any more, by which UnixPeers knows who that is: nobody on a Unix socket would
// have a role.
#if GRPC_CPP_VERSION_MAJOR > 1 || GRPC_CPP_VERSION_MINOR >= 72
  constexpr char kVariable[] = "GRPC_EXPERIMENTS";
  constexpr char kChoice[] = "-event_engine_for_all_other_endpoints";  // the last one counts
  const char* const set = std::getenv(kVariable);
  const std::string all = set == nullptr ? kChoice : absl::StrCat(set, ",", kChoice);
  setenv(kVariable, all.c_str(), 1);
#endif
}

}  // namespace baseband::server
