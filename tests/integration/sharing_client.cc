// A client that brings everything through shared memory, for ever, and goes on when the server
// refuses it some. Tests kill it.
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "tests/support/traffic.h"

namespace {

using namespace baseband::testing;  // NOLINT
using baseband::client::Buffer;
using baseband::client::CallOptions;
using baseband::client::Client;
using baseband::client::SubmitOptions;

// By a callback, in place, and too late.
void Run(Client& client, unsigned seed) {
  std::mt19937 random(seed);
  auto stream = client.OpenSubmitStream();
  for (;;) {
    const baseband::v1::EncodeRequest encode = RandomEncode(&random);
    const auto words = client.Encode(encode);
    if (!words.ok()) continue;
    (void)(*stream)->Submit(encode, SubmitOptions(), [](auto) {});
    baseband::v1::DecodeRequest decode = DecodeOf(encode, *words);
    CallOptions hurried;
    hurried.timeout = absl::Microseconds(1 + random() % 2000);
    (void)client.Decode(decode, hurried);
    Buffer in = client.Loan(static_cast<int64_t>(decode.payload().size()));
    Buffer out = client.Loan(static_cast<int64_t>(encode.payload().size()) + 64);
    std::copy(decode.payload().begin(), decode.payload().end(), in.data());
    baseband::client::SetPayload(in, in.size(), &decode);
    baseband::client::SetReply(out, &decode);
    if (!client.Decode(decode, hurried).ok()) {
      in.Abandon();
      out.Abandon();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "sharing_client TARGET\n");
    return 2;
  }
  baseband::client::ClientOptions options;
  options.target = argv[1];
  const auto client = Client::Create(options);
  for (;;) {
    const absl::Status status = (*client)->ShareMemory(CallOptions(), 1);
    if (status.ok()) break;
    absl::SleepFor(absl::Milliseconds(10));
  }
  std::puts("sharing");
  std::fflush(stdout);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) threads.emplace_back([&, i] { Run(**client, i); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}
