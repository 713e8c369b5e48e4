// Where the channels' samples go: one file each, or standard output.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FILES_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/downconvert/downconvert_flags.h"

namespace baseband::ctl {

class ChannelFiles {
 public:
  // Opens PREFIX.0.cf32 and so on, PREFIX.0.sigmf-data and -meta with `sigmf`; nothing for an empty
  // prefix. "-" is standard output, for one channel. InvalidArgument: SigMF of float16, or to
  // standard output; and what `outputs` refuses.
  static absl::StatusOr<ChannelFiles> Create(const std::string& prefix, bool sigmf,
                                             const v1::DownconvertSetup& setup, Outputs* outputs);

  void Write(int channel, absl::string_view samples);

  // Parts of channel's file that begin at its sample `start`: a gap, or a new frequency.
  void Note(int channel, const SigmfCapture& capture);
  // Writes the metadata of SigMF, last; `descriptions` has one for each channel.
  void Describe(const std::vector<v1::ChannelDescription>& descriptions, absl::string_view source);

  // The file of the channel; empty without files.
  const std::string& path(int channel) const { return outputs_[channel].path; }

 private:
  struct Output {
    std::string path;
    std::string datatype;
    SampleOutput file;
    std::vector<SigmfCapture> captures;
  };

  std::vector<Output> outputs_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FILES_H_
