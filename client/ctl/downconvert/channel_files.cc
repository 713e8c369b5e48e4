#include "client/ctl/downconvert/channel_files.h"

#include <sys/resource.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {
namespace {

// As many as the system lets us have: there may be 1024 channels, of two files each.
void AllowManyFiles() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

absl::StatusOr<ChannelFiles> ChannelFiles::Create(const std::string& prefix, bool sigmf,
                                                  const v1::DownconvertSetup& setup,
                                                  Outputs* outputs) {
  ChannelFiles files;
  if (prefix == "-" && (setup.channels_size() != 1 || sigmf)) {
    return absl::InvalidArgumentError(
        sigmf ? "--sigmf makes two files: it cannot go to standard output"
              : absl::StrCat("-o - takes one channel, there are ", setup.channels_size()));
  }
  AllowManyFiles();
  for (int c = 0; c < setup.channels_size(); ++c) {
    Output output;
    const v1::SampleFormat format = setup.channels(c).output();
    if (sigmf && format == v1::SAMPLE_FORMAT_FLOAT16) {
      return absl::InvalidArgumentError(
          "SigMF has no 16-bit float: use --output=cf32 or ci16, or leave --sigmf out");
    }
    if (prefix == "-") {
      output.path = "standard output";
      output.file.data = outputs->Open("-o", prefix);
    } else if (!prefix.empty()) {
      output.path = absl::StrCat(prefix, ".", c,
                                 sigmf ? kSigmfData : absl::StrCat(".", NameOfFormat(format)));
      output.file = OpenSamples("-o", output.path, outputs);
      output.datatype = format == v1::SAMPLE_FORMAT_INT16 ? "ci16_le" : "cf32_le";
    }
    if (!outputs->status().ok()) {
      return outputs->status();
    }
    files.outputs_.push_back(std::move(output));
  }
  return files;
}

void ChannelFiles::Write(int channel, absl::string_view samples) {
  if (OutputFile* const file = outputs_[channel].file.data; file != nullptr) {
    file->Write(samples);
  }
}

void ChannelFiles::Note(int channel, const SigmfCapture& capture) {
  std::vector<SigmfCapture>& captures = outputs_[channel].captures;
  if (!captures.empty() && captures.back().sample_start == capture.sample_start) {
    captures.pop_back();  // nothing was in it
  }
  captures.push_back(capture);
}

void ChannelFiles::Describe(const std::vector<v1::ChannelDescription>& descriptions,
                            absl::string_view source) {
  for (size_t c = 0; c < outputs_.size(); ++c) {
    const Output& output = outputs_[c];
    if (output.file.meta == nullptr) {
      continue;
    }
    SigmfMeta meta;
    meta.datatype = output.datatype;
    meta.sample_rate_hz = descriptions[c].output_rate_hz();
    meta.captures = output.captures;
    meta.description = absl::StrCat("channel ", c, " of ", source, ", by basebandctl downconvert");
    output.file.meta->Write(ToSigmfText(meta));
  }
}

}  // namespace baseband::ctl
