#include "client/ctl/common/table.h"

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
  std::string csv;
  const auto add_line = [&](const Row& row, auto to_text) {
    absl::StrAppend(
        &csv,
        absl::StrJoin(row, ",", [&](std::string* out, const auto& cell) { *out += to_text(cell); }),
        "\n");
  };
  if (!rows_.empty()) {
    add_line(rows_[0], [](const auto& cell) { return cell.first; });
  }
  for (const Row& row : rows_) {
    add_line(row, [](const auto& cell) { return ToText(cell.second); });
  }
  return csv;
}

nlohmann::ordered_json Table::ToJson() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json object;
    for (const auto& cell : row) {
      absl::visit([&](const auto& value) { object[cell.first] = value; }, cell.second);
    }
    json.push_back(std::move(object));
  }
  return json;
}

}  // namespace baseband::ctl
