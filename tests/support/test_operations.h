// The server's operations, for tests that make jobs without a server.
#ifndef BASEBAND_TESTS_SUPPORT_TEST_OPERATIONS_H_
#define BASEBAND_TESTS_SUPPORT_TEST_OPERATIONS_H_

#include "absl/strings/string_view.h"
#include "server/operations/operations.h"

namespace baseband::server {

inline OperationTable& TestOperations() {
  static auto& operations = *new OperationTable(MakeOperations());
  return operations;
}

// By its name: "Decode".
inline Operation& TestOperation(absl::string_view name) { return *TestOperations().Find(name); }

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_SUPPORT_TEST_OPERATIONS_H_
