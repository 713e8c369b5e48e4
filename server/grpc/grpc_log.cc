#include "server/grpc/grpc_log.h"

#include <grpcpp/version_info.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "kernels/base/steady_time.h"
#include "server/config/log_limit.h"

// From 1.66 on gRPC logs through Abseil, as protobuf does from 22 on; before, both have a log of
// their own, and Abseil has none.
#if GRPC_CPP_VERSION_MAJOR > 1 || GRPC_CPP_VERSION_MINOR >= 66
#define BASEBAND_GRPC_LOGS_BY_ABSEIL 1
#include "absl/log/globals.h"
#include "absl/log/initialize.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#include "absl/strings/match.h"
#else
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#endif

namespace baseband::server {
namespace {

// gRPC quotes what clients send, header by header, however long.
constexpr size_t kMaxMessage = 1024;

void Log(spdlog::level::level_enum level, absl::string_view message, absl::string_view path,
         int line) {
  static auto& limit = *new LogLimit;  // never destroyed: gRPC's threads may outlive main()
  const absl::optional<int64_t> suppressed = limit.Pass(SteadyNow());
  if (!suppressed.has_value()) return;
  spdlog::log(level, "gRPC: {} ({}:{}){}", std::string(message.substr(0, kMaxMessage)),
              std::string(path.substr(path.rfind('/') + 1)), line,
              *suppressed > 0 ? absl::StrCat(" (and ", *suppressed, " more)") : "");
}

#if BASEBAND_GRPC_LOGS_BY_ABSEIL

class Sink final : public absl::LogSink {
 public:
  void Send(const absl::LogEntry& entry) override {
    // Protobuf complains of what clients send; they are told themselves.
    if (absl::StrContains(entry.source_filename(), "google/protobuf/")) return;
    const spdlog::level::level_enum level = entry.log_severity() >= absl::LogSeverity::kWarning
                                                ? spdlog::level::warn
                                            : entry.verbosity() < 0 ? spdlog::level::info
                                                                    : spdlog::level::debug;
    Log(level, entry.text_message(), entry.source_filename(), entry.source_line());
  }
};

#else

void LogGrpc(gpr_log_func_args* args) {
  Log(args->severity == GPR_LOG_SEVERITY_ERROR  ? spdlog::level::warn
      : args->severity == GPR_LOG_SEVERITY_INFO ? spdlog::level::info
                                                : spdlog::level::debug,
      args->message, args->file, args->line);
}

// Protobuf complains of what clients send; they are told themselves.
void IgnoreProtobuf(google::protobuf::LogLevel, const char*, int, const std::string&) {}

#endif

}  // namespace

void RouteGrpcLog() {
#if BASEBAND_GRPC_LOGS_BY_ABSEIL
  absl::InitializeLog();  // before, everything goes to standard error as well
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kFatal);
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kError);  // GRPC_VERBOSITY's default until then
  absl::AddLogSink(new Sink);                              // never destroyed, as above
#else
  gpr_set_log_function(&LogGrpc);
  google::protobuf::SetLogHandler(&IgnoreProtobuf);
#endif
}

}  // namespace baseband::server
