// A gRPC server in the test's process that hands each call on to another one, and may change what
// comes back.
#ifndef BASEBAND_TESTS_SUPPORT_RELAY_H_
#define BASEBAND_TESTS_SUPPORT_RELAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/grpcpp.h"

namespace baseband::testing {

// Of calls with one request and one reply.
class Relay {
 public:
  // `change` gets the name of the method ("Decode"), how many replies of it came before, and the
  // bytes of this one. It runs on gRPC's threads, one at a time.
  using Change = std::function<void(const std::string& method, int64_t index, std::string* reply)>;

  Relay(const std::string& target, Change change);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Where clients connect to.
  const std::string& target() const { return target_; }

 private:
  class Service;

  const std::unique_ptr<Service> service_;
  std::string target_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_RELAY_H_
