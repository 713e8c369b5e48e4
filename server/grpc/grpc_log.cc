#include "server/grpc/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/steady_time.h"
#include "server/config/log_limit.h"

namespace baseband::server {
namespace {

void Log(gpr_log_func_args* args) {
  static auto& limit = *new LogLimit;  // never destroyed: gRPC's threads may outlive main()
  const absl::optional<int64_t> suppressed = limit.Pass(SteadyNow());
  if (!suppressed.has_value()) return;
  const absl::string_view path = args->file;
  const spdlog::level::level_enum level =
      args->severity == GPR_LOG_SEVERITY_ERROR  ? spdlog::level::warn
      : args->severity == GPR_LOG_SEVERITY_INFO ? spdlog::level::info
                                                : spdlog::level::debug;
  spdlog::log(level, "gRPC: {} ({}:{}){}", args->message,
              std::string(path.substr(path.rfind('/') + 1)), args->line,
              *suppressed > 0 ? absl::StrCat(" (and ", *suppressed, " more)") : "");
}

// Protobuf complains of what clients send; they are told themselves.
void IgnoreProtobuf(google::protobuf::LogLevel, const char*, int, const std::string&) {}

}  // namespace

void RouteGrpcLog() {
  gpr_set_log_function(&Log);
  google::protobuf::SetLogHandler(&IgnoreProtobuf);
}

}  // namespace baseband::server
