// The calls that service_bench sends over and over, and how their answers are checked.
#ifndef BASEBAND_TESTS_BENCH_WORKLOADS_H_
#define BASEBAND_TESTS_BENCH_WORKLOADS_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "tests/bench/must.h"

namespace baseband::bench {

// Sorts `values`, at least one.
double Percentile(std::vector<double>& values, double p);

// A connection of its own.
std::shared_ptr<grpc::Channel> Connect(const std::string& target);

// Blocking calls on one connection.
class Caller {
 public:
  explicit Caller(const std::string& target) : stub_(Connect(target)) {}
  // Microseconds it took. Ends the program when the call fails.
  double Call(const std::string& method, const grpc::ByteBuffer& request, grpc::ByteBuffer* reply);

 private:
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
};

struct Workload {
  std::string name;
  std::string method;
  std::string echo_method;  // what to call at an EchoServer in its place
  grpc::ByteBuffer request;
  int64_t request_bytes = 0;
  int64_t reply_bytes = 0;
  int64_t units = 0;  // information bits, symbols, input samples or points in a call
  std::string unit;   // "Gb/s", "Gsym/s", "Gsps" or "Gpt/s"
  std::function<bool(const grpc::ByteBuffer& reply)> is_right;
  std::function<v1::Timing(const grpc::ByteBuffer& reply)> timing;
};

// The workloads of the coding RPCs with `blocks` code blocks a call, and of RecoverCarrier with
// `frames` frames of 64800 bits of four constellations in turn, estimates only and with the
// corrected symbols, and of Downconvert with `samples` complex int16 samples, at least 64, for one
// and for eight channels, and of Minimize with `points` points of Schwefel's function. The right
// answers come from the service itself once, and are held against each other and against what was
// sent; those of Minimize are computed here.
std::vector<Workload> MakeWorkloads(const std::string& target, int blocks, int frames,
                                    int64_t samples, int64_t points);
// Schwefel's function as an expression on -500 .. 500, float64.
v1::MinimizeRequest SchwefelSearch(int64_t points);
// That search. As Minimize sends one response without progress, it is called as a unary RPC is.
Workload MinimizeWorkload(Caller& caller, int64_t points);
// Of MakeWorkloads, Encode alone.
Workload EncodeWorkload(Caller& caller, int blocks);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_WORKLOADS_H_
