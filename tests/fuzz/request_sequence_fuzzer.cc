// Any bytes as a sequence of requests of several clients for one server, which is gone after it:
// request_sequence.h says what has to hold. What is left when all calls have ended is what the
// caches hold, and without the server nearly nothing.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/fuzz/meter.h"
#include "tests/fuzz/request_sequence.h"

namespace baseband::server {
namespace {

constexpr int kMostSteps = 24;
// All caches together (64 MiB of codes and of filters, 16 of constellations, 256 of models and of
// unfinished designs), and the server itself.
constexpr int64_t kOfServer = int64_t{664} << 20;
// Codes of the standards, workspaces of this thread, series of metrics: all that there may be.
constexpr int64_t kOfProcess = int64_t{96} << 20;

void Expect(int64_t bytes, int64_t most, const char* what) {
  if (bytes <= most) return;
  std::fprintf(stderr, "%lld bytes are left %s, more than %lld\n", static_cast<long long>(bytes),
               what, static_cast<long long>(most));
  std::abort();
}

void Try(const uint8_t* data, size_t size) {
  static int64_t of_process = 0;
  const int64_t before = testing::live_bytes;
  {
    FuzzedDataProvider bytes(data, size);
    RequestSequence sequence(&bytes);
    sequence.Run(kMostSteps);
    Expect(testing::live_bytes - before, kOfServer, "when all calls have ended");
  }
  of_process += testing::live_bytes - before;
  Expect(of_process, kOfProcess, "of all servers so far");
}

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  baseband::testing::InstallMeter();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::server::Try(data, size);
  return 0;
}
