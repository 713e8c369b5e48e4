// A wideband signal through the server piece by piece, as a stream or as requests that stand alone:
// the caller does not see which.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_TRANSFER_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_TRANSFER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/downconvert/downconvert_flags.h"

namespace baseband::ctl {

// Responses come in the order of the pieces; the first one describes the channels. Not thread-safe.
class DownconvertTransfer {
 public:
  virtual ~DownconvertTransfer() = default;

  // Sends samples, as the wire has them, which begin at `index` of the signal, after those sent
  // before. Not when full().
  virtual absl::Status Send(int64_t index, std::string samples) = 0;
  // The response to the oldest piece whose response was not received; waits for it. Only while
  // in_flight() > 0. Its `gap` is set in both forms.
  virtual absl::StatusOr<v1::DownconvertResponse> Receive() = 0;
  virtual int in_flight() const = 0;
  // Whether Receive() comes before the next Send().
  virtual bool full() const = 0;
  // After the last Receive().
  virtual absl::Status Finish() = 0;
};

// One DownconvertStream.
absl::StatusOr<std::unique_ptr<DownconvertTransfer>> NewStreamTransfer(client::Client* client,
                                                                       const GlobalFlags& flags,
                                                                       const DownconvertPlan& plan);
// Downconvert calls, several in flight, each with the history that its filters need: any server
// could take each of them.
std::unique_ptr<DownconvertTransfer> NewUnaryTransfer(client::Client* client,
                                                      const GlobalFlags& flags,
                                                      const DownconvertPlan& plan,
                                                      int bytes_per_sample);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_TRANSFER_H_
