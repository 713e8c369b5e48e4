// A frame of `basebandctl top` as lines of text.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_TOP_TEXT_H_
#define BASEBAND_CLIENT_CTL_OPERATE_TOP_TEXT_H_

#include <vector>

#include "absl/time/time.h"
#include "client/ctl/operate/live_screen.h"
#include "client/ctl/operate/top_model.h"

namespace baseband::ctl {

struct TopView {
  int columns = 120;  // what tables are made to fit into, where they can
  int selected = -1;  // the server whose requests and clients are shown; -1: all together
  absl::Duration interval;
  absl::Time now;     // the host's clock
  absl::Time steady;  // SteadyNow()
};

// Servers, their total, their devices, then of the selected one or of all: memory shared with
// clients and the rings in it, if there is any, requests, and clients.
// What is not known is left empty, and a column of which nothing is known is left out.
std::vector<Line> ToLines(const TopModel& model, const TopView& view);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_TOP_TEXT_H_
