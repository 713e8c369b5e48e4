// A recording through the server, its channels to their files.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_RUN_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/downconvert/downconvert_flags.h"
#include "client/ctl/downconvert/downconvert_report.h"
#include "client/ctl/downconvert/wideband_file.h"

namespace baseband::ctl {

struct DownconvertRun {
  std::string input;
  std::string format;
  std::unique_ptr<WidebandFile> file;
  DownconvertPlan plan;
  std::string prefix;  // of the channels' files; empty: none
  bool sigmf = false;
  std::string plot;   // empty: none
  int64_t chunk = 0;  // samples in a message; 0: what suits
  bool unary = false;
};

struct DownconvertOutcome {
  absl::Status status;
  bool is_local = false;  // the status is of a file or a flag, not of the server
  DownconvertReport report;
};

// From beginning to end, with a progress bar. `run.file` is read.
DownconvertOutcome RunDownconvert(client::Client* client, const GlobalFlags& flags,
                                  const DownconvertRun& run);

// Samples in a message: about 1 MiB of input or output, whichever is more, within what the server
// takes.
int64_t DefaultChunk(const v1::DownconvertSetup& setup, int bytes_per_sample,
                     const RequestLimits& limits);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_RUN_H_
