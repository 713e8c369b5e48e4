// A server's flight records for people: a table, and a trace.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_FLIGHT_TRACE_H_
#define BASEBAND_CLIENT_CTL_OPERATE_FLIGHT_TRACE_H_

#include <string>

#include "baseband/v1/admin.pb.h"

namespace baseband::ctl {

// A line a record, with the time of each stage.
std::string ToTable(const v1::GetFlightRecordsResponse& records);

// JSON in Chrome's trace-event format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
// Complete slices, in the order of their begin, in microseconds from the first arrival:
// - process 1, requests: a track for each client and RPC, more of them where requests overlap; in
//   each request's slice those of its stages, in the batch's those of the device;
// - process 2, devices: a track for each lane, with the batches that records tell of.
// Slices of a track are apart or nested, whatever was done to the host's clock meanwhile. What else
// a record holds is in `args`.
std::string ToTrace(const v1::GetFlightRecordsResponse& records);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_FLIGHT_TRACE_H_
