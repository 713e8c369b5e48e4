#include "client/ctl/operate/top_figures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/metric_names.h"

namespace baseband::ctl {
namespace {

using load::LabelOf;
using load::MetricsPage;

// Who asks for these is not at work.
bool IsWork(const std::string& rpc) {
  return rpc != "GetCapabilities" && rpc != "Admin" && rpc != "Health";
}

// Whose requests come and go; Submit and DownconvertStream live as long as their clients want.
const std::vector<std::string>& Operations() {
  static const auto& names = *new std::vector<std::string>{
      "Encode",      "Decode",  "EncodeSharedChannel", "DecodeSharedChannel", "RecoverCarrier",
      "Downconvert", "Minimize"};
  return names;
}

// Calls `use` for each series of metric `name`.
void ForEach(const MetricsPage& page, const std::string& name,
             const std::function<void(const std::string& series, double value)>& use) {
  for (auto at = page.lower_bound(name); at != page.end() && absl::StartsWith(at->first, name);
       ++at) {
    if (at->first.size() == name.size() || at->first[name.size()] == '{') {
      use(at->first, at->second);
    }
  }
}

// The values of metric `name` by those of its label, summed over the others.
std::map<std::string, double> SumBy(const MetricsPage& page, const std::string& name,
                                    absl::string_view label) {
  std::map<std::string, double> sums;
  ForEach(page, name,
          [&](const std::string& series, double value) { sums[LabelOf(series, label)] += value; });
  return sums;
}

// The sum over the series whose labels have all of `labels` ("rpc=\"Encode\""); none if there is no
// such series.
Figure Total(const MetricsPage& page, const std::string& name,
             const std::vector<std::string>& labels = {}) {
  Figure sum;
  ForEach(page, name, [&](const std::string& series, double value) {
    for (const std::string& label : labels) {
      if (!absl::StrContains(series, label)) {
        return;
      }
    }
    sum = sum.value_or(0) + value;
  });
  return sum;
}

std::string Label(absl::string_view name, absl::string_view value) {
  return absl::StrCat(name, "=\"", value, "\"");
}

Figure Ratio(const Figure& part, const Figure& whole) {
  return part.has_value() && whole.has_value() && *whole > 0 ? Figure(*part / *whole) : Figure();
}

Figure Times(const Figure& figure, double factor) {
  return figure.has_value() ? Figure(*figure * factor) : Figure();
}

// The greatest of the named values; without a name if none is above 0.
NamedFigure Greatest(const std::map<std::string, double>& values) {
  NamedFigure greatest;
  for (const auto& [name, value] : values) {
    if (value > greatest.value) {
      greatest = {name, value};
    }
  }
  return greatest;
}

// What an operation works on, as the metrics count it.
struct Work {
  const char* rpc;
  const char* metric;
  const char* label;  // of the series that counts; may be empty
  const char* unit;
  double each = 1;  // so many of its units
};
constexpr double kBitsPerByte = 8;
constexpr Work kWork[] = {
    {"Encode", metric::kInformationBytes.name, "rpc=\"Encode\"", "b/s", kBitsPerByte},
    {"Decode", metric::kInformationBytes.name, "rpc=\"Decode\"", "b/s", kBitsPerByte},
    {"EncodeSharedChannel", metric::kInformationBytes.name, "rpc=\"EncodeSharedChannel\"", "b/s",
     kBitsPerByte},
    {"DecodeSharedChannel", metric::kInformationBytes.name, "rpc=\"DecodeSharedChannel\"", "b/s",
     kBitsPerByte},
    {"RecoverCarrier", metric::kCarrierSymbols.name, "", "symbols/s"},
    {"Downconvert", metric::kDownconvertSamples.name, "direction=\"in\"", "samples/s"},
    {"Minimize", metric::kSearchedPoints.name, "", "points/s"},
};

// Share of the code blocks given to Decode and DecodeSharedChannel that did not decode.
Figure BlerOf(const MetricsPage& page) {
  double blocks = 0;
  for (const char* rpc : {"Decode", "DecodeSharedChannel"}) {
    blocks += Total(page, metric::kCodeBlocks.name, {Label("rpc", rpc)}).value_or(0);
  }
  return Ratio(Total(page, metric::kDecodeParityFailures.name), Figure(blocks));
}

bool IsPositive(const Figure& figure) { return figure.value_or(0) > 0; }

// The same of one RPC: of Decode where all code blocks are its own, for the metric tells no RPC; of
// DecodeSharedChannel by transport blocks.
Figure BlerOf(const MetricsPage& page, const std::string& rpc) {
  if (rpc == "DecodeSharedChannel") {
    return Ratio(Total(page, metric::kTransportBlockCrcFailures.name),
                 Total(page, metric::kTransportBlocks.name, {Label("rpc", rpc)}));
  }
  const bool is_alone =
      !IsPositive(Total(page, metric::kCodeBlocks.name, {Label("rpc", "DecodeSharedChannel")}));
  return rpc == "Decode" && is_alone ? BlerOf(page) : Figure();
}

Figure HarqLostOf(const MetricsPage& page) {
  double lost = 0;
  for (const char* outcome : {"lost", "other_block", "not_held"}) {
    lost += Total(page, metric::kHarqTransmissions.name, {Label("outcome", outcome)}).value_or(0);
  }
  return Ratio(Figure(lost), Total(page, metric::kHarqTransmissions.name));
}

}  // namespace

PageRates RatesBetween(const MetricsPage* before, const MetricsPage& now, absl::Duration passed) {
  const auto start_of = [](const MetricsPage& page) {
    const auto found = page.find(metric::kProcessStart.name);
    return found == page.end() ? 0 : found->second;
  };
  PageRates rates;
  rates.has_rates =
      before != nullptr && start_of(*before) == start_of(now) && passed > absl::ZeroDuration();
  const double seconds = absl::ToDoubleSeconds(passed);
  const MetricsPage since = rates.has_rates ? load::Since(*before, now) : now;
  for (const auto& [series, value] : since) {
    if (absl::StartsWith(series, metric::kLaneBusy.name)) {
      rates.lanes[LabelOf(series, "device")] += 1;
    }
    if (!load::Counts(series)) {
      rates.page[series] = value;
    } else if (rates.has_rates) {
      rates.page[series] = std::max(0.0, value) / seconds;
    }
  }
  return rates;
}

PageRates Together(const std::vector<const PageRates*>& servers) {
  PageRates all;
  for (const PageRates* server : servers) {
    all.has_rates |= server->has_rates;
    for (const auto& [device, lanes] : server->lanes) {
      all.lanes[device] += lanes;
    }
    for (const auto& [series, value] : server->page) {
      double& sum = all.page[series];
      // Ages do not add up.
      sum = absl::StartsWith(series, metric::kQueueAge.name) ? std::max(sum, value) : sum + value;
    }
  }
  return all;
}

Figure Quantile(const MetricsPage& page, const std::string& histogram,
                const std::vector<std::string>& rpcs, double q) {
  std::map<double, double> below;  // observations by upper edge
  ForEach(page, histogram + "_bucket", [&](const std::string& series, double value) {
    const std::string edge = LabelOf(series, "le");
    double number = std::numeric_limits<double>::infinity();
    if (std::count(rpcs.begin(), rpcs.end(), LabelOf(series, "rpc")) > 0 &&
        (edge == "+Inf" || absl::SimpleAtod(edge, &number))) {
      below[number] += value;
    }
  });
  if (below.empty() || below.rbegin()->second <= 0) {
    return absl::nullopt;
  }
  const double rank = q * below.rbegin()->second;
  double last_edge = 0, last_below = 0;
  for (const auto& [edge, count] : below) {
    if (count >= rank && count > last_below) {
      return std::isinf(edge)
                 ? last_edge
                 : last_edge + (edge - last_edge) * (rank - last_below) / (count - last_below);
    }
    last_edge = edge;
    last_below = count;
  }
  return last_edge;
}

ServerFigures ToServerFigures(const PageRates& rates) {
  const MetricsPage& page = rates.page;
  ServerFigures figures;
  for (const auto& [rpc, value] : SumBy(page, metric::kRequests.name, "rpc")) {
    if (IsWork(rpc)) {
      figures.requests = figures.requests.value_or(0) + value;
    }
  }
  figures.information_bits = Times(Total(page, metric::kInformationBytes.name), kBitsPerByte);
  figures.bler = BlerOf(page);
  figures.p50 = Quantile(page, metric::kRequestDuration.name, Operations(), 0.5);
  figures.p99 = Quantile(page, metric::kRequestDuration.name, Operations(), 0.99);
  figures.deadlines_missed = Total(page, metric::kDeadlines.name, {Label("outcome", "missed")});
  figures.unserved = Total(page, metric::kUnserved.name);
  figures.unserved_reason = Greatest(SumBy(page, metric::kUnserved.name, "reason")).name;
  figures.queue_requests = Total(page, metric::kQueueRequests.name);
  ForEach(page, metric::kQueueAge.name, [&](const std::string&, double age) {
    figures.oldest_age = std::max(age, figures.oldest_age.value_or(0));
  });
  figures.batch_requests = Ratio(Total(page, absl::StrCat(metric::kBatchRequests.name, "_sum")),
                                 Total(page, absl::StrCat(metric::kBatchRequests.name, "_count")));
  figures.lanes_busy = Total(page, metric::kLaneBusy.name);
  for (const auto& [device, lanes] : rates.lanes) {
    figures.lanes = figures.lanes.value_or(0) + lanes;
  }
  figures.connections = Total(page, metric::kOpenConnections.name);
  figures.rings = Total(page, metric::kRings.name);
  figures.shared_regions = Total(page, metric::kSharedMemoryRegions.name);
  figures.shared_in = Total(page, metric::kSharedMemoryBytes.name, {Label("direction", "in")});
  figures.shared_out = Total(page, metric::kSharedMemoryBytes.name, {Label("direction", "out")});
  figures.memory_bytes = Total(page, metric::kProcessResident.name);
  for (const auto& [pool, used] : SumBy(page, metric::kPoolUsedBytes.name, "pool")) {
    const Figure full =
        Ratio(used, Total(page, metric::kPoolCapacityBytes.name, {Label("pool", pool)}));
    if (full.has_value()) {
      figures.pools.push_back({pool, *full});
    }
  }
  return figures;
}

std::vector<RpcFigures> ToRpcFigures(const PageRates& rates) {
  const MetricsPage& page = rates.page;
  std::vector<RpcFigures> all;
  for (const auto& [rpc, in_flight] : SumBy(page, metric::kRequestsInFlight.name, "rpc")) {
    const std::string label = Label("rpc", rpc);
    RpcFigures figures;
    figures.rpc = rpc;
    figures.in_flight = in_flight;
    figures.requests = Total(page, metric::kRequests.name, {label});
    figures.unserved = Total(page, metric::kUnserved.name, {label});
    std::map<std::string, double> reasons;
    ForEach(page, metric::kUnserved.name, [&](const std::string& series, double value) {
      if (LabelOf(series, "rpc") == rpc) {
        reasons[LabelOf(series, "reason")] += value;
      }
    });
    figures.unserved_reason = Greatest(reasons).name;
    figures.p50 = Quantile(page, metric::kRequestDuration.name, {rpc}, 0.5);
    figures.p99 = Quantile(page, metric::kRequestDuration.name, {rpc}, 0.99);
    figures.batch_requests =
        Ratio(Total(page, absl::StrCat(metric::kBatchRequests.name, "_sum"), {label}),
              Total(page, absl::StrCat(metric::kBatchRequests.name, "_count"), {label}));
    figures.bler = BlerOf(page, rpc);
    if (rpc == "DecodeSharedChannel") {
      figures.harq_lost = HarqLostOf(page);
    }
    for (const Work& work : kWork) {
      if (rpc == work.rpc) {
        figures.work = Times(Total(page, work.metric, {work.label}), work.each);
        figures.unit = work.unit;
      }
    }
    if (IsPositive(figures.requests) || IsPositive(figures.work) || in_flight > 0) {
      all.push_back(std::move(figures));
    }
  }
  return all;
}

std::vector<NamedFigure> ToClientFigures(const PageRates& rates) {
  std::vector<NamedFigure> clients;
  for (const auto& [client, seconds] :
       SumBy(rates.page, metric::kClientDeviceSeconds.name, "client")) {
    if (seconds > 0) {
      clients.push_back({client, seconds});
    }
  }
  std::sort(clients.begin(), clients.end(),
            [](const NamedFigure& a, const NamedFigure& b) { return a.value > b.value; });
  return clients;
}

std::vector<DeviceFigures> ToDeviceFigures(const PageRates& rates) {
  const MetricsPage& page = rates.page;
  std::vector<DeviceFigures> devices;
  ForEach(page, metric::kDeviceInfo.name, [&](const std::string& series, double) {
    DeviceFigures figures;
    figures.device = LabelOf(series, "device");
    figures.name = LabelOf(series, "name");
    const std::vector<std::string> label = {Label("device", figures.device)};
    figures.healthy = IsPositive(Total(page, metric::kDeviceHealthy.name, label));
    const auto lanes = rates.lanes.find(figures.device);
    if (lanes != rates.lanes.end()) {
      figures.lanes_busy = Ratio(Total(page, metric::kLaneBusy.name, label), lanes->second);
    }
    figures.utilization = Total(page, metric::kGpuUtilization.name, label);
    figures.memory_used = Total(page, metric::kGpuMemoryUsed.name, label);
    figures.memory_total = Total(page, metric::kGpuMemoryCapacity.name, label);
    figures.celsius = Total(page, metric::kGpuTemperature.name, label);
    figures.watts = Total(page, metric::kGpuPower.name, label);
    figures.watts_limit = Total(page, metric::kGpuPowerLimit.name, label);
    ForEach(page, metric::kGpuThrottled.name, [&](const std::string& reason, double value) {
      if (value > 0 && LabelOf(reason, "device") == figures.device) {
        absl::StrAppend(&figures.throttled, figures.throttled.empty() ? "" : ", ",
                        LabelOf(reason, "reason"));
      }
    });
    devices.push_back(std::move(figures));
  });
  return devices;
}

Figure UptimeSeconds(const MetricsPage& page, absl::Time now) {
  const Figure start = Total(page, metric::kProcessStart.name);
  return start.has_value()
             ? Figure(std::max(0.0, absl::ToDoubleSeconds(now - absl::UnixEpoch()) - *start))
             : Figure();
}

std::string VersionOf(const MetricsPage& page) {
  std::string version;
  ForEach(page, metric::kBuildInfo.name,
          [&](const std::string& series, double) { version = LabelOf(series, "version"); });
  return version;
}

}  // namespace baseband::ctl
