// Calls that a server is done with in microseconds, so that what is around them shows.
#ifndef BASEBAND_TESTS_BENCH_SMALL_CALLS_H_
#define BASEBAND_TESTS_BENCH_SMALL_CALLS_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

namespace baseband::bench {

struct SmallCall {
  std::string name;
  std::string method;
  grpc::ByteBuffer request;
  bool is_refused = false;
};

// By operation; those that are refused are so for another reason each.
std::vector<SmallCall> SmallCalls();

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_SMALL_CALLS_H_
