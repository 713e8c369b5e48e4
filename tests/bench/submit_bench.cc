// Small Encodes on one connection: unary calls against one Submit stream, in one run.
//
//   submit_bench --target=127.0.0.1:50151 [--seconds=3] [--blocks=1]
//
// The client library sends both, with one thread that takes answers; each answer is compared with
// the right one and followed by the next request. In turns of a tenth of the time each, so that
// whatever disturbs the machine disturbs both. CPU is the client's, for one request.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/blocking_counter.h"
#include "client/cpp/client.h"
#include "client/cpp/process_tuning.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/must.h"

namespace baseband::bench {
namespace {

using client::Client;
using Done = std::function<void(absl::StatusOr<v1::EncodeResponse>)>;
using Send = std::function<void(Done)>;

constexpr int kTurns = 10;

struct Figures {
  std::vector<double> us;  // of each request
  double seconds = 0;
  double cpu_seconds = 0;
};

// Keeps `in_flight` requests on their way for `duration`. All callbacks run on one thread.
void Measure(const Send& send, int in_flight, absl::Duration duration, const std::string& expected,
             Figures* figures) {
  const double cpu = CpuSeconds();
  const absl::Time begin = SteadyNow();
  const absl::Time end = begin + duration;
  absl::BlockingCounter running(in_flight);
  std::function<void()> next = [&] {
    send([&, sent = SteadyNow()](const absl::StatusOr<v1::EncodeResponse>& response) {
      if (!response.ok()) Fail(response.status().ToString());
      if (response->payload() != expected) Fail("an answer is wrong");
      const absl::Time now = SteadyNow();
      figures->us.push_back(absl::ToDoubleMicroseconds(now - sent));
      now < end ? next() : static_cast<void>(running.DecrementCount());
    });
  };
  for (int i = 0; i < in_flight; ++i) next();
  running.Wait();
  figures->seconds += absl::ToDoubleSeconds(SteadyNow() - begin);
  figures->cpu_seconds += CpuSeconds() - cpu;
}

void Print(const char* name, int in_flight, Figures& figures) {
  std::sort(figures.us.begin(), figures.us.end());
  const auto count = static_cast<double>(figures.us.size());
  const auto quantile = [&](double q) { return figures.us[static_cast<size_t>(q * (count - 1))]; };
  std::printf("%-8s %9d %12.0f %9.0f %9.0f %12.1f\n", name, in_flight, count / figures.seconds,
              quantile(0.5), quantile(0.99), 1e6 * figures.cpu_seconds / count);
}

void Run(const std::string& target, double seconds, int blocks) {
  client::ClientOptions options;
  options.target = target;
  options.connections = 1;
  options.polling_threads = 1;
  const std::unique_ptr<Client> client = Must(Client::Create(options));
  v1::EncodeRequest request;
  v1::EncodeGroup& group = *request.add_groups();
  group.mutable_code()->mutable_nr()->set_base_graph(2);
  group.mutable_code()->mutable_nr()->set_zc(64);
  group.set_count(static_cast<uint32_t>(blocks));
  request.set_payload(std::string(static_cast<size_t>(80 * blocks), '\x5a'));
  const std::string expected = Must(client->Encode(request)).payload();
  const auto stream = Must(client->OpenSubmitStream());

  const Send unary = [&](Done done) {
    client->Encode(request, client::CallOptions(), std::move(done));
  };
  const Send streamed = [&](Done done) {
    Must(stream->Submit(request, client::SubmitOptions(), std::move(done)));
  };
  std::printf("%-8s %9s %12s %9s %9s %12s\n", "", "in flight", "requests/s", "p50 us", "p99 us",
              "CPU us each");
  for (const int in_flight : {1, 8, 64}) {
    Figures of_unary;
    Figures of_stream;
    for (int turn = 0; turn < kTurns; ++turn) {
      const absl::Duration duration = absl::Seconds(seconds) / kTurns;
      Measure(unary, in_flight, duration, expected, &of_unary);
      Measure(streamed, in_flight, duration, expected, &of_stream);
    }
    Print("unary", in_flight, of_unary);
    Print("stream", in_flight, of_stream);
  }
  Must(stream->Finish());
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using baseband::bench::Fail;
  baseband::client::LockWithoutChecks();
  std::string target = "127.0.0.1:50151";
  double seconds = 3;
  int blocks = 1;
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    if (absl::ConsumePrefix(&text, "--target=")) {
      target = std::string(text);
    } else if (!(absl::ConsumePrefix(&text, "--seconds=") && absl::SimpleAtod(text, &seconds)) &&
               !(absl::ConsumePrefix(&text, "--blocks=") && absl::SimpleAtoi(text, &blocks))) {
      Fail(std::string("unknown argument ") + argv[i] + "; see the head of submit_bench.cc");
    }
  }
  baseband::bench::Run(target, seconds, blocks);
  return 0;
}
