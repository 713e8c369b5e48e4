#include "client/gnuradio/lib/connect.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "absl/strings/ascii.h"

namespace gr::baseband_offload {
namespace {

std::string Contents(const std::string& field, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) {
    throw std::invalid_argument(field + " '" + path + "' cannot be read");
  }
  return text;
}

}  // namespace

void CheckRange(const std::string& name, double value, double low, double high) {
  if (value >= low && value <= high) return;  // a NaN is not
  std::ostringstream text;
  text << name << " " << value << " is not in [" << low << ", " << high << "]";
  throw std::invalid_argument(text.str());
}

const char* ToString(failure_policy policy) {
  return policy == failure_policy::drop ? "drop" : "push_back";
}

PipelineLimits LimitsOf(const connection& server) {
  PipelineLimits limits;
  limits.in_flight = server.in_flight;
  limits.timeout = absl::Seconds(server.timeout_s);
  limits.hold = server.on_failure == failure_policy::push_back;
  return limits;
}

std::unique_ptr<Client> Connect(const connection& server) {
  CheckRange("in_flight", server.in_flight, 1, 256);
  CheckRange("request_kib", server.request_kib, 1, 32768);
  CheckRange("timeout_s", server.timeout_s, 0.001, 3600);
  ::baseband::client::ClientOptions options;
  options.target = server.target;
  options.connections = std::min(server.in_flight, 4);
  // What is dropped is to be dropped soon; what is held is sent again by the pipeline.
  options.max_attempts = 2;
  if (!server.ca_file.empty()) {
    options.tls.emplace();
    if (server.ca_file != "system") options.tls->ca = Contents("ca_file", server.ca_file);
    if (!server.cert_file.empty()) options.tls->cert = Contents("cert_file", server.cert_file);
    if (!server.key_file.empty()) options.tls->key = Contents("key_file", server.key_file);
    options.tls->server_name = server.server_name;
  } else if (!server.cert_file.empty() || !server.key_file.empty() || !server.server_name.empty()) {
    throw std::invalid_argument("cert_file, key_file and server_name need a ca_file");
  }
  if (!server.token_file.empty()) {
    options.token = Contents("token_file", server.token_file);
    absl::StripTrailingAsciiWhitespace(&options.token);
  }
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  if (!client.ok()) throw std::invalid_argument(std::string(client.status().message()));
  return *std::move(client);
}

void connection::check() const { Connect(*this); }

}  // namespace gr::baseband_offload
