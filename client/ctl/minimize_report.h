// What `minimize` prints and draws.
#ifndef BASEBAND_CLIENT_CTL_MINIMIZE_REPORT_H_
#define BASEBAND_CLIENT_CTL_MINIMIZE_REPORT_H_

#include <string>

#include "baseband/v1/baseband.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// For people: the best point, how sure it is, the runners-up.
std::string ToText(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);
nlohmann::ordered_json ToJson(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);

// The profile: coordinate of each part's middle, best value.
std::string ProfileCsv(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);
std::string ProfileSvg(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_MINIMIZE_REPORT_H_
