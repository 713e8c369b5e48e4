// Columns of text that line up.
#ifndef BASEBAND_CLIENT_CTL_COMMON_TEXT_TABLE_H_
#define BASEBAND_CLIENT_CTL_COMMON_TEXT_TABLE_H_

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace baseband::ctl {

class TextTable {
 public:
  struct Column {
    std::string head;
    bool right = true;  // how its cells are aligned
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // A line for the heads and one a row, two blanks between columns. A column whose cells are all
  // empty is left out.
  std::string ToText() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_TEXT_TABLE_H_
