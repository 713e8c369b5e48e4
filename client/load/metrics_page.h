// The server's Prometheus page, as numbers.
#ifndef BASEBAND_CLIENT_LOAD_METRICS_PAGE_H_
#define BASEBAND_CLIENT_LOAD_METRICS_PAGE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace baseband::load {

// "name{label=\"value\"}" of each series, as the page writes it, and its value.
using MetricsPage = std::map<std::string, double>;

// The metrics at `url`; besides the statuses of HttpGet (http_get.h) Unavailable if the answer is
// no page.
absl::StatusOr<MetricsPage> FetchMetrics(const std::string& url, absl::Duration timeout,
                                         const std::string& password = "");

// The text format 0.0.4; lines that are none of it are left out, and so are values that are not
// finite.
MetricsPage ParseMetrics(absl::string_view text);

// Whether a series only grows: its name ends in _total, _sum, _count or _bucket.
bool Counts(absl::string_view series);

// Of series that count what was added since `before`, of all others what they are now.
MetricsPage Since(const MetricsPage& before, const MetricsPage& now);

// The value of a label of a series, as the page writes it; empty if it has none of that name.
std::string LabelOf(absl::string_view series, absl::string_view label);

// The sum over the series of metric `name` whose labels contain `label` ("cause=\"deadline\"").
double Sum(const MetricsPage& page, absl::string_view name, absl::string_view label = "");

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_METRICS_PAGE_H_
