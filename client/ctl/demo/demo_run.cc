#include "client/ctl/demo/demo_run.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {

std::string RateText(int64_t bits, absl::Duration time) {
  return HumanRate(static_cast<double>(bits) / absl::ToDoubleSeconds(time));
}

std::string ServerText(const TransferTimes& times) {
  const auto us = [](double value) { return HumanDuration(absl::Microseconds(value)); };
  return absl::StrFormat(
      "           server, mean of %s: receive %s, queue %s, prepare %s,\n"
      "           to device %s, kernels %s, back %s; %s blocks a batch\n",
      Plural(times.requests, "request"), us(times.receive_us), us(times.queue_us),
      us(times.copy_in_us), us(times.h2d_us), us(times.kernel_us), us(times.d2h_us),
      HumanCount(times.batch_blocks));
}

nlohmann::ordered_json ToJson(const TransferTimes& times) {
  nlohmann::ordered_json json;
  json["seconds"] = absl::ToDoubleSeconds(times.wall);
  json["requests"] = times.requests;
  json["mean_receive_us"] = times.receive_us;
  json["mean_queue_us"] = times.queue_us;
  json["mean_copy_in_us"] = times.copy_in_us;
  json["mean_h2d_us"] = times.h2d_us;
  json["mean_kernel_us"] = times.kernel_us;
  json["mean_d2h_us"] = times.d2h_us;
  json["mean_batch_blocks"] = times.batch_blocks;
  json["mean_batch_requests"] = times.batch_requests;
  return json;
}

std::string Verdict(bool equal) {
  return absl::StrCat(equal ? Good("OK: the recovered file equals the sent one.")
                            : Bad("FAILED: the recovered file differs from the sent one."),
                      "\n");
}

}  // namespace baseband::ctl
