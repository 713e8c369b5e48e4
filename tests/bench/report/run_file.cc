#include "tests/bench/report/run_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/json_values.h"
#include "kernels/base/status_macros.h"

namespace baseband::bench {
namespace {

using ctl::Json;
using ctl::JsonKey;

absl::Status SetParameters(const Json& json, Row* row) {
  if (!json.is_object()) return absl::InvalidArgumentError("is not an object");
  for (const auto& [name, value] : json.items()) {
    row->parameters.emplace_back(name, "");
    BASEBAND_RETURN_IF_ERROR(ctl::SetText(value, &row->parameters.back().second));
  }
  return absl::OkStatus();
}

// A key whose value goes into a member of that kind.
template <typename T>
JsonKey<T> Text(const char* name, std::string T::*member) {
  return {name, [member](const Json& json, T* to) { return ctl::SetText(json, &(to->*member)); }};
}
JsonKey<Row> Number(const char* name, double Row::*member) {
  return {name,
          [member](const Json& json, Row* to) { return ctl::SetNumber(json, &(to->*member)); }};
}

const std::vector<JsonKey<Row>>& RowKeys() {
  static const auto* const keys = new std::vector<JsonKey<Row>>{
      Text("what", &Row::what),
      Text("device", &Row::device),
      {"parameters", SetParameters},
      Text("along", &Row::along),
      Number("value", &Row::value),
      Text("unit", &Row::unit),
      Number("spread", &Row::spread),
      {"checked", [](const Json& json, Row* row) { return ctl::SetBool(json, &row->checked); }},
      Number("bytes", &Row::bytes),
      Text("over", &Row::over),
      Number("operations", &Row::operations),
      Text("of", &Row::of),
      Text("program", &Row::program)};
  return *keys;
}

const std::vector<JsonKey<Head>>& HeadKeys() {
  static const auto* const keys = new std::vector<JsonKey<Head>>{
      Text("begin", &Head::begin),
      Text("commit", &Head::commit),
      Text("mode", &Head::mode),
      Text("cpu", &Head::cpu),
      {"cores", [](const Json& json, Head* head) { return ctl::SetInteger(json, &head->cores); }},
      Text("gpu", &Head::gpu),
      Text("driver", &Head::driver)};
  return *keys;
}

// Where the rows of a key are.
struct Place {
  int line = 0;  // of the last turn
  size_t row = 0;
};
using Places = std::map<std::string, Place>;

// `row` was measured again.
void Merge(const Row& again, Row* row) {
  const bool is_better = row->unit == "s" ? again.value < row->value : again.value > row->value;
  const bool checked = row->checked && again.checked;
  const double spread = row->spread < 0.0 || again.spread < 0.0
                            ? std::abs(again.value - row->value) / std::min(again.value, row->value)
                            : (is_better ? again : *row).spread;
  if (is_better) *row = again;
  row->checked = checked;
  row->spread = spread;
}

absl::Status AddRow(const Json& json, Places* places, int turn_line, int line, BenchRun* run) {
  Row row;
  row.unit.clear();
  BASEBAND_RETURN_IF_ERROR(ctl::SetKeys(json, RowKeys(), &row));
  if (row.what.empty()) return absl::InvalidArgumentError(": 'what' is missing");
  if (row.device.empty()) return absl::InvalidArgumentError(": 'device' is missing");
  if (row.unit.empty()) return absl::InvalidArgumentError(": 'unit' is missing");
  if (!json.contains("value")) return absl::InvalidArgumentError(": 'value' is missing");
  if (json.contains("spread") && !(row.spread >= 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat(".spread: ", row.spread, " is less than 0"));
  }
  if (!(row.value > 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat(".value: ", row.value, " is not more than 0"));
  }
  const auto [found, is_new] = places->emplace(KeyOf(row), Place{line, run->rows.size()});
  if (is_new) {
    run->rows.push_back(std::move(row));
  } else if (found->second.line > turn_line) {
    return absl::InvalidArgumentError(
        absl::StrCat(": measures what line ", found->second.line, " does: ", found->first));
  } else {
    found->second.line = line;
    Merge(row, &run->rows[found->second.row]);
  }
  return absl::OkStatus();
}

absl::Status AddLine(const Json& json, Places* places, int* turn_line, int line, BenchRun* run) {
  if (!json.is_object()) return absl::InvalidArgumentError(": is not an object");
  if (run->ended) return absl::InvalidArgumentError(": is behind the run's end");
  const bool is_head = json.contains("run");
  if (is_head != (line == 1)) {
    return absl::InvalidArgumentError(is_head ? ": another run's head; a file has one run"
                                              : ": is no run's head, {\"run\": ..}");
  }
  if (is_head) {
    if (!json["run"].is_object()) return absl::InvalidArgumentError(".run: is not an object");
    const absl::Status status = ctl::SetKeys(json["run"], HeadKeys(), &run->head);
    return absl::Status(status.code(), status.ok() ? "" : absl::StrCat(".run", status.message()));
  }
  if (json.contains("failed")) {
    return ctl::SetText(json["failed"], &run->failed.emplace_back());
  }
  if (json.contains("turn")) {
    *turn_line = line;
    return absl::OkStatus();
  }
  if (json.contains("end")) return ctl::SetBool(json["end"], &run->ended);
  return AddRow(json, places, *turn_line, line, run);
}

}  // namespace

std::string HeadLine(const Head& head) {
  return Json{{"run",
               {{"begin", head.begin},
                {"commit", head.commit},
                {"mode", head.mode},
                {"cpu", head.cpu},
                {"cores", head.cores},
                {"gpu", head.gpu},
                {"driver", head.driver}}}}
      .dump();
}

std::string FailedLine(const std::string& what) { return Json{{"failed", what}}.dump(); }

std::string TurnLine(int turn) { return Json{{"turn", turn}}.dump(); }

std::string EndLine() { return Json{{"end", true}}.dump(); }

absl::StatusOr<BenchRun> ParseRun(absl::string_view text, const std::string& name) {
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(name, " is empty"));
  BenchRun run;
  Places places;
  int turn_line = 0;  // where the turn began
  int line = 0;
  for (const absl::string_view of : absl::StrSplit(text, '\n')) {
    ++line;
    if (of.empty() && line > 1) continue;
    const absl::StatusOr<Json> json = ctl::ParseJson(of);
    const absl::Status status =
        json.ok() ? AddLine(*json, &places, &turn_line, line, &run) : json.status();
    if (!status.ok()) {
      const absl::string_view space = json.ok() ? "" : ": ";
      return absl::InvalidArgumentError(absl::StrCat(name, ":", line, space, status.message()));
    }
  }
  return run;
}

absl::StatusOr<BenchRun> ReadRun(const std::string& path) {
  BASEBAND_ASSIGN_OR_RETURN(const std::string text, ctl::ReadText(path));
  return ParseRun(text, path);
}

std::string KeyOf(const Row& row) {
  std::string key = absl::StrCat(row.what, " ", row.device);
  for (const auto& [name, value] : row.parameters) absl::StrAppend(&key, " ", name, "=", value);
  return absl::StrCat(key, " [", row.unit, "]");
}

}  // namespace baseband::bench
