#include "server/metrics/metrics_server.h"

#include <civetweb.h>
#include <zlib.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"

namespace baseband::server {
namespace {

// A connection that says nothing holds a thread, and is closed after so long.
constexpr char kThreads[] = "8";
constexpr char kPatienceMs[] = "3000";

constexpr int kGzipWindow = 15 + 16;  // the largest, with gzip's header
constexpr int kGzipMemory = 8;        // zlib's default

constexpr char kOk[] = "200 OK";
constexpr char kText[] = "Content-Type: text/plain; charset=utf-8\r\n";
constexpr char kMetricsText[] = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n";

absl::string_view Header(const mg_connection* connection, const char* name) {
  const char* const value = mg_get_header(connection, name);
  return value == nullptr ? "" : value;
}

// `headers`: lines with their ends.
void Answer(mg_connection* connection, const char* status, absl::string_view headers,
            absl::string_view body) {
  const std::string head =
      absl::StrCat("HTTP/1.1 ", status, "\r\n", headers, "Content-Length: ", body.size(),
                   "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  const bool wants_body = mg_get_request_info(connection)->request_method != std::string("HEAD");
  if (wants_body) mg_write(connection, body.data(), body.size());
}

// False, and answered, if it is neither GET nor HEAD.
bool IsRead(mg_connection* connection) {
  const std::string method = mg_get_request_info(connection)->request_method;
  if (method == "GET" || method == "HEAD") return true;
  Answer(connection, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", "");
  return false;
}

absl::optional<std::string> PasswordOf(const mg_connection* connection) {
  absl::string_view credentials = Header(connection, "Authorization");
  std::string pair;
  if (!absl::ConsumePrefix(&credentials, "Basic ") || !absl::Base64Unescape(credentials, &pair)) {
    return absl::nullopt;
  }
  const size_t colon = pair.find(':');
  if (colon == std::string::npos) return absl::nullopt;
  return pair.substr(colon + 1);
}

// Empty if zlib has no memory for it.
std::string Gzip(absl::string_view text) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kGzipMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(whole ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

MetricsServer::MetricsServer(const Metrics& metrics, Admit admit, Probes probes)
    : metrics_(metrics), admit_(std::move(admit)), probes_(std::move(probes)) {}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address,
                                                                    const Metrics& metrics,
                                                                    Admit admit, Probes probes) {
  std::unique_ptr<MetricsServer> self(
      new MetricsServer(metrics, std::move(admit), std::move(probes)));
  const char* options[] = {"listening_ports",    address.c_str(), "num_threads", kThreads,
                           "request_timeout_ms", kPatienceMs,     nullptr};
  char text[256] = "";
  mg_init_data init = {};
  init.user_data = self.get();
  init.configuration_options = options;
  mg_error_data error = {};
  error.text = text;
  error.text_buffer_size = sizeof(text);
  self->context_ = mg_start2(&init, &error);
  if (self->context_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("metrics_listen ", address, " cannot be had: ", text));
  }
  mg_set_request_handler(
      self->context_, "/metrics",
      +[](mg_connection* connection, void* server) {
        static_cast<const MetricsServer*>(server)->ServeMetrics(connection);
        return 1;
      },
      self.get());
  const auto add_probe = [&](const char* path, const Probe& probe) {
    mg_set_request_handler(
        self->context_, path,
        +[](mg_connection* connection, void* asked) {
          ServeProbe(connection, *static_cast<const Probe*>(asked));
          return 1;
        },
        const_cast<Probe*>(&probe));
  };
  add_probe("/livez", self->probes_.live);
  add_probe("/readyz", self->probes_.ready);
  return self;
}

MetricsServer::~MetricsServer() {
  if (context_ != nullptr) mg_stop(context_);
}

int MetricsServer::port() const {
  mg_server_port port = {};
  return mg_get_server_ports(context_, 1, &port) == 1 ? port.port : 0;
}

void MetricsServer::ServeMetrics(mg_connection* connection) const {
  if (!IsRead(connection)) return;
  if (admit_ != nullptr) {
    const absl::optional<std::string> password = PasswordOf(connection);
    if (!password.has_value() || !admit_(*password)) {
      Answer(connection, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"basebandd\"\r\n", "");
      return;
    }
  }
  const std::string page = metrics_.Render();
  const bool takes_gzip = absl::StrContains(Header(connection, "Accept-Encoding"), "gzip");
  const std::string packed = takes_gzip ? Gzip(page) : "";
  if (packed.empty()) {
    Answer(connection, kOk, kMetricsText, page);
  } else {
    Answer(connection, kOk, absl::StrCat(kMetricsText, "Content-Encoding: gzip\r\n"), packed);
  }
}

void MetricsServer::ServeProbe(mg_connection* connection, const Probe& probe) {
  if (!IsRead(connection)) return;
  const std::string why_not = probe == nullptr ? "" : probe();
  if (why_not.empty()) {
    Answer(connection, kOk, kText, "ok\n");
  } else {
    Answer(connection, "503 Service Unavailable", kText, why_not + "\n");
  }
}

}  // namespace baseband::server
