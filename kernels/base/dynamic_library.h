// Shared libraries that are loaded at run time, so that a program starts where they are not.
#ifndef BASEBAND_KERNELS_BASE_DYNAMIC_LIBRARY_H_
#define BASEBAND_KERNELS_BASE_DYNAMIC_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace baseband {

// Loads the first of `names` that is there, for good. Unavailable: none is; the message has `noun`,
// what people call the library, and what the loader said of each.
absl::StatusOr<void*> LoadLibrary(absl::string_view noun, absl::Span<const char* const> names);

// Null if `library` has no such symbol.
void* FindSymbol(void* library, const char* name);

// Unavailable: `library` has no function of this name.
template <typename Function>
absl::Status FindFunction(void* library, absl::string_view noun, const char* name,
                          Function* function) {
  *function = reinterpret_cast<Function>(FindSymbol(library, name));
  return *function != nullptr
             ? absl::OkStatus()
             : absl::UnavailableError(std::string(noun) + " has no function " + name);
}

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_DYNAMIC_LIBRARY_H_
