// What `basebandctl top` shows of metrics pages: the arithmetic, apart from fetching and drawing.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_TOP_FIGURES_H_
#define BASEBAND_CLIENT_CTL_OPERATE_TOP_FIGURES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/load/metrics_page.h"

namespace baseband::ctl {

// A figure that a page may not have: an older server, a GPU whose driver does not say, no traffic
// to make a mean of.
using Figure = absl::optional<double>;

// A server's page, or some servers' pages together: series that count per second, since the page
// before; all others as they are.
struct PageRates {
  load::MetricsPage page;
  bool has_rates = false;               // else `page` has no series that count
  std::map<std::string, double> lanes;  // how many, by device
};

// Between two pages `passed` apart. There are rates if both are of one process: the first page of a
// server that was started again has nothing to be compared with.
PageRates RatesBetween(const load::MetricsPage* before, const load::MetricsPage& now,
                       absl::Duration passed);

// Series by series; has rates if one of them has.
PageRates Together(const std::vector<const PageRates*>& servers);

// The value below which part `q` of a histogram's observations are, over the series whose label
// `rpc` is among `rpcs`; straight between two edges, the highest edge for what is above it. None
// if nothing was observed.
Figure Quantile(const load::MetricsPage& page, const std::string& histogram,
                const std::vector<std::string>& rpcs, double q);

// What a reason or client with a figure is: {"backlog", 12}.
struct NamedFigure {
  std::string name;
  double value = 0;
};

// A server, or all together. Seconds, bytes; rates are per second.
struct ServerFigures {
  Figure requests, p50, p99, deadlines_missed, unserved;
  Figure information_bits;      // encoded, and of code blocks that decoded
  Figure bler;                  // share of the code blocks given to be decoded that did not
  std::string unserved_reason;  // that of most of them
  Figure queue_requests, oldest_age, batch_requests;
  Figure lanes_busy, lanes;  // how many on average, of how many
  Figure connections, rings, memory_bytes;
  Figure shared_regions, shared_in, shared_out;  // how many; bytes a second by shared memory
  std::vector<NamedFigure> pools;                // how full, 0 to 1
};
ServerFigures ToServerFigures(const PageRates& rates);

// One of those that a request, or work, was there for.
struct RpcFigures {
  std::string rpc;
  Figure requests, unserved, p50, p99, batch_requests, in_flight;
  Figure bler;  // of Decode; of DecodeSharedChannel by transport blocks
  // Share of the transmissions whose soft bits the server was to hold that found none of those
  // before, or for which there was no room.
  Figure harq_lost;
  std::string unserved_reason;  // that of most of them
  Figure work;                  // bits, symbols, samples or points, as `unit` says
  std::string unit;
};
std::vector<RpcFigures> ToRpcFigures(const PageRates& rates);

// Clients by device time a second, the greatest first.
std::vector<NamedFigure> ToClientFigures(const PageRates& rates);

struct DeviceFigures {
  std::string device, name;
  bool healthy = false;
  Figure lanes_busy;  // 0 to 1
  Figure utilization, memory_used, memory_total, celsius, watts, watts_limit;
  std::string throttled;  // why, if it is: "power, thermal"
};
std::vector<DeviceFigures> ToDeviceFigures(const PageRates& rates);

// How long the process of a page runs, by the host's clock `now`; the version of the program.
Figure UptimeSeconds(const load::MetricsPage& page, absl::Time now);
std::string VersionOf(const load::MetricsPage& page);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_TOP_FIGURES_H_
