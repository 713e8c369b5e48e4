// A search of a grid of two axes that keeps the best value of each cell of a map.
#ifndef BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_MAP_H_
#define BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_MAP_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"

namespace baseband::ctl {

inline constexpr int kMaxMapCells = 256;  // along an axis

struct SearchMap {
  int columns = 0;             // cells of the first axis
  int rows = 0;                // and of the second; point i of n lies in cell i * cells / n
  std::vector<double> values;  // [columns][rows], the best of each cell; NaN: none has a value
};

struct MappedAnswer {
  v1::MinimizeAnswer answer;
  SearchMap map;
};

// InvalidArgument: `request` is not of two axes and all of their points.
absl::Status CheckMap(const v1::MinimizeRequest& request);

// What Client::Minimize answers to `request`, with a map. A search a column, flags.in_flight at a
// time, each with all of the request's data; then one of the best point alone, which is refined. So
// each point is evaluated once; but twice if `request` asks for more than the best point, or for a
// profile. `progress` is told of all columns together, with at most one call at a time, from any
// thread. Statuses are those of the calls, the first that fails. `request` has passed CheckMap().
absl::StatusOr<MappedAnswer> MinimizeWithMap(
    client::Client* client, const v1::MinimizeRequest& request, const GlobalFlags& flags,
    const std::function<bool(const v1::MinimizeProgress&)>& progress);

// A line a cell: the coordinates of its middle, and the value, empty where there is none.
std::string MapCsv(const v1::MinimizeRequest& request, const SearchMap& map);
std::string MapSvg(const v1::MinimizeRequest& request, const MappedAnswer& mapped);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_MAP_H_
