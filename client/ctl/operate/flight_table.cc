#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/operate/flight_trace.h"

namespace baseband::ctl {
namespace {

// Empty if one of the moments never came, or nothing was measured.
std::string Elapsed(int64_t begin_ns, int64_t end_ns) {
  if (begin_ns == 0 || end_ns == 0 || end_ns <= begin_ns) return "";
  return HumanDuration(absl::Nanoseconds(end_ns - begin_ns));
}

std::string Time(int64_t time_ns) { return Elapsed(1, time_ns + 1); }

}  // namespace

std::string ToTable(const v1::GetFlightRecordsResponse& records) {
  constexpr bool kLeft = false;
  TextTable table({{"arrived (UTC)", kLeft},
                   {"rpc", kLeft},
                   {"client", kLeft},
                   {"priority", kLeft},
                   {"request id", kLeft},
                   {"why", kLeft},
                   {"code", kLeft},
                   {"total"},
                   {"receive"},
                   {"queue"},
                   {"copy in"},
                   {"h2d"},
                   {"kernel"},
                   {"d2h"},
                   {"reply"},
                   {"lane", kLeft},
                   {"requests"},
                   {"message", kLeft}});
  for (const v1::FlightRecord& record : records.records()) {
    const int64_t left_ns = record.started_ns() != 0 ? record.started_ns() : record.answered_ns();
    table.Add({absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::FromUnixNanos(record.arrived_ns()),
                                absl::UTCTimeZone()),
               record.rpc(), record.client(), record.priority(), record.request_id(),
               v1::FlightRecord::Reason_Name(record.reason()), record.code(),
               Elapsed(record.arrived_ns(), record.finished_ns()),
               Elapsed(record.received_ns(), record.submitted_ns()),
               Elapsed(record.submitted_ns(), left_ns), Time(record.copy_in_ns()),
               Time(record.h2d_ns()), Time(record.kernel_ns()), Time(record.d2h_ns()),
               Elapsed(record.answered_ns(), record.finished_ns()),
               record.device().empty() ? "" : absl::StrCat(record.device(), " ", record.lane()),
               record.batch_requests() > 0 ? absl::StrCat(record.batch_requests()) : "",
               record.message()});
  }
  return table.ToText();
}

}  // namespace baseband::ctl
