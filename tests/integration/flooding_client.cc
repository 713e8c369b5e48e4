// A client that sends large Decode requests for ever. Tests kill it in the middle of one.
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/support/traffic.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "flooding_client TARGET\n");
    return 2;
  }
  using namespace baseband::testing;                                               // NOLINT
  const baseband::v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), 600);  // 15 MB
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const auto stub = Connect(argv[1]);
      for (;;) {
        baseband::v1::DecodeResponse response;
        Call(*stub, request, &response);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
