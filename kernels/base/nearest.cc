#include "kernels/base/nearest.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"

namespace baseband {
namespace {

char Fold(char c) { return c == '-' ? '_' : absl::ascii_tolower(static_cast<unsigned char>(c)); }

// Levenshtein's distance, one row of the table at a time.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (Fold(a[i]) == Fold(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(absl::string_view name, const std::vector<std::string>& known) {
  return *std::min_element(known.begin(), known.end(),
                           [name](const std::string& a, const std::string& b) {
                             return EditDistance(name, a) < EditDistance(name, b);
                           });
}

}  // namespace baseband
