#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/ctl/carrier/carrier_report.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

const char* NameOfResolution(v1::AmbiguityResolution resolution) {
  return resolution == v1::AMBIGUITY_RESOLUTION_KNOWN_SYMBOLS ? "known_symbols" : "none";
}

// What is not known is no number.
nlohmann::ordered_json OrNull(double value, bool is_known) {
  return is_known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

// Without a coarse stage there is none.
bool HasPeak(const v1::CarrierResult& result) { return result.peak_ratio() != 0; }

// "no_peak" and so on, for programs.
// A value's name without what all of its enum's begin with: "known_symbols".
std::string NameOf(absl::string_view value, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(value, prefix));
}
std::string NameOfLock(v1::CarrierLock lock) {
  return NameOf(v1::CarrierLock_Name(lock), "CARRIER_LOCK_");
}
std::string NameOfLock(v1::TimingLock lock) {
  return NameOf(v1::TimingLock_Name(lock), "TIMING_LOCK_");
}
std::string NameOfCoarse(v1::CoarseMethod coarse) {
  return NameOf(v1::CoarseMethod_Name(coarse), "COARSE_METHOD_");
}

}  // namespace

nlohmann::ordered_json ToJson(const CarrierReport& report) {
  const bool knows_hz = report.group.symbol_rate_hz() > 0;
  nlohmann::ordered_json json;
  json["input"] = report.input;
  json["constellation"] = report.group.constellation().name();
  json["frame_symbols"] = report.frame_symbols();
  json["symbol_rate_hz"] = OrNull(report.group.symbol_rate_hz(), knows_hz);
  json["reach"] = {{"max_frequency", report.recovered->reach.max_frequency()},
                   {"modulo", report.recovered->reach.modulo()},
                   {"coarse", NameOfCoarse(report.recovered->reach.coarse())}};
  json["frames_locked"] = report.locked();
  json["frames"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < report.recovered->frames.size(); ++i) {
    const v1::CarrierResult& result = report.recovered->frames[i];
    json["frames"].push_back(
        {{"locked", report.is_locked(static_cast<int64_t>(i))},
         {"lock", NameOfLock(result.lock())},
         {"frequency", result.frequency()},
         {"frequency_stddev", result.frequency_stddev()},
         {"frequency_hz", OrNull(result.frequency_hz(), knows_hz)},
         {"frequency_stddev_hz", OrNull(result.frequency_stddev_hz(), knows_hz)},
         {"phase", result.phase()},
         {"phase_stddev", result.phase_stddev()},
         {"ambiguity", result.ambiguity()},
         {"resolution", NameOfResolution(result.resolution())},
         {"gain", result.gain()},
         {"snr_db", result.snr_db()},
         {"evm", result.evm()},
         {"mer_db", result.mer_db()},
         {"peak_ratio", OrNull(result.peak_ratio(), HasPeak(result))},
         {"fit", result.fit()},
         {"coarse_frequency", result.coarse_frequency()}});
    if (report.recovered->timings.empty()) continue;
    const v1::TimingEstimate& timing = report.recovered->timings[i];
    json["frames"].back()["timing"] = {{"lock", NameOfLock(timing.lock())},
                                       {"offset", timing.offset()},
                                       {"offset_stddev", timing.offset_stddev()},
                                       {"clock_error", timing.clock_error()},
                                       {"clock_error_stddev", timing.clock_error_stddev()},
                                       {"centre_stddev", timing.centre_stddev()},
                                       {"refined", timing.refined()},
                                       {"line", timing.line()},
                                       {"spectrum_centre", timing.spectrum_centre()}};
  }
  json["requests"] = report.recovered->times.requests;
  json["seconds"] = absl::ToDoubleSeconds(report.recovered->times.wall);
  return json;
}

std::string ToCsv(const CarrierReport& report) {
  std::string csv =
      "frame,lock,frequency_cycles_per_symbol,frequency_stddev_cycles_per_symbol,frequency_hz,"
      "frequency_stddev_hz,phase_rad,phase_stddev_rad,ambiguity,resolution,gain,snr_db,"
      "evm_fraction,mer_db,peak_ratio,fit_nats,coarse_frequency_cycles_per_symbol";
  const bool has_timing = !report.recovered->timings.empty();
  absl::StrAppend(&csv, has_timing ? ",timing_lock,offset_symbols,offset_stddev_symbols,"
                                     "clock_error_fraction,clock_error_stddev_fraction,"
                                     "centre_stddev_symbols,refined,line,"
                                     "spectrum_centre_cycles_per_symbol\n"
                                   : "\n");
  int64_t frame = 0;
  for (const v1::CarrierResult& result : report.recovered->frames) {
    // Nobody knows Hz without a symbol rate.
    const std::string hz =
        report.group.symbol_rate_hz() > 0
            ? absl::StrFormat("%.15g,%.4g", result.frequency_hz(), result.frequency_stddev_hz())
            : ",";
    absl::StrAppendFormat(
        &csv, "%d,%s,%.15g,%.4g,%s,%.9g,%.4g,%d,%s,%.6g,%.3f,%.6g,%.3f,%s,%.6g,%.15g", frame,
        NameOfLock(result.lock()), result.frequency(), result.frequency_stddev(), hz,
        result.phase(), result.phase_stddev(), result.ambiguity(),
        NameOfResolution(result.resolution()), result.gain(), result.snr_db(), result.evm(),
        result.mer_db(), HasPeak(result) ? absl::StrFormat("%.5g", result.peak_ratio()) : "",
        result.fit(), result.coarse_frequency());
    if (has_timing) {
      const v1::TimingEstimate& timing = report.recovered->timings[frame];
      absl::StrAppendFormat(&csv, ",%s,%.12g,%.4g,%.12g,%.4g,%.4g,%s,%.6g,%.6g",
                            NameOfLock(timing.lock()), timing.offset(), timing.offset_stddev(),
                            timing.clock_error(), timing.clock_error_stddev(),
                            timing.centre_stddev(), timing.refined() ? "true" : "false",
                            timing.line(), timing.spectrum_centre());
    }
    csv.push_back('\n');
    ++frame;
  }
  return csv;
}

}  // namespace baseband::ctl
