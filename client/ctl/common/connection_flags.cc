#include "client/ctl/common/connection_flags.h"

#include <string>

#include "client/ctl/common/options.h"

namespace baseband::ctl {

void AddConnectionFlags(CLI::App* app, GlobalFlags* flags) {
  app->add_option("--target", flags->target,
                  "the server, HOST:PORT or unix:PATH; several: IP:PORT,IP:PORT or"
                  " dns:///NAME:PORT (127.0.0.1:50151; environment BASEBAND_TARGET)")
      ->envname("BASEBAND_TARGET")
      ->type_name("ADDRESS");
  AddTime(app, "--timeout", &flags->timeout, {absl::Milliseconds(1), absl::Hours(24)},
          "for connecting and for each request (60s)");
  app->add_flag("--wait", flags->wait, "wait for the server to come up, within --timeout");
  AddNumber(app, "--connections", "N", &flags->connections, Between(1, 4096),
            "connections to the server; more than 64: load only (4)");
  AddNumber(app, "--in-flight", "N", &flags->in_flight, Between(1, 1024),
            "requests in flight at a time (8)");
  app->add_option("--priority", flags->priority,
                  "what the server does first: high, normal or low (normal)")
      ->check(OneOf({"high", "normal", "low"}))
      ->type_name("CLASS");
  app->add_flag("--shared-memory", flags->shared_memory,
                "bring payloads through memory that a server of this host shares (--shm-listen)");
  app->add_flag("--ring", flags->ring,
                "send requests through a ring in such memory, without a call each");
  app->add_flag("--tls", flags->tls, "speak TLS, trusting the system's authorities");
  const auto add_file = [app](const char* name, std::string* path, const char* help) {
    app->add_option(name, *path, help)->type_name("FILE");
  };
  add_file("--tls-ca", &flags->tls_ca, "speak TLS, trusting these authorities, PEM");
  add_file("--tls-cert", &flags->tls_cert, "this client's certificate, PEM");
  add_file("--tls-key", &flags->tls_key, "the certificate's private key, PEM");
  app->add_option("--tls-server-name", flags->tls_server_name,
                  "what the server's certificate is for, if not the target's host")
      ->type_name("NAME");
  add_file("--token-file", &flags->token_file,
           "the bearer token (environment BASEBAND_TOKEN: the token itself)");
}

}  // namespace baseband::ctl
