#include "client/ctl/carrier/carrier_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/ctl/carrier/carrier_flags.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {
namespace {

constexpr double kPpm = 1e6;

bool IsLocked(const v1::CarrierResult& result) { return result.lock() == v1::CARRIER_LOCK_LOCKED; }
bool IsLocked(const v1::TimingEstimate& timing) { return timing.lock() == v1::TIMING_LOCK_LOCKED; }

// Decimals that show two digits of `deviation`, within reason.
int Decimals(double deviation, int most) {
  if (!(deviation > 0) || !std::isfinite(deviation)) {
    return most;
  }
  return std::clamp(1 - static_cast<int>(std::floor(std::log10(deviation))), 0, most);
}

// "+0.0123456 +- 0.0000012", both with the decimals that the deviation is worth.
std::string WithDeviation(double value, double deviation, int most) {
  const int decimals = Decimals(deviation, most);
  return absl::StrFormat("%+.*f +- %.*f", decimals, value, decimals, deviation);
}

std::string Modulo(uint32_t ambiguity) {
  return absl::StrFormat("%.4g", 360.0 / std::max(1U, ambiguity));
}

std::string Percent(double evm) { return absl::StrFormat("%.2f %%", 100 * evm); }

// Three digits or all before the point; "-": without a coarse stage there is none.
std::string PeakRatio(double ratio) {
  if (ratio == 0) return "-";
  return absl::StrFormat("%.*f", ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
}

// "|frequency| <= 0.125, modulo 0.25 cycles/symbol"; empty from a server that does not tell.
std::string DescribeReach(const v1::CarrierReach& reach) {
  if (!(reach.modulo() > 0)) return "";
  return absl::StrCat(reach.max_frequency() > 0
                          ? absl::StrFormat("|frequency| <= %.6g", reach.max_frequency())
                          : "near zero only",
                      absl::StrFormat(", modulo %.6g cycles/symbol", reach.modulo()));
}

// Whose peak it is. Known symbols that lie apart have many alike, of which the other symbols choose
// one.
absl::string_view OfKnownSymbols(const v1::CarrierReach& reach) {
  return reach.coarse() == v1::COARSE_METHOD_KNOWN_SYMBOLS ? ", by the known symbols alone" : "";
}

void PrintOne(const CarrierReport& report, std::FILE* stream) {
  const v1::CarrierResult& result = report.recovered->frames[0];
  const auto row = [&](const char* name, const std::string& value) {
    absl::FPrintF(stream, "%-11s %s\n", name, value);
  };
  if (!report.recovered->timings.empty()) {
    const v1::TimingEstimate& timing = report.recovered->timings[0];
    row("timing", IsLocked(timing)
                      ? absl::StrCat(WithDeviation(timing.offset(), timing.offset_stddev(), 6),
                                     " symbols after the first sample")
                      : absl::StrCat(Bad("NO"), ": ", Wrap(LongReason(timing.lock()), 62, 12)));
    if (timing.lock() != v1::TIMING_LOCK_NO_SIGNAL) {
      row("clock", absl::StrCat(WithDeviation(kPpm * timing.clock_error(),
                                              kPpm * timing.clock_error_stddev(), 4),
                                " ppm"));
    }
  }
  row("lock", report.is_locked(0) ? Good("yes")
              : IsLocked(result)  ? absl::StrCat(Bad("NO"), ": the symbols' timing is a guess")
                                 : absl::StrCat(Bad("NO"), ": ", Wrap(LongReason(result), 62, 12)));
  if (result.lock() == v1::CARRIER_LOCK_NO_SIGNAL) {
    return;
  }
  row("frequency", absl::StrCat(WithDeviation(result.frequency(), result.frequency_stddev(), 12),
                                " cycles/symbol"));
  if (report.group.symbol_rate_hz() > 0) {
    row("",
        absl::StrCat(WithDeviation(result.frequency_hz(), result.frequency_stddev_hz(), 6), " Hz"));
  }
  row("phase",
      absl::StrCat(WithDeviation(kDegreesPerRadian * result.phase(),
                                 kDegreesPerRadian * result.phase_stddev(), 5),
                   " degrees at ", Describe(report.group.reference()),
                   result.ambiguity() > 1 ? absl::StrCat(", modulo ", Modulo(result.ambiguity()))
                   : result.resolution() == v1::AMBIGUITY_RESOLUTION_KNOWN_SYMBOLS
                       ? ", by the known symbols"
                       : ""));
  row("SNR", absl::StrFormat("%.2f dB (Es/N0), gain %.4g", result.snr_db(), result.gain()));
  row("EVM", absl::StrFormat("%s, MER %.2f dB", Percent(result.evm()), result.mer_db()));
  if (result.peak_ratio() != 0) {
    row("peak", absl::StrCat(PeakRatio(result.peak_ratio()), " times the power of the next",
                             OfKnownSymbols(report.recovered->reach)));
  }
  if (const std::string reach = DescribeReach(report.recovered->reach); !reach.empty()) {
    row("reach", reach);
  }
}

// Wide enough for what is in the column.
struct Column {
  std::string head;
  std::vector<std::string> cells;
  bool right = true;

  size_t width() const {
    size_t width = head.size();
    for (const std::string& cell : cells) {
      width = std::max(width, cell.size());
    }
    return width;
  }
};

void PrintColumns(const std::vector<Column>& columns, const CarrierReport& report, int64_t rows,
                  std::FILE* stream) {
  for (int64_t row = -1; row < rows; ++row) {
    std::string line;
    for (const Column& column : columns) {
      const std::string& cell = row < 0 ? column.head : column.cells[row];
      const std::string fill(column.width() - cell.size(), ' ');
      const bool bad = row >= 0 && column.head == "lock" && !report.is_locked(row);
      absl::StrAppend(&line, line.empty() ? "" : "  ", column.right ? fill : "",
                      bad ? Bad(cell) : cell, column.right ? "" : fill);
    }
    absl::FPrintF(stream, "%s\n", absl::StripTrailingAsciiWhitespace(line));
  }
}

void AddTimingColumns(const CarrierReport& report, int64_t rows, std::vector<Column>* columns) {
  if (report.recovered->timings.empty()) {
    return;
  }
  std::vector<Column> added = {{"offset", {}}, {"+-", {}}, {"clock ppm", {}}, {"+-", {}}};
  for (int64_t i = 0; i < rows; ++i) {
    const v1::TimingEstimate& timing = report.recovered->timings[i];
    const double clock_stddev = kPpm * timing.clock_error_stddev();
    added[0].cells.push_back(
        absl::StrFormat("%.*f", Decimals(timing.offset_stddev(), 6), timing.offset()));
    added[1].cells.push_back(absl::StrFormat("%.1e", timing.offset_stddev()));
    added[2].cells.push_back(
        absl::StrFormat("%+.*f", Decimals(clock_stddev, 4), kPpm * timing.clock_error()));
    added[3].cells.push_back(absl::StrFormat("%.2g", clock_stddev));
  }
  columns->insert(columns->end(), added.begin(), added.end());
}

void PrintTable(const CarrierReport& report, int64_t rows, std::FILE* stream) {
  const bool hz = report.group.symbol_rate_hz() > 0;
  std::vector<Column> columns = {{"frame", {}}, {"lock", {}, false}, {"cycles/symbol", {}},
                                 {"+-", {}},    {"Hz", {}},          {"+-", {}},
                                 {"phase", {}}, {"+-", {}},          {"SNR dB", {}},
                                 {"EVM %", {}}, {"MER dB", {}},      {"peak", {}}};
  for (int64_t i = 0; i < rows; ++i) {
    const v1::CarrierResult& result = report.recovered->frames[i];
    const double phase_deviation = kDegreesPerRadian * result.phase_stddev();
    const std::string cells[] = {
        absl::StrCat(i),
        report.reason(i),
        absl::StrFormat("%+.*f", Decimals(result.frequency_stddev(), 9), result.frequency()),
        absl::StrFormat("%.1e", result.frequency_stddev()),
        absl::StrFormat("%+.*f", Decimals(result.frequency_stddev_hz(), 3), result.frequency_hz()),
        absl::StrFormat("%.2g", result.frequency_stddev_hz()),
        absl::StrFormat("%+.*f", Decimals(phase_deviation, 3), kDegreesPerRadian * result.phase()),
        absl::StrFormat("%.2g", phase_deviation),
        absl::StrFormat("%.2f", result.snr_db()),
        absl::StrFormat("%.2f", 100 * result.evm()),
        absl::StrFormat("%.2f", result.mer_db()),
        PeakRatio(result.peak_ratio())};
    for (size_t c = 0; c < columns.size(); ++c) {
      columns[c].cells.push_back(cells[c]);
    }
  }
  if (!hz) {
    columns.erase(columns.begin() + 4, columns.begin() + 6);
  }
  AddTimingColumns(report, rows, &columns);
  PrintColumns(columns, report, rows, stream);
}

// "no lock: 3 no peak, 1 bad fit", and what the phases mean.
void PrintSummary(const CarrierReport& report, int64_t rows, std::FILE* stream) {
  const std::vector<v1::CarrierResult>& frames = report.recovered->frames;
  const int64_t count = static_cast<int64_t>(frames.size());
  if (rows < count) {
    absl::FPrintF(stream, "(%s more: --all shows them, --csv writes them)\n",
                  Plural(count - rows, "frame"));
  }
  std::map<std::string, int> reasons;
  std::map<uint32_t, int> ambiguities;
  for (int64_t i = 0; i < count; ++i) {
    ++ambiguities[frames[i].ambiguity()];
    if (!report.is_locked(i)) {
      ++reasons[report.reason(i)];
    }
  }
  std::string why;
  for (const auto& reason : reasons) {
    absl::StrAppend(&why, why.empty() ? ": " : ", ", reason.second, " ", reason.first);
  }
  // A frame may leave its phase less sure than the constellation's symmetry does.
  std::string modulo;
  for (const auto& [ambiguity, times] : ambiguities) {
    absl::StrAppend(&modulo, modulo.empty() ? "" : ", ", Modulo(ambiguity),
                    ambiguities.size() == 1 ? "" : absl::StrCat(" in ", Plural(times, "frame")));
  }
  absl::FPrintF(stream, "Phases in degrees at %s, modulo %s.\n", Describe(report.group.reference()),
                modulo);
  if (const std::string reach = DescribeReach(report.recovered->reach); !reach.empty()) {
    absl::FPrintF(stream, "Reach: %s.\n", reach);
  }
  const std::string locked =
      absl::StrCat(report.locked(), " of ", Plural(count, "frame"), " locked");
  absl::FPrintF(stream, "%s%s\n", reasons.empty() ? Good(locked) : Bad(locked), why);
}

}  // namespace

bool CarrierReport::is_locked(int64_t frame) const {
  return IsLocked(recovered->frames[frame]) &&
         (recovered->timings.empty() || IsLocked(recovered->timings[frame]));
}

std::string CarrierReport::reason(int64_t frame) const {
  if (!recovered->timings.empty() && !IsLocked(recovered->timings[frame])) {
    return ShortReason(recovered->timings[frame].lock());
  }
  return ShortReason(recovered->frames[frame].lock());
}

int64_t CarrierReport::locked() const {
  int64_t locked = 0;
  for (size_t i = 0; i < recovered->frames.size(); ++i) {
    locked += is_locked(static_cast<int64_t>(i)) ? 1 : 0;
  }
  return locked;
}

int64_t CarrierReport::frame_symbols() const {
  return group.has_timing() ? recovered->reach.frame_symbols() : group.frame_symbols();
}

std::string ShortReason(v1::CarrierLock lock) {
  switch (lock) {
    case v1::CARRIER_LOCK_LOCKED:
      return "yes";
    case v1::CARRIER_LOCK_NO_SIGNAL:
      return "no signal";
    case v1::CARRIER_LOCK_NO_PEAK:
      return "no peak";
    case v1::CARRIER_LOCK_AMBIGUOUS:
      return "ambiguous";
    case v1::CARRIER_LOCK_BAD_FIT:
      return "bad fit";
    default:
      return "no";
  }
}

std::string ShortReason(v1::TimingLock lock) {
  switch (lock) {
    case v1::TIMING_LOCK_LOCKED:
      return "yes";
    case v1::TIMING_LOCK_NO_SIGNAL:
      return "no signal";
    case v1::TIMING_LOCK_NO_LINE:
      return "no timing";
    case v1::TIMING_LOCK_TOO_SHORT:
      return "too short";
    default:
      return "no";
  }
}

std::string LongReason(v1::TimingLock lock) {
  switch (lock) {
    case v1::TIMING_LOCK_LOCKED:
      return "locked";
    case v1::TIMING_LOCK_NO_SIGNAL:
      return "no signal: the frame is all zero";
    case v1::TIMING_LOCK_NO_LINE:
      return "no line at the symbol rate stands out of the noise: another --samples-per-symbol, a"
             " clock error beyond --max-clock-error, no modulation, or too much noise, against"
             " which longer frames help. What follows is a guess.";
    case v1::TIMING_LOCK_TOO_SHORT:
      return "the frame is too short to show its timing at this --roll-off. What follows is a"
             " guess.";
    default:
      return "the server gave no reason";
  }
}

std::string LongReason(const v1::CarrierResult& result) {
  switch (result.lock()) {
    case v1::CARRIER_LOCK_LOCKED:
      return "locked";
    case v1::CARRIER_LOCK_NO_SIGNAL:
      return "no signal: the frame is all zero";
    case v1::CARRIER_LOCK_NO_PEAK:
      return "no peak stands out of the noise: the frame is too short or too noisy for this"
             " constellation, the frequency is beyond the range, or symbols that are told as known"
             " were not sent. Longer frames and right known symbols (--known) help. What follows is"
             " a guess.";
    case v1::CARRIER_LOCK_AMBIGUOUS:
      return absl::StrCat("another frequency fits nearly as well (peak ratio ",
                          PeakRatio(result.peak_ratio()),
                          "). A longer frame, more known symbols or --max-frequency help. What"
                          " follows is a guess.");
    case v1::CARRIER_LOCK_BAD_FIT:
      return "the corrected symbols do not lie at the points, or at some of them only: another"
             " constellation, a frequency that drifts, or too much noise. Or symbols that are told"
             " as known are not what was received. What follows is a guess.";
    default:
      return "the server gave no reason";
  }
}

void PrintReport(const CarrierReport& report, int64_t max_rows, std::FILE* stream) {
  const int64_t count = static_cast<int64_t>(report.recovered->frames.size());
  const TransferTimes& times = report.recovered->times;
  const double symbols = static_cast<double>(count) * static_cast<double>(report.frame_symbols());
  absl::FPrintF(stream, "%s: %s of %s of %s\n", report.input, Plural(count, "frame"),
                Plural(report.frame_symbols(), "symbol"), Describe(report.group.constellation()));
  if (count == 1) {
    PrintOne(report, stream);
  } else {
    const int64_t rows = std::min(count, max_rows);
    PrintTable(report, rows, stream);
    PrintSummary(report, rows, stream);
  }
  const double rate = symbols / absl::ToDoubleSeconds(times.wall);
  absl::FPrintF(stream, "%s in %s, %ssymbols/s; server: kernels %s, batch of %s\n",
                HumanDuration(times.wall), Plural(times.requests, "request"),
                rate < 1000 ? absl::StrCat(HumanCount(rate), " ") : HumanCount(rate),
                HumanDuration(absl::Microseconds(times.kernel_us)),
                times.batch_blocks == 1 ? "1 frame"
                                        : absl::StrCat(HumanCount(times.batch_blocks), " frames"));
}

}  // namespace baseband::ctl
