// A client with calls and streams of every kind in flight, for ever. Tests kill it.
#include <unistd.h>

#include <cstdio>

#include "client/cpp/client.h"
#include "tests/support/mixed_load.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "chaos_client TARGET\n");
    return 2;
  }
  using namespace baseband::testing;  // NOLINT
  const auto client = baseband::client::Client::Create(LoadOf(argv[1]).client);
  const auto mix = Mix::Learn(**client);
  if (!mix.ok()) {
    std::fprintf(stderr, "%s\n", mix.status().ToString().c_str());
    return 1;
  }
  RequestLog log;
  MixedLoad load(*mix, LoadOf(argv[1]), &log);
  std::puts("loaded");
  std::fflush(stdout);
  for (;;) pause();
}
