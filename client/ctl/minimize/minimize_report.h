// What `minimize` prints and draws.
#ifndef BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_REPORT_H_
#define BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// For people: the best point, how sure it is, the runners-up.
std::string ToText(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);
nlohmann::ordered_json ToJson(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);

// Of pictures: an axis' name with its unit, where that is known; what the values are, and the best
// of them; what was found, and how.
std::string AxisLabel(const v1::MinimizeRequest& request, int axis);
std::string ValueLabel(const v1::MinimizeRequest& request);
std::string BestLabel(const v1::MinimizeRequest& request);
std::string AnswerTitle(const v1::MinimizeRequest& request);
std::string AnswerSubtitle(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);

// What was found until the search ended early.
std::string ToText(const v1::MinimizeRequest& request, const v1::MinimizeProgress& progress);

// A server's refusal of `expression`: what is wrong, the formula, and a caret under the column that
// it names. Of long formulas, the part around it. Other messages as they are.
std::string WithCaret(absl::string_view expression, absl::string_view message);

// The profile: coordinate of each part's middle, best value.
std::string ProfileCsv(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);
std::string ProfileSvg(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_MINIMIZE_MINIMIZE_REPORT_H_
