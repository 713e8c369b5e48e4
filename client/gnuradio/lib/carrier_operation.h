// A frame of carrier_recovery.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_CARRIER_OPERATION_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_CARRIER_OPERATION_H_

#include <gnuradio/baseband_offload/carrier_recovery.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "baseband/v1/baseband.pb.h"
#include "client/gnuradio/lib/frame_block.h"

namespace gr::baseband_offload {

// See FrameBlock.
class CarrierOperation {
 public:
  using Request = ::baseband::v1::RecoverCarrierRequest;
  using Response = ::baseband::v1::RecoverCarrierResponse;

  // Throws std::invalid_argument, which names the option out of range.
  explicit CarrierOperation(const carrier_options& options);

  int input_items() const { return samples_; }
  size_t input_item_bytes() const { return sizeof(gr_complex); }
  int output_items() const { return symbols_; }
  size_t output_item_bytes() const { return sizeof(gr_complex); }
  int64_t request_bytes() const { return samples_ * int64_t{sizeof(gr_complex)}; }
  const char* results_port() const { return "carrier"; }

  Request Begin() const { return empty_; }
  void Append(const void* in, int frames, Request* request) const;
  absl::Status Check(int frames, const Response& response) const;
  void Write(const Response& response, int first, int frames, void* out) const;
  FrameResults Results(const Response& response, int frame) const;

 private:
  const int symbols_;  // of a frame
  const int samples_;  // of a frame that comes: as many, or with timing more
  const bool has_rate_;
  const bool has_timing_;
  const bool unit_gain_;
  Request empty_;
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_CARRIER_OPERATION_H_
