// What `basebandctl top` knows of its servers.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_TOP_MODEL_H_
#define BASEBAND_CLIENT_CTL_OPERATE_TOP_MODEL_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/ctl/common/json_values.h"
#include "client/ctl/operate/top_figures.h"
#include "client/ctl/operate/top_poller.h"

namespace baseband::ctl {

struct TopServer {
  std::string name;  // host and port of its page
  Sample last;
  absl::Time state_since;  // by SteadyNow(); when it was first seen in this state
  PageRates rates;         // since the look before; empty of an unreachable server
};

class TopModel {
 public:
  explicit TopModel(const std::vector<std::string>& urls);
  // A sample of each server; one that is known already changes nothing.
  void Add(std::vector<Sample> samples);

  const std::vector<TopServer>& servers() const { return servers_; }
  PageRates Everything() const;
  int CountServing() const;

 private:
  std::vector<TopServer> servers_;
};

// One object: servers with their devices, and what all do together. What is not known is null.
Json ToJson(const TopModel& model, absl::Time now);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_TOP_MODEL_H_
