// `demo --nr`: a file as transport blocks of 5G NR through EncodeSharedChannel, modulated symbols
// over white Gaussian noise, and DecodeSharedChannel; what is wrong is sent again (HARQ).
#ifndef BASEBAND_CLIENT_CTL_DEMO_DEMO_NR_H_
#define BASEBAND_CLIENT_CTL_DEMO_DEMO_NR_H_

#include "absl/status/statusor.h"
#include "client/ctl/common/session.h"
#include "client/ctl/demo/demo_run.h"
#include "client/ctl/shared_channel/harq_link.h"

namespace baseband::ctl {

// Each block is sent until its CRC holds, link.transmissions() times at most. Statuses: those of
// the calls.
absl::StatusOr<DemoOutcome> RunNrDemo(const Session& session, const DemoInput& input,
                                      const HarqLink& link);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DEMO_DEMO_NR_H_
