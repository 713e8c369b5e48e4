#include "kernels/base/dynamic_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace baseband {

absl::StatusOr<void*> LoadLibrary(absl::string_view noun, absl::Span<const char* const> names) {
  std::string tried;
  for (const char* const name : names) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    absl::StrAppend(&tried, tried.empty() ? "" : "; ", dlerror());
  }
  return absl::UnavailableError(absl::StrCat(noun, " could not be loaded: ", tried));
}

void* FindSymbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace baseband
