#include "client/ctl/operate/quarantine_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/text_table.h"

namespace baseband::ctl {

std::string ToTable(const v1::GetQuarantineResponse& quarantine, absl::Time now) {
  if (quarantine.requests_size() == 0) return "no kind of request is in quarantine\n";
  constexpr bool kLeft = false;
  TextTable table({{"fingerprint", kLeft},
                   {"rpc", kLeft},
                   {"client", kLeft},
                   {"device", kLeft},
                   {"faults"},
                   {"last fault (UTC)", kLeft},
                   {"refused for"},
                   {"refused"}});
  for (const v1::QuarantinedRequests& requests : quarantine.requests()) {
    const absl::Duration left = absl::FromUnixNanos(requests.refused_until_ns()) - now;
    table.Add({requests.fingerprint(), requests.rpc(), requests.client(), requests.device(),
               absl::StrCat(requests.faults()),
               absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(requests.last_fault_ns()),
                                absl::UTCTimeZone()),
               requests.refused_until_ns() == 0
                   ? "watched"
                   : absl::StrCat(std::max<int64_t>(0, absl::ToInt64Seconds(left)), " s"),
               absl::StrCat(requests.refused())});
  }
  return table.ToText();
}

}  // namespace baseband::ctl
