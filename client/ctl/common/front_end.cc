#include "client/ctl/common/front_end.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/angles.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr size_t kMaxParts = 32;
constexpr double kCertain = 4;       // deviations
constexpr double kMostImage = 0.25;  // of |w|, -12 dB: uncorrected receivers have -20 or less

std::complex<double> WeightOf(std::complex<double> circularity) {
  const double magnitude = std::min(1.0, std::abs(circularity));
  return -circularity / (1 + std::sqrt(1 - magnitude * magnitude));
}

// Deviation of the mean of parts, of which `squares` is the sum of squared distances from it.
double DeviationOfMean(double squares, size_t parts) {
  const auto n = static_cast<double>(parts);
  return std::sqrt(squares / (n * (n - 1)));
}

double Decibels(double ratio) { return 20 * std::log10(ratio); }

}  // namespace

bool FrontEnd::tells_dc() const {
  return samples >= kLeastFrontEndSamples && std::abs(dc) > kCertain * dc_deviation;
}

FrontEnd::Image FrontEnd::image() const {
  if (!is_complex) {
    return Image::kReal;
  }
  if (samples < kLeastFrontEndSamples || power <= 0) {
    return Image::kTooFew;
  }
  if (std::abs(WeightOf(circularity)) > kMostImage) {
    return Image::kOfSignal;
  }
  return std::abs(circularity) > kCertain * circularity_deviation ? Image::kTold : Image::kNone;
}

std::complex<double> FrontEnd::image_weight() const { return WeightOf(circularity); }

double FrontEnd::image_db() const { return Decibels(std::abs(image_weight())); }

// E[I^2] and E[Q^2] are (1 +- Re) / 2 of the power, E[IQ] is Im / 2.
double FrontEnd::gain_db() const {
  return Decibels(std::sqrt((1 + circularity.real()) / (1 - circularity.real())));
}

double FrontEnd::phase_degrees() const {
  return -kDegreesPerRadian *
         std::asin(
             std::clamp(circularity.imag() / std::sqrt(1 - circularity.real() * circularity.real()),
                        -1.0, 1.0));
}

void FrontEndMeter::Add(absl::Span<const Complex> samples) {
  samples = samples.first(
      std::min<size_t>(samples.size(), static_cast<size_t>(kMostFrontEndSamples - samples_)));
  while (!samples.empty()) {
    const int64_t in_part = samples_ % size_;
    if (in_part == 0) {
      if (parts_.size() == kMaxParts) {  // two by two, so that half of them are free
        for (size_t i = 0; i < kMaxParts / 2; ++i) {
          const Sums& next = parts_[2 * i + 1];
          parts_[i] = parts_[2 * i];
          parts_[i].first += next.first;
          parts_[i].second += next.second;
          parts_[i].power += next.power;
        }
        parts_.resize(kMaxParts / 2);
        size_ *= 2;
      }
      parts_.emplace_back();
    }
    const size_t taken = std::min<size_t>(samples.size(), static_cast<size_t>(size_ - in_part));
    Sums& part = parts_.back();
    for (const Complex& sample : samples.first(taken)) {
      const double i = sample.real();
      const double q = sample.imag();
      part.first += std::complex<double>(i, q);
      part.second += std::complex<double>(i * i - q * q, 2 * i * q);
      part.power += i * i + q * q;
    }
    samples_ += static_cast<int64_t>(taken);
    samples.remove_prefix(taken);
  }
}

FrontEnd FrontEndMeter::Result() const {
  FrontEnd found;
  found.is_complex = is_complex_;
  const auto parts = static_cast<size_t>(samples_ / size_);  // whole ones
  found.samples = static_cast<int64_t>(parts) * size_;
  if (found.samples < kLeastFrontEndSamples) {
    found.samples = samples_;
    return found;
  }
  const auto count = static_cast<double>(found.samples);
  const auto in_part = static_cast<double>(size_);
  const absl::Span<const Sums> whole(parts_.data(), parts);
  for (const Sums& part : whole) {
    found.dc += part.first / count;
  }
  const double dc_power = std::norm(found.dc);
  std::complex<double> second;  // E[z^2]
  std::vector<std::pair<std::complex<double>, double>> centred;
  for (const Sums& part : whole) {
    const std::complex<double> mean = part.first / in_part;
    centred.emplace_back(part.second / in_part - 2.0 * found.dc * mean + found.dc * found.dc,
                         part.power / in_part - 2 * (std::conj(found.dc) * mean).real() + dc_power);
    second += centred.back().first / static_cast<double>(parts);
    found.power += centred.back().second / static_cast<double>(parts);
  }
  double dc_squares = 0;
  for (const Sums& part : whole) {
    dc_squares += std::norm(part.first / in_part - found.dc);
  }
  found.dc_deviation = DeviationOfMean(dc_squares, parts);
  // Below this the squares' rounding is all that there is.
  if (found.power <= 1e-13 * dc_power) {
    found.power = 0;
    return found;
  }
  found.circularity = second / found.power;
  double squares = 0;
  for (const auto& [part_second, part_power] : centred) {
    squares += std::norm(part_second - found.circularity * part_power);
  }
  found.circularity_deviation = DeviationOfMean(squares, parts) / found.power;
  return found;
}

void IqCorrection::Apply(std::vector<Complex>* samples) const {
  for (Complex& sample : *samples) {
    const Complex z = sample - dc;
    // By hand: the operator minds infinities, and is ten times slower for it.
    sample = Complex(z.real() + weight.real() * z.real() + weight.imag() * z.imag(),
                     z.imag() + weight.imag() * z.real() - weight.real() * z.imag()) *
             scale;
  }
}

absl::StatusOr<IqCorrection> ToCorrection(const FrontEnd& found, const WantedCorrection& wanted) {
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(wanted.dc && wanted.iq
                                                       ? "--remove-dc, --correct-iq: "
                                                   : wanted.dc ? "--remove-dc: "
                                                               : "--correct-iq: ",
                                                   what));
  };
  IqCorrection correction;
  if (!wanted.dc && !wanted.iq) {
    return correction;
  }
  if (found.samples < kLeastFrontEndSamples) {
    return refuse(absl::StrCat("of ", found.samples, " samples nothing can be told: it takes ",
                               kLeastFrontEndSamples));
  }
  if (found.power <= 0) {
    return refuse("all samples are the same: nothing would be left of them");
  }
  if (wanted.dc && found.tells_dc()) {
    correction.dc = Complex(found.dc);
  }
  if (!wanted.iq) {
    return correction;
  }
  if (found.image() == FrontEnd::Image::kReal) {
    return absl::InvalidArgumentError("--correct-iq: the samples are real, they have no Q");
  }
  if (found.image() == FrontEnd::Image::kOfSignal) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--correct-iq: |E[x^2]| is %.2f of E[|x|^2], more than any receiver makes: the signal"
        " itself is not circular, as a real one or BPSK at zero is not, and hides the receiver's"
        " imbalance",
        std::abs(found.circularity)));
  }
  if (found.image() == FrontEnd::Image::kTold) {
    const std::complex<double> weight = found.image_weight();
    correction.weight = Complex(weight);
    correction.scale = static_cast<float>(1 / (1 - std::norm(weight)));
  }
  return correction;
}

std::string ToText(const FrontEnd& found, const WantedCorrection& wanted) {
  std::string text;
  if (found.tells_dc() && found.power > 0) {
    absl::StrAppendFormat(&text, "DC %.1f dB%s",
                          Decibels(std::abs(found.dc) / std::sqrt(found.power)),
                          wanted.dc ? ", removed" : "");
  } else if (wanted.dc) {
    text = "no DC to be removed";
  }
  const char* const between = text.empty() ? "" : "; ";
  if (found.image() == FrontEnd::Image::kTold) {
    absl::StrAppendFormat(&text, "%simage %.1f dB (I/Q gain %+.2f dB, phase %+.2f degrees)%s",
                          between, found.image_db(), found.gain_db(), found.phase_degrees(),
                          wanted.iq ? ", removed" : "");
  } else if (wanted.iq) {
    absl::StrAppend(&text, between, "no image to be removed");
  }
  return text;
}

nlohmann::ordered_json ToJson(const FrontEnd& found, const WantedCorrection& wanted) {
  nlohmann::ordered_json json = {
      {"samples", found.samples},
      {"power", found.power},
      {"dc", {found.dc.real(), found.dc.imag()}},
      {"dc_deviation", found.dc_deviation},
      {"dc_removed", wanted.dc && found.tells_dc()},
      {"image_removed", wanted.iq && found.image() == FrontEnd::Image::kTold}};
  if (found.image() == FrontEnd::Image::kTold) {
    json["image_db"] = found.image_db();
    json["iq_gain_db"] = found.gain_db();
    json["iq_phase_degrees"] = found.phase_degrees();
  }
  return json;
}

}  // namespace baseband::ctl
