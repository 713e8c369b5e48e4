// The block of downconverter.h.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_DOWNCONVERTER_IMPL_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_DOWNCONVERTER_IMPL_H_

#include <gnuradio/baseband_offload/downconverter.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "client/gnuradio/lib/channel_stream.h"
#include "client/gnuradio/lib/connect.h"
#include "client/gnuradio/lib/status_port.h"

namespace gr::baseband_offload {

class downconverter_impl final : public downconverter {
 public:
  downconverter_impl(const downconvert_options& options, const connection& server);

  downconvert_counts counts() const override;
  bool start() override;
  bool stop() override;
  void forecast(int noutput_items, gr_vector_int& required) override;
  int general_work(int noutput_items, gr_vector_int& ninput_items,
                   gr_vector_const_void_star& inputs, gr_vector_void_star& outputs) override;

 private:
  // A new frequency, and the output from which on it is heard.
  struct Heard {
    uint64_t output = 0;
    double frequency_hz = 0;
  };

  void OnCommand(const pmt::pmt_t& message);
  // Throws std::exception where the message makes no sense.
  Retuning Parse(const pmt::pmt_t& message) const;
  void Append(const void* in, int samples);
  int Gather(const uint8_t* in, int available);
  void SendPending();
  bool HasOutputs();
  // Of what there is as much as there is room for; true: something.
  bool Put(gr_vector_void_star& outputs, std::vector<int>* produced, int room);
  void PutTags(size_t channel, uint64_t offset, uint64_t first_output, int count);

  const downconvert_options options_;
  const PipelineLimits limits_;
  const int sample_bytes_;
  const int max_samples_;  // of a message
  const std::unique_ptr<Client> client_;
  StatusPort status_;
  v1::DownconvertSetup setup_;
  std::vector<int64_t> frequencies_;  // as last sent

  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> retunes_{0};

  uint64_t origin_ = 0;                // of the input: where the stream's sample 0 is
  std::string pending_;                // samples, while there is no room in the stream
  std::vector<Retuning> commands_;     // not sent yet, by the input's samples, ascending
  std::vector<uint64_t> last_retune_;  // of each channel: sample + 1, that was sent; 0: none
  std::vector<std::deque<Heard>> heard_;
  absl::optional<ChannelOutputs> ready_;
  std::vector<uint64_t> dropped_before_;  // of each channel: input samples
  bool refused_ = false;
  std::unique_ptr<ChannelStream> stream_;  // between start() and stop()
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_DOWNCONVERTER_IMPL_H_
