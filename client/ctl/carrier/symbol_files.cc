#include "client/ctl/carrier/symbol_files.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/sample_names.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/common/wav.h"
#include "client/ctl/common/wideband_file.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

// Of a raw file: what --format says, or the end of its name; float32 of standard input and devices.
absl::StatusOr<v1::SampleFormat> FormatToRead(const std::string& path, absl::string_view format,
                                              bool can_ask) {
  SampleNameToRead name = {path, "", "", {"cf32", "cf16", "ci16"}, can_ask};
  absl::StatusOr<v1::SampleFormat> found = v1::SAMPLE_FORMAT_FLOAT32;
  if (const std::string said = SampleFormatOfFileName(path); !said.empty()) {
    found = ParseSampleFormat(absl::StrCat(path, ": its"), said);
    name.said = found.ok() ? NameOfFormat(*found) : said;
  }
  if (!format.empty()) {
    found = ParseSampleFormat("--format", format);
    name.asked = found.ok() ? NameOfFormat(*found) : "";
  }
  if (!found.ok()) {
    return found;
  }
  const absl::Status status = CheckNameToRead(name);
  return status.ok() ? found : status;
}

// Fills in what the metadata tells; the status says what is wrong with it, without the path.
absl::Status ParseMeta(const std::string& text, SymbolFile* file) {
  const absl::StatusOr<SigmfMeta> meta = ParseSigmf(text);
  if (!meta.ok()) {
    return meta.status();
  }
  if (meta->datatype != "cf32_le" && meta->datatype != "ci16_le") {
    return absl::InvalidArgumentError(
        absl::StrCat("core:datatype ", meta->datatype, " is not one of cf32_le, ci16_le"));
  }
  file->format = meta->datatype == "cf32_le" ? v1::SAMPLE_FORMAT_FLOAT32 : v1::SAMPLE_FORMAT_INT16;
  file->sample_rate_hz = meta->sample_rate_hz;
  return absl::OkStatus();
}

absl::StatusOr<SymbolFile> ReadWav(const std::string& path, absl::string_view format) {
  BASEBAND_ASSIGN_OR_RETURN(WidebandFile wav, WidebandFile::Open(path, ""));
  if (!wav.samples().is_complex) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has one channel: symbols are I and Q, which take two"));
  }
  SymbolFile file;
  file.sample_rate_hz = wav.sample_rate_hz();
  BASEBAND_RETURN_IF_ERROR(CheckDataBytes(path, wav.num_samples() * wav.wire_format().bytes));
  BASEBAND_ASSIGN_OR_RETURN(WidebandFile::Piece all, wav.Read(wav.num_samples()));
  file.bytes = std::move(all.bytes);
  const WidebandFormat& wire = wav.wire_format();
  file.format = wire.wire == v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32 ? v1::SAMPLE_FORMAT_FLOAT32
                                                                 : v1::SAMPLE_FORMAT_INT16;
  if (!format.empty()) {
    BASEBAND_ASSIGN_OR_RETURN(const v1::SampleFormat asked, ParseSampleFormat("--format", format));
    if (asked != file.format) {
      return absl::InvalidArgumentError(absl::StrCat("--format ", format, " contradicts ", path,
                                                     ", which says ", wav.samples().name()));
    }
  }
  if (wire.wire == v1::WIDEBAND_FORMAT_COMPLEX_INT8) {
    file.bytes =
        FromComplex(WidebandToComplex(file.bytes, wire), file.format, DefaultScale(file.format));
  }
  return file;
}

absl::Status CheckWhole(const std::string& path, const SymbolFile& file) {
  const int size = BytesPerSample(file.format);
  if (file.bytes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(InputName(path), " is empty"));
  }
  if (file.bytes.size() % size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(InputName(path), " has ", file.bytes.size(), " bytes, not a multiple of the ",
                     size, " of a sample (format ", NameOfFormat(file.format), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SymbolFile> ReadSymbols(const std::string& path, absl::string_view format,
                                       bool can_ask) {
  if (IsWavName(path)) {
    return ReadWav(path, format);
  }
  SymbolFile file;
  std::string base;
  const bool sigmf = SplitSigmfPath(path, &base);
  if (sigmf) {
    const absl::StatusOr<std::string> text = ReadText(base + kSigmfMeta);
    if (!text.ok()) {
      return text.status();
    }
    if (absl::Status status = ParseMeta(*text, &file); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(base, kSigmfMeta, ": ", status.message()));
    }
  }
  absl::StatusOr<std::string> bytes = ReadData(sigmf ? base + kSigmfData : path);
  if (!bytes.ok()) {
    return bytes.status();
  }
  if (!format.empty() || !sigmf) {
    const absl::StatusOr<v1::SampleFormat> wanted =
        sigmf ? ParseSampleFormat("--format", format) : FormatToRead(path, format, can_ask);
    if (!wanted.ok()) {
      return wanted.status();
    }
    if (sigmf && *wanted != file.format) {
      return absl::InvalidArgumentError(absl::StrCat("--format ", format, " contradicts ", base,
                                                     kSigmfMeta, ", which says ",
                                                     NameOfFormat(file.format)));
    }
    file.format = *wanted;
  }
  file.bytes = *std::move(bytes);
  if (absl::Status status = CheckWhole(sigmf ? base + kSigmfData : path, file); !status.ok()) {
    return status;
  }
  return file;
}

absl::StatusOr<FrontEnd> CorrectFrontEnd(const WantedCorrection& wanted, SymbolFile* file) {
  const bool corrects = wanted.dc || wanted.iq;
  const absl::string_view looked_at =
      absl::string_view(file->bytes)
          .substr(0, corrects ? absl::string_view::npos
                              : kMostFrontEndSamples * BytesPerSample(file->format));
  std::vector<Complex> samples = ToComplex(looked_at, file->format, DefaultScale(file->format));
  FrontEndMeter meter;
  meter.Add(samples);
  FrontEnd found = meter.Result();
  BASEBAND_ASSIGN_OR_RETURN(const IqCorrection correction, ToCorrection(found, wanted));
  if (corrects) {
    correction.Apply(&samples);
    file->format = v1::SAMPLE_FORMAT_FLOAT32;
    file->bytes = FromComplex(samples, file->format, DefaultScale(file->format));
  }
  return found;
}

absl::StatusOr<v1::SampleFormat> SymbolFormatToWrite(absl::string_view flag,
                                                     const std::string& path,
                                                     absl::string_view format,
                                                     v1::SampleFormat otherwise) {
  absl::StatusOr<v1::SampleFormat> asked = otherwise;
  if (!format.empty()) {
    asked = ParseSampleFormat("--format", format);
    if (!asked.ok()) {
      return asked;
    }
  }
  const absl::StatusOr<std::string> name =
      FormatToWrite({flag,
                     path,
                     format.empty() ? "" : NameOfFormat(*asked),
                     NameOfFormat(otherwise),
                     {"cf32", "cf16", "ci16"}});
  if (!name.ok()) {
    return name.status();
  }
  std::string base;
  if (SplitSigmfPath(path, &base) && *name == "cf16") {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": SigMF has no 16-bit float; write a raw file or use cf32 or ci16"));
  }
  return ParseSampleFormat(flag, *name);
}

std::string SymbolsToWrite(std::string bytes, v1::SampleFormat from, v1::SampleFormat to) {
  if (from == to) {
    return bytes;
  }
  const std::vector<Complex> samples = ToComplex(bytes, from, DefaultScale(from));
  double energy = 0;
  for (const Complex& sample : samples) {
    energy += std::norm(sample);
  }
  const bool fitted = to == v1::SAMPLE_FORMAT_INT16 && energy > 0;
  const double rms = fitted ? std::sqrt(energy / static_cast<double>(samples.size())) : 1;
  return FromComplex(samples, to,
                     fitted ? static_cast<float>(3 * rms) * DefaultScale(to) : DefaultScale(to));
}

void WriteSymbols(const SampleOutput& output, const SymbolFile& file,
                  absl::string_view description) {
  output.data->Write(file.bytes);
  if (output.meta == nullptr) {
    return;
  }
  SigmfMeta meta;
  meta.datatype = file.format == v1::SAMPLE_FORMAT_INT16 ? "ci16_le" : "cf32_le";
  meta.sample_rate_hz = file.sample_rate_hz;
  meta.description = std::string(description);
  meta.captures.emplace_back();
  output.meta->Write(ToSigmfText(meta));
}

}  // namespace baseband::ctl
