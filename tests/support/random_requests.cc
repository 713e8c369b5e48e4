#include "tests/support/random_requests.h"

#include <algorithm>
#include <cmath>

namespace baseband::testing {

double LogBetween(double low, double high, Random& random) {
  return low * std::exp(std::log(high / low) * random.Uniform());
}

int SomeCount(int most, Random& random) {
  return std::clamp(static_cast<int>(LogBetween(1.0, most + 1.0, random)), 1, most);
}

std::string RandomBytes(int64_t count, Random& random) {
  std::string bytes(static_cast<size_t>(count), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  return bytes;
}

}  // namespace baseband::testing
