#include "client/ctl/common/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace baseband::ctl {

std::string TextTable::ToText() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (widths[c] == 0) {
        continue;
      }
      const std::string& cell = cell_of(c);
      const std::string fill(std::max(widths[c], columns_[c].head.size()) - cell.size(), ' ');
      absl::StrAppend(&line, line.empty() ? "" : "  ", columns_[c].right ? fill : "", cell,
                      columns_[c].right ? "" : fill);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  };
  add_line([&](size_t c) -> const std::string& { return columns_[c].head; });
  for (const std::vector<std::string>& row : rows_) {
    add_line([&](size_t c) -> const std::string& { return row[c]; });
  }
  return text;
}

}  // namespace baseband::ctl
