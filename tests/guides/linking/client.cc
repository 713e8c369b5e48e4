// Asks a server for its version. Usage: my_client [TARGET]
#include "client/cpp/client.h"

#include <cstdio>

int main(int argc, char** argv) {
  baseband::client::ClientOptions options;
  if (argc > 1) options.target = argv[1];
  const auto client = baseband::client::Client::Create(options);
  if (!client.ok()) return 1;
  const auto server = (*client)->GetCapabilities();
  std::puts(server.ok() ? "it answers" : "it does not answer");
  return server.ok() ? 0 : 1;
}
