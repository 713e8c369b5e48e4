// Keys that tell nodes apart by their bytes.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_APPEND_BYTES_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_APPEND_BYTES_H_

#include <cstring>
#include <string>

namespace baseband::minimize {

// Of a Value without padding.
template <typename Value>
void AppendBytes(const Value& value, std::string* key) {
  char bytes[sizeof(Value)];
  std::memcpy(bytes, &value, sizeof(Value));
  key->append(bytes, sizeof(Value));
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_APPEND_BYTES_H_
