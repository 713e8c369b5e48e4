// Numbers of `minimize`, from files of samples and of text.
#ifndef BASEBAND_CLIENT_CTL_MINIMIZE_NUMBER_FILES_H_
#define BASEBAND_CLIENT_CTL_MINIMIZE_NUMBER_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace baseband::ctl {

struct NumberFile {
  std::vector<double> numbers;
  bool is_complex = false;  // the file says so: I, then Q, of each sample
};

// By the end of the name: .f64 (raw, little endian); samples as `downconvert` reads them (.f32,
// .cf32, .ci16, .cu8 .., of integers full scale is 1; both files of a SigMF recording without
// gaps; WAV files); .csv and .txt: numbers separated by blanks, commas, semicolons or line ends, #
// begins a comment; "-" is such a text from standard input. InvalidArgument: another name, no or
// half numbers, no number in a text; NotFound.
absl::StatusOr<NumberFile> ReadNumbers(const std::string& path);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_MINIMIZE_NUMBER_FILES_H_
