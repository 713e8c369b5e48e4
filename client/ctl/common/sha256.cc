#include "client/ctl/common/sha256.h"

#include <openssl/sha.h>

#include <cstdint>

#include "absl/strings/escaping.h"

namespace baseband::ctl {

std::string Sha256Hex(absl::string_view data) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(data.data()), data.size(),
         reinterpret_cast<uint8_t*>(digest.data()));
  return absl::BytesToHexString(digest);
}

}  // namespace baseband::ctl
