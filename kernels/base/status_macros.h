// Early return for absl::Status and absl::StatusOr. Packaged Abseil 20220623 has no such macros.
#ifndef BASEBAND_KERNELS_BASE_STATUS_MACROS_H_
#define BASEBAND_KERNELS_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Evaluates `expr`, an absl::Status, and returns it from the enclosing function unless it is OK.
#define BASEBAND_RETURN_IF_ERROR(expr)                                  \
  do {                                                                  \
    if (absl::Status baseband_status = (expr); !baseband_status.ok()) { \
      return baseband_status;                                           \
    }                                                                   \
  } while (false)

// Evaluates `expr`, an absl::StatusOr, once: returns its status unless it is OK, else moves its
// value into `lhs`, which may declare a variable.
#define BASEBAND_ASSIGN_OR_RETURN(lhs, expr) \
  BASEBAND_ASSIGN_OR_RETURN_(BASEBAND_CONCAT_(baseband_statusor_, __LINE__), lhs, expr)

#define BASEBAND_CONCAT_(a, b) BASEBAND_CONCAT_INNER_(a, b)
#define BASEBAND_CONCAT_INNER_(a, b) a##b
#define BASEBAND_ASSIGN_OR_RETURN_(result, lhs, expr) \
  auto result = (expr);                               \
  if (!result.ok()) {                                 \
    return std::move(result).status();                \
  }                                                   \
  lhs = *std::move(result)

#endif  // BASEBAND_KERNELS_BASE_STATUS_MACROS_H_
