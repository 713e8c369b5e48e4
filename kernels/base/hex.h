// Hexadecimal digits that are known to be some.
#ifndef BASEBAND_KERNELS_BASE_HEX_H_
#define BASEBAND_KERNELS_BASE_HEX_H_

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace baseband {

// The bytes that an even number of hexadecimal digits stand for. Anything else gives what nobody
// may rely on: who reads what somebody wrote checks it first.
inline std::string BytesOfHex(absl::string_view hex) {
#if ABSL_LTS_RELEASE_VERSION >= 20250127  // the other form is deprecated
  std::string bytes;
  return absl::HexStringToBytes(hex, &bytes) ? bytes : std::string(hex.size() / 2, '\0');
#else
  return absl::HexStringToBytes(hex);
#endif
}

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_HEX_H_
