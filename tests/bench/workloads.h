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

namespace baseband::bench {

[[noreturn]] void Fail(const std::string& message);

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
  int64_t units = 0;  // information bits, symbols or input samples in a call
  std::string unit;   // "Gb/s", "Gsym/s" or "Gsps"
  std::function<bool(const grpc::ByteBuffer& reply)> is_right;
  std::function<v1::Timing(const grpc::ByteBuffer& reply)> timing;
};

// The workloads of the coding RPCs with `blocks` code blocks a call, and of RecoverCarrier with
// `frames` frames of 64800 bits of four constellations in turn, estimates only and with the
// corrected symbols, and of Downconvert with `samples` complex int16 samples, at least 64, for one
// and for eight channels. The right answers come from the service itself once, and are held against
// each other and against what was sent.
std::vector<Workload> MakeWorkloads(const std::string& target, int blocks, int frames,
                                    int64_t samples);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_WORKLOADS_H_
