#include "tests/bench/report/comparison.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace baseband::bench {
namespace {

double SpreadOf(const Row& row) { return row.spread < 0.0 ? kAssumedSpread : row.spread; }

}  // namespace

Comparison Compare(const BenchRun& before, const BenchRun& now) {
  Comparison comparison;
  std::map<std::string, const Row*> rows;
  for (const Row& row : now.rows) rows.emplace(KeyOf(row), &row);
  for (const Row& row : before.rows) {
    const auto found = rows.find(KeyOf(row));
    if (found == rows.end()) {
      comparison.gone.push_back(KeyOf(row));
      continue;
    }
    Change change = {row, *found->second};
    rows.erase(found);
    const double ratio = change.now.value / change.before.value;
    change.slower = (row.unit == "s" ? ratio : 1.0 / ratio) - 1.0;
    const double least = std::max({kLeastChange, SpreadOf(row), SpreadOf(change.now)});
    if (change.slower > least) {
      comparison.worse.push_back(change);
    } else if (1.0 / (1.0 + change.slower) - 1.0 > least) {
      comparison.better.push_back(change);
    } else {
      ++comparison.alike;
    }
  }
  comparison.added = static_cast<int>(rows.size());
  std::stable_sort(comparison.worse.begin(), comparison.worse.end(),
                   [](const Change& a, const Change& b) { return a.slower > b.slower; });
  std::stable_sort(comparison.better.begin(), comparison.better.end(),
                   [](const Change& a, const Change& b) { return a.slower < b.slower; });
  const auto compare = [&](const char* name, const std::string& old, const std::string& of_now) {
    if (old == of_now) return;
    comparison.machine.push_back(absl::StrCat(name, " '", old, "' is '", of_now, "' now"));
  };
  compare("cpu", before.head.cpu, now.head.cpu);
  compare("cores", absl::StrCat(before.head.cores), absl::StrCat(now.head.cores));
  compare("gpu", before.head.gpu, now.head.gpu);
  compare("driver", before.head.driver, now.head.driver);
  return comparison;
}

Comparison Confirmed(Comparison first, const Comparison& again) {
  std::vector<Change> worse;
  for (const Change& change : again.worse) {
    const auto is_same = [&](const Change& of) { return KeyOf(of.now) == KeyOf(change.now); };
    if (std::any_of(first.worse.begin(), first.worse.end(), is_same)) worse.push_back(change);
  }
  first.alike += static_cast<int>(first.worse.size() - worse.size());
  first.worse = std::move(worse);
  return first;
}

}  // namespace baseband::bench
