#include "client/gnuradio/lib/status_port.h"

#include <utility>

#include "client/gnuradio/lib/connect.h"

namespace gr::baseband_offload {

StatusPort::StatusPort(gr::block* block, gr::logger_ptr logger, const connection& server)
    : block_(block),
      logger_(std::move(logger)),
      target_(server.target),
      policy_(server.on_failure) {
  block_->message_port_register_out(pmt::mp("status"));
}

void StatusPort::Publish(const char* state, const absl::Status& error) {
  pmt::pmt_t told = pmt::make_dict();
  told = pmt::dict_add(told, pmt::mp("state"), pmt::mp(state));
  told = pmt::dict_add(told, pmt::mp("action"), pmt::mp(ToString(policy_)));
  told = pmt::dict_add(told, pmt::mp("error"), pmt::mp(error.ok() ? "" : error.ToString()));
  told = pmt::dict_add(told, pmt::mp("dropped"), pmt::from_uint64(dropped_));
  block_->message_port_pub(pmt::mp("status"), told);
}

void StatusPort::Report(const std::vector<PipelineEvent>& events) {
  for (const PipelineEvent& event : events) {
    if (event.failing) {
      logger_->warn("{:s} does not answer ({:s}): {:s}", target_, event.error.ToString(),
                    policy_ == failure_policy::drop
                        ? "what is sent is dropped until it does"
                        : "what is sent is held until it does, and the flow graph waits");
    } else {
      logger_->info("{:s} answers again, {:d} dropped so far", target_, dropped());
    }
    Publish(event.failing ? "failing" : "serving", event.error);
  }
}

void StatusPort::RefuseCommand(const std::string& text) {
  logger_->error("command {:s}", text);
  Publish("bad_command", absl::InvalidArgumentError(text));
}

bool StatusPort::GiveUp(uint64_t frames, const absl::Status& error) {
  dropped_ += frames;
  const bool refused = !IsPassing(error);
  const bool ends = refused && policy_ == failure_policy::push_back;
  if (refused && !refusal_logged_) {
    logger_->error("{:s} refuses what is sent ({:s}): {:s}", target_, error.ToString(),
                   ends ? "the stream ends here" : "it is dropped");
    refusal_logged_ = true;
  }
  Publish(refused ? "refused" : "dropped", error);
  return ends;
}

}  // namespace gr::baseband_offload
