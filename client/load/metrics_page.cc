#include "client/load/metrics_page.h"

#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/load/http_get.h"

namespace baseband::load {

absl::StatusOr<MetricsPage> FetchMetrics(const std::string& url, absl::Duration timeout,
                                         const std::string& password) {
  const absl::StatusOr<HttpAnswer> answer = HttpGet(url, timeout, password);
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) {
    return absl::UnavailableError(
        absl::StrCat(url, " answered with status ", answer->status, ", not with a page"));
  }
  return ParseMetrics(answer->body);
}

MetricsPage ParseMetrics(absl::string_view text) {
  MetricsPage page;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    // A label's value may hold blanks: the series ends with its brace, if it has one.
    const size_t brace = line.rfind('}');
    const size_t end = brace != absl::string_view::npos ? brace + 1 : line.find(' ');
    if (end == absl::string_view::npos) continue;
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(line.substr(end), ' ', absl::SkipEmpty());
    double value = 0;
    if (!numbers.empty() && absl::SimpleAtod(numbers[0], &value) && std::isfinite(value)) {
      page[std::string(line.substr(0, end))] = value;
    }
  }
  return page;
}

bool Counts(absl::string_view series) {
  const absl::string_view name = series.substr(0, series.find('{'));
  return absl::EndsWith(name, "_total") || absl::EndsWith(name, "_sum") ||
         absl::EndsWith(name, "_count") || absl::EndsWith(name, "_bucket");
}

MetricsPage Since(const MetricsPage& before, const MetricsPage& now) {
  MetricsPage since = now;
  for (auto& [series, value] : since) {
    const auto old = before.find(series);
    if (old != before.end() && Counts(series)) value -= old->second;
  }
  return since;
}

std::string LabelOf(absl::string_view series, absl::string_view label) {
  for (const char before : {'{', ','}) {
    const std::string start = absl::StrCat(std::string(1, before), label, "=\"");
    const size_t found = series.find(start);
    if (found == absl::string_view::npos) continue;
    const absl::string_view rest = series.substr(found + start.size());
    return std::string(rest.substr(0, rest.find('"')));
  }
  return "";
}

double Sum(const MetricsPage& page, absl::string_view name, absl::string_view label) {
  double sum = 0;
  for (auto at = page.lower_bound(std::string(name));
       at != page.end() && absl::StartsWith(at->first, name); ++at) {
    const absl::string_view labels = absl::string_view(at->first).substr(name.size());
    if ((labels.empty() || labels.front() == '{') && absl::StrContains(labels, label)) {
      sum += at->second;
    }
  }
  return sum;
}

}  // namespace baseband::load
