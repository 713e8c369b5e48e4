// A table of numbers and words, as CSV and as JSON.
#ifndef BASEBAND_CLIENT_CTL_COMMON_TABLE_H_
#define BASEBAND_CLIENT_CTL_COMMON_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/variant.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

class Table {
 public:
  // A number is written with seven digits; one that is not finite is left empty.
  using Cell = absl::variant<std::string, double>;
  // Each cell with the name of its column; every row has the columns of the first.
  using Row = std::vector<std::pair<std::string, Cell>>;

  void Add(Row row) { rows_.push_back(std::move(row)); }

  // A header, then a line a row; words with a comma, a blank or a quote in them are quoted.
  std::string ToCsv() const;
  // An array of objects, whose keys are the columns.
  nlohmann::ordered_json ToJson() const;

 private:
  std::vector<Row> rows_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_TABLE_H_
