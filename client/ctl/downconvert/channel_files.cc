#include "client/ctl/downconvert/channel_files.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/files.h"

namespace baseband::ctl {
namespace {

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  return absl::NotFoundError(absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

}  // namespace

void ChannelFiles::CloseFile::operator()(std::FILE* file) const {
  if (file != stdout) {
    std::fclose(file);
  }
}

absl::StatusOr<ChannelFiles> ChannelFiles::Create(const std::string& prefix, bool sigmf,
                                                  const v1::DownconvertSetup& setup) {
  ChannelFiles files;
  files.to_stdout_ = prefix == "-";
  if (prefix == "-" && (setup.channels_size() != 1 || sigmf)) {
    return absl::InvalidArgumentError(
        sigmf ? "--sigmf makes two files: it cannot go to standard output"
              : absl::StrCat("-o - takes one channel, there are ", setup.channels_size()));
  }
  for (int c = 0; c < setup.channels_size(); ++c) {
    Output output;
    const v1::SampleFormat format = setup.channels(c).output();
    if (sigmf && format == v1::SAMPLE_FORMAT_FLOAT16) {
      return absl::InvalidArgumentError(
          "SigMF has no 16-bit float: use --output=cf32 or ci16, or leave --sigmf out");
    }
    if (prefix == "-") {
      output.path = "standard output";
    } else if (!prefix.empty()) {
      const std::string base = absl::StrCat(prefix, ".", c);
      output.path =
          absl::StrCat(base, sigmf ? kSigmfData : absl::StrCat(".", NameOfOutput(format)));
      output.meta_path = sigmf ? absl::StrCat(base, kSigmfMeta) : "";
      output.datatype = format == v1::SAMPLE_FORMAT_INT16 ? "ci16_le" : "cf32_le";
    }
    files.outputs_.push_back(std::move(output));
  }
  return files;
}

absl::Status ChannelFiles::Open() {
  // As many files as the system lets us have: there may be 1024 channels.
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  for (Output& output : outputs_) {
    if (to_stdout_) {
      output.file.reset(stdout);
    } else if (!output.path.empty()) {
      output.file.reset(std::fopen(output.path.c_str(), "wb"));
      if (output.file == nullptr) {
        return SystemError("create", output.path);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ChannelFiles::Write(int channel, absl::string_view samples) {
  const Output& output = outputs_[channel];
  if (output.file == nullptr ||
      std::fwrite(samples.data(), 1, samples.size(), output.file.get()) == samples.size()) {
    return absl::OkStatus();
  }
  return SystemError("write", output.path);
}

void ChannelFiles::Note(int channel, const SigmfCapture& capture) {
  std::vector<SigmfCapture>& captures = outputs_[channel].captures;
  if (!captures.empty() && captures.back().sample_start == capture.sample_start) {
    captures.pop_back();  // nothing was in it
  }
  captures.push_back(capture);
}

absl::Status ChannelFiles::Close(const std::vector<v1::ChannelDescription>& descriptions,
                                 absl::string_view source) {
  absl::Status status;
  for (size_t c = 0; c < outputs_.size(); ++c) {
    Output& output = outputs_[c];
    if (output.file == nullptr) {
      continue;
    }
    std::FILE* const file = output.file.release();
    // Standard output is flushed, and stays.
    if ((file == stdout ? std::fflush(file) : std::fclose(file)) != 0) {
      status.Update(SystemError("write", output.path));
    }
    if (output.meta_path.empty()) {
      continue;
    }
    SigmfMeta meta;
    meta.datatype = output.datatype;
    meta.sample_rate_hz = descriptions[c].output_rate_hz();
    meta.captures = output.captures;
    meta.description = absl::StrCat("channel ", c, " of ", source, ", by basebandctl downconvert");
    status.Update(WriteFile(output.meta_path, ToSigmfText(meta)));
  }
  return status;
}

}  // namespace baseband::ctl
