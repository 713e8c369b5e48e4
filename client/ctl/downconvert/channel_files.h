// Where the channels' samples go: one file each, or standard output.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FILES_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FILES_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/downconvert/downconvert_flags.h"

namespace baseband::ctl {

class ChannelFiles {
 public:
  // PREFIX.0.cf32 and so on, PREFIX.0.sigmf-data with `sigmf`; nothing for an empty prefix. "-" is
  // standard output, for one channel. InvalidArgument: SigMF of float16, or to standard output.
  static absl::StatusOr<ChannelFiles> Create(const std::string& prefix, bool sigmf,
                                             const v1::DownconvertSetup& setup);

  // Creates the files, once: not before it is clear that there will be something in them. NotFound
  // when one cannot be created.
  absl::Status Open();
  absl::Status Write(int channel, absl::string_view samples);

  // Parts of channel's file that begin at its sample `start`: a gap, or a new frequency.
  void Note(int channel, const SigmfCapture& capture);
  // Ends the files, and writes the metadata of SigMF; `descriptions` has one for each channel.
  absl::Status Close(const std::vector<v1::ChannelDescription>& descriptions,
                     absl::string_view source);

  // The file of the channel; empty without files.
  const std::string& path(int channel) const { return outputs_[channel].path; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const;
  };
  struct Output {
    std::string path;
    std::string meta_path;  // empty: no metadata
    std::string datatype;
    std::unique_ptr<std::FILE, CloseFile> file;
    std::vector<SigmfCapture> captures;
  };

  bool to_stdout_ = false;
  std::vector<Output> outputs_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FILES_H_
