// The head of a WAV file: where its samples lie and what they are. RIFF, and its forms for more
// than 4 GiB: RF64 (EBU Tech 3306) and BW64 (ITU-R BS.2088).
#ifndef BASEBAND_CLIENT_CTL_COMMON_WAV_H_
#define BASEBAND_CLIENT_CTL_COMMON_WAV_H_

#include <cstdint>
#include <cstdio>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/ctl/common/file_samples.h"

namespace baseband::ctl {

struct WavHead {
  FileSamples samples;  // two channels are I and Q, one is a real signal
  double sample_rate_hz = 0;
  // What was mixed to zero, of the chunk "auxi" that recorders for radios write (two times of 16
  // bytes, then uint32 Hz); empty: not said.
  absl::optional<double> centre_hz;
  int64_t begin = 0;  // of the samples, in the file
  int64_t count = 0;  // of them, at least 1
};

// Whether a file of this name is one: .wav, .wave, .rf64, .bw64.
bool IsWavName(absl::string_view path);

// Reads from the beginning of `file` up to the samples, and looks at chunks behind them. Takes PCM
// of 8, 16, 24 and 32 bits and float of 32 and 64, plain or WAVE_FORMAT_EXTENSIBLE.
//
// No size that the file says is believed before it is held against the file's: InvalidArgument,
// without the path, for what is no WAV, ends within its head, says more than there is, has other
// samples or channels, or contradicts itself. A size of 2^32 - 1 in RIFF, which writers to pipes
// leave, is all that follows, whole samples. Costs memory for one small chunk, and time for the
// number of chunks, which is limited.
absl::StatusOr<WavHead> ReadWavHead(std::FILE* file);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_WAV_H_
