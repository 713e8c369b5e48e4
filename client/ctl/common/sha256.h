// SHA-256 (FIPS 180-4), for the checksums of known-answer files.
#ifndef BASEBAND_CLIENT_CTL_COMMON_SHA256_H_
#define BASEBAND_CLIENT_CTL_COMMON_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace baseband::ctl {

// 64 lower-case hex digits, as sha256sum prints them.
std::string Sha256Hex(absl::string_view data);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_SHA256_H_
