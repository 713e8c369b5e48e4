#include "client/ctl/table.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

std::string ToText(const Table::Cell& cell) {
  if (const double* number = absl::get_if<double>(&cell)) {
    return std::isfinite(*number) ? absl::StrFormat("%.7g", *number) : "";
  }
  const std::string& word = absl::get<std::string>(cell);
  return word.find_first_of(", \"") == std::string::npos
             ? word
             : absl::StrCat("\"", absl::StrReplaceAll(word, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string Table::ToCsv() const {
  std::string csv = absl::StrCat(absl::StrJoin(columns_, ","), "\n");
  for (const std::vector<Cell>& row : rows_) {
    absl::StrAppend(
        &csv,
        absl::StrJoin(row, ",", [](std::string* out, const Cell& cell) { *out += ToText(cell); }),
        "\n");
  }
  return csv;
}

nlohmann::ordered_json Table::ToJson() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::vector<Cell>& row : rows_) {
    nlohmann::ordered_json object;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::visit([&](const auto& value) { object[columns_[i]] = value; }, row[i]);
    }
    json.push_back(std::move(object));
  }
  return json;
}

}  // namespace baseband::ctl
