// The classes of requests, as flags and scenarios name them.
#ifndef BASEBAND_CLIENT_CTL_COMMON_PRIORITY_NAMES_H_
#define BASEBAND_CLIENT_CTL_COMMON_PRIORITY_NAMES_H_

#include "client/cpp/priority.h"
#include "client/ctl/common/named_value.h"

namespace baseband::ctl {

inline constexpr NamedValue<client::Priority> kPriorities[] = {
    {"high", client::Priority::kHigh},
    {"normal", client::Priority::kNormal},
    {"low", client::Priority::kLow}};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_PRIORITY_NAMES_H_
