// Large Encodes and Decodes, one at a time: whole against over all connections, in turns of one
// run.
//
//   stripe_bench [TARGET [SECONDS]]
//
// Each answer is compared with the right one.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/process_tuning.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/must.h"

namespace baseband::bench {
namespace {

using client::Client;

v1::LdpcCode Code(uint32_t parity_rows) {
  v1::LdpcCode code;
  code.mutable_nr()->set_base_graph(1);
  code.mutable_nr()->set_zc(384);
  code.set_parity_rows(parity_rows);
  return code;
}

// `blocks` zero words as received without noise: 9216 LLRs each.
v1::DecodeRequest Decodes(int blocks) {
  v1::DecodeRequest request;
  *request.add_groups()->mutable_code() = Code(4);
  request.mutable_groups(0)->set_count(static_cast<uint32_t>(blocks));
  request.set_payload(std::string(static_cast<size_t>(blocks) * 9216, '\x20'));
  return request;
}

// 1056 bytes each.
v1::EncodeRequest Encodes(int blocks) {
  v1::EncodeRequest request;
  *request.add_groups()->mutable_code() = Code(4);
  request.mutable_groups(0)->set_count(static_cast<uint32_t>(blocks));
  request.set_payload(std::string(static_cast<size_t>(blocks) * 1056, '\x5a'));
  return request;
}

absl::StatusOr<std::string> Answer(Client& client, v1::DecodeRequest request) {
  auto answer = client.Decode(std::move(request));
  if (!answer.ok()) return answer.status();
  return std::move(*answer->mutable_payload());
}
absl::StatusOr<std::string> Answer(Client& client, v1::EncodeRequest request) {
  auto answer = client.Encode(std::move(request));
  if (!answer.ok()) return answer.status();
  return std::move(*answer->mutable_payload());
}

std::unique_ptr<Client> ClientOf(const std::string& target, int stripe_from_bytes) {
  client::ClientOptions options;
  options.target = target;
  options.stripe_from_bytes = stripe_from_bytes;
  auto client = Must(Client::Create(options));
  Must(client->Connect(absl::Seconds(10)));
  return client;
}

template <typename Request>
void Measure(const std::string& target, const char* name, const Request& request,
             absl::Duration duration) {
  constexpr int kTurns = 10;
  const std::array<std::unique_ptr<Client>, 2> clients = {
      ClientOf(target, 0), ClientOf(target, client::ClientOptions().stripe_from_bytes)};
  const std::string expected = Must(Answer(*clients[0], request));
  std::array<std::vector<double>, 2> us;
  for (int turn = 0; turn < 2 * kTurns; ++turn) {
    const size_t which = static_cast<size_t>(turn % 2);
    for (const absl::Time end = SteadyNow() + duration / kTurns; SteadyNow() < end;) {
      Request sent = request;
      const absl::Time begin = SteadyNow();
      const std::string answer = Must(Answer(*clients[which], std::move(sent)));
      us[which].push_back(absl::ToDoubleMicroseconds(SteadyNow() - begin));
      if (answer != expected) Fail("an answer is wrong");
    }
  }
  std::printf("%-7s %9zu", name, request.payload().size());
  for (auto& times : us) {
    std::sort(times.begin(), times.end());
    std::printf("  %7.0f %7.0f", times[times.size() / 2], times[times.size() * 99 / 100]);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using namespace baseband::bench;  // NOLINT
  baseband::client::ApplyMallocTuning();
  const std::string target = argc > 1 ? argv[1] : "127.0.0.1:50151";
  const absl::Duration duration = absl::Seconds(argc > 2 ? std::atof(argv[2]) : 3);
  std::printf("us, p50 and p99: whole; over all connections\n");
  for (const int blocks : {1000, 4000}) {
    Measure(target, "Encode", Encodes(blocks), duration);
  }
  for (const int blocks : {150, 600, 2400}) Measure(target, "Decode", Decodes(blocks), duration);
  return 0;
}
