#include "kernels/base/nearest.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace baseband {
namespace {

char Fold(char c) { return c == '-' ? '_' : absl::ascii_tolower(static_cast<unsigned char>(c)); }

}  // namespace

// One row of the table at a time.
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

std::string NearName(absl::string_view name, const std::vector<std::string>& known) {
  const auto letters = std::count_if(name.begin(), name.end(),
                                     [](unsigned char c) { return absl::ascii_isalnum(c); });
  size_t least = std::max<size_t>(static_cast<size_t>(letters) / 3, 1) + 1;
  std::string nearest;
  for (const std::string& each : known) {
    const size_t distance = EditDistance(name, each);
    if (distance >= least) continue;
    least = distance;
    nearest = each;
  }
  return nearest;
}

std::string DidYouMean(absl::string_view near) {
  return near.empty() ? "" : absl::StrCat("; did you mean ", near, "?");
}

}  // namespace baseband
