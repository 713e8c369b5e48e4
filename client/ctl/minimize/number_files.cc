#include "client/ctl/minimize/number_files.h"

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/common/wav.h"
#include "client/ctl/common/wideband_file.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

constexpr int64_t kPiece = 1 << 20;

absl::StatusOr<NumberFile> FromDoubles(const std::string& path, const std::string& bytes) {
  if (bytes.size() % sizeof(double) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", bytes.size(), " bytes, not a multiple of the 8 of a number"));
  }
  NumberFile file;
  if (bytes.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " is empty"));
  file.numbers.resize(bytes.size() / sizeof(double));
  std::memcpy(file.numbers.data(), bytes.data(), bytes.size());
  return file;
}

absl::StatusOr<NumberFile> FromText(const std::string& path, const std::string& text) {
  NumberFile file;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = line.substr(0, line.find('#'));
    for (const absl::string_view word :
         absl::StrSplit(line, absl::ByAnyChar(" \t\r,;"), absl::SkipEmpty())) {
      double number = 0;
      if (!absl::SimpleAtod(word, &number)) {
        return absl::InvalidArgumentError(absl::StrCat(path, ", line ", line_number, ": '",
                                                       word.substr(0, 32), "' is not a number"));
      }
      file.numbers.push_back(number);
    }
  }
  if (file.numbers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, text.empty() ? " is empty" : " has no numbers in it"));
  }
  return file;
}

absl::StatusOr<NumberFile> FromSamples(const std::string& path) {
  absl::StatusOr<WidebandFile> samples = WidebandFile::Open(path, "");
  if (!samples.ok()) {
    return samples.status();
  }
  const WidebandFormat& format = samples->wire_format();
  NumberFile file;
  file.is_complex = format.is_complex;
  absl::optional<int64_t> next;
  for (;;) {
    const absl::StatusOr<WidebandFile::Piece> piece = samples->Read(kPiece);
    if (!piece.ok()) {
      return piece.status();
    }
    if (piece->bytes.empty()) {
      return file;
    }
    if (next.has_value() && piece->index != *next) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has a gap before sample ", piece->index, ": name one without"));
    }
    BASEBAND_RETURN_IF_ERROR(
        CheckDataBytes(path, static_cast<int64_t>(file.numbers.size() * sizeof(double))));
    const std::vector<Complex> part = WidebandToComplex(piece->bytes, format);
    next = piece->index + static_cast<int64_t>(part.size());
    for (const Complex& sample : part) {
      file.numbers.push_back(sample.real());
      if (file.is_complex) {
        file.numbers.push_back(sample.imag());
      }
    }
  }
}

}  // namespace

absl::StatusOr<NumberFile> ReadNumbers(const std::string& path) {
  const bool doubles = absl::EndsWithIgnoreCase(path, ".f64");
  if (!doubles && path != "-" && !absl::EndsWithIgnoreCase(path, ".txt") &&
      !absl::EndsWithIgnoreCase(path, ".csv")) {
    std::string base;
    if (SplitSigmfPath(path, &base) || IsWavName(path) || FormatOfFileName(path) != nullptr) {
      return FromSamples(path);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " does not say what its numbers are: name it .csv or .txt, .f64, .f32, .cf32, .ci16"
        " or another format of samples, .sigmf-meta or .wav"));
  }
  if (doubles) {
    BASEBAND_ASSIGN_OR_RETURN(const std::string bytes, ReadData(path));
    return FromDoubles(path, bytes);
  }
  BASEBAND_ASSIGN_OR_RETURN(const std::string text, ReadText(path, kMaxDataBytes));
  return FromText(path, text);
}

}  // namespace baseband::ctl
