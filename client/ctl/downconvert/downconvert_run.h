// A recording through the server, its channels to their files.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_RUN_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "client/ctl/common/front_end.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/session.h"
#include "client/ctl/common/wideband_file.h"
#include "client/ctl/downconvert/channel_files.h"
#include "client/ctl/downconvert/downconvert_flags.h"
#include "client/ctl/downconvert/downconvert_report.h"

namespace baseband::ctl {

struct DownconvertRun {
  std::string input;
  std::string format;
  std::unique_ptr<WidebandFile> file;
  WantedCorrection wanted;             // what `file` corrects
  absl::optional<FrontEnd> front_end;  // measured for that; else it is as the samples pass
  DownconvertPlan plan;
  Outputs outputs;
  ChannelFiles files;
  OutputFile* plot = nullptr;  // null: none
  int64_t chunk = 0;           // samples in a message; 0: what suits
  bool unary = false;
};

struct DownconvertOutcome {
  absl::Status status;
  bool is_local = false;     // the status is of a file or a flag, not of the server
  bool interrupted = false;  // by ^C: the files end there
  DownconvertReport report;
};

// From beginning to end, or to ^C, with a progress bar. `run.file` is read, the outputs are
// written.
DownconvertOutcome RunDownconvert(const Session& session, DownconvertRun* run);

// Samples in a message: about 1 MiB of input or output, whichever is more, within what the server
// takes.
int64_t DefaultChunk(const v1::DownconvertSetup& setup, int bytes_per_sample,
                     const RequestLimits& limits);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_RUN_H_
