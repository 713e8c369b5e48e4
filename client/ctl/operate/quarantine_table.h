// Requests that a server refuses for a while, for people.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_QUARANTINE_TABLE_H_
#define BASEBAND_CLIENT_CTL_OPERATE_QUARANTINE_TABLE_H_

#include <string>

#include "absl/time/time.h"
#include "baseband/v1/admin.pb.h"

namespace baseband::ctl {

// A line each, or a word that there are none. `now` is that of the server's host, more or less.
std::string ToTable(const v1::GetQuarantineResponse& quarantine, absl::Time now);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_QUARANTINE_TABLE_H_
