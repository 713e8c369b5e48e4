#include "client/ctl/minimize/minimize_flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/step_range.h"
#include "client/ctl/minimize/number_files.h"
#include "common/numbers/numbers.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

constexpr double kMaxCount = 1099511627776.0;  // 2^40
constexpr uint32_t kProgressMs = 200;
constexpr uint32_t kProfileBins = 1024;

// "NAME=REST".
absl::StatusOr<std::pair<std::string, std::string>> SplitName(absl::string_view flag,
                                                              absl::string_view text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.first.empty() || parts.second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " '", text, "' is not NAME=.."));
  }
  return parts;
}

void Append(const std::vector<double>& numbers, std::string* payload) {
  payload->append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
}

absl::Status AddExpression(const MinimizeFlags& flags, v1::MinimizeRequest* request) {
  v1::Expression& expression = *request->mutable_expression();
  expression.set_text(flags.expression);
  for (const std::string& text : flags.scalars) {
    const auto parts = SplitName("--scalar", text);
    if (!parts.ok()) return parts.status();
    const absl::StatusOr<double> value = ParseNumber(parts->second);
    if (!value.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--scalar '", text, "': ", value.status().message()));
    }
    v1::NamedScalar& scalar = *expression.add_scalars();
    scalar.set_name(parts->first);
    scalar.set_value(*value);
  }
  for (const std::string& text : flags.arrays) {
    const auto parts = SplitName("--array", text);
    if (!parts.ok()) return parts.status();
    const absl::StatusOr<NumberFile> file = ReadNumbers(parts->second);
    if (!file.ok()) return file.status();
    if (file->is_complex) {
      return absl::InvalidArgumentError(
          absl::StrCat("--array '", text, "' holds complex samples: an array has real numbers"));
    }
    v1::NamedArray& array = *expression.add_arrays();
    array.set_name(parts->first);
    array.set_size(file->numbers.size());
    Append(file->numbers, request->mutable_payload());
  }
  return absl::OkStatus();
}

// --signal and then `others`, as long as it, into the payload.
struct Signals {
  size_t numbers = 0;       // of each
  bool is_complex = false;  // the signal's file says so
};
absl::StatusOr<Signals> AddSignals(const MinimizeFlags& flags,
                                   const std::vector<std::string>& others,
                                   v1::MinimizeRequest* request) {
  if (flags.signal.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(flags.builtin, " needs --signal FILE"));
  }
  const auto signal = ReadNumbers(flags.signal);
  if (!signal.ok()) return signal.status();
  Append(signal->numbers, request->mutable_payload());
  for (const std::string& path : others) {
    const auto other = ReadNumbers(path);
    if (!other.ok()) return other.status();
    if (other->numbers.size() != signal->numbers.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(InputName(path), " has ", other->numbers.size(), " numbers, ",
                       InputName(flags.signal), " ", signal->numbers.size()));
    }
    Append(other->numbers, request->mutable_payload());
  }
  return Signals{signal->numbers.size(), signal->is_complex};
}

// Of what is of samples: that the file does not end between I and Q.
absl::Status CheckPairs(const MinimizeFlags& flags, const Signals& signals) {
  if (signals.numbers % 2 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(InputName(flags.signal), " has ", signals.numbers,
                                                 " numbers, not a multiple of the 2 of a sample"
                                                 " (I, then Q)"));
}

absl::Status AddSinusoids(const MinimizeFlags& flags, v1::MinimizeRequest* request) {
  const absl::StatusOr<Signals> signals = AddSignals(flags, flags.columns, request);
  if (!signals.ok()) return signals.status();
  v1::SinusoidsFunctional& sinusoids = *request->mutable_sinusoids();
  sinusoids.set_is_complex(flags.is_complex || signals->is_complex);
  if (sinusoids.is_complex()) BASEBAND_RETURN_IF_ERROR(CheckPairs(flags, *signals));
  sinusoids.set_num_samples(signals->numbers / (sinusoids.is_complex() ? 2 : 1));
  sinusoids.set_sampling_interval_s(flags.interval_s);
  sinusoids.set_fixed_columns(static_cast<uint32_t>(flags.columns.size()));
  return absl::OkStatus();
}

// A chirp, or a delay and a Doppler shift: of samples of I, then Q.
template <typename Matched>
absl::Status AddMatched(const MinimizeFlags& flags, const std::vector<std::string>& others,
                        Matched* functional, v1::MinimizeRequest* request) {
  const absl::StatusOr<Signals> signals = AddSignals(flags, others, request);
  if (!signals.ok()) return signals.status();
  BASEBAND_RETURN_IF_ERROR(CheckPairs(flags, *signals));
  functional->set_num_samples(signals->numbers / 2);
  functional->set_sampling_interval_s(flags.interval_s);
  return absl::OkStatus();
}

absl::Status AddFunctional(const MinimizeFlags& flags, v1::MinimizeRequest* request) {
  if (flags.expression.empty() == flags.builtin.empty()) {
    return absl::InvalidArgumentError("give either an EXPRESSION or --builtin NAME");
  }
  if (flags.builtin.empty()) return AddExpression(flags, request);
  if (flags.builtin == "sinusoids") return AddSinusoids(flags, request);
  if (flags.builtin == "chirp") return AddMatched(flags, {}, request->mutable_chirp(), request);
  if (flags.builtin == "delay-doppler") {
    if (flags.replica.empty()) {
      return absl::InvalidArgumentError("delay-doppler needs --replica FILE");
    }
    return AddMatched(flags, {flags.replica}, request->mutable_delay_doppler(), request);
  }
  request->mutable_schwefel();
  return absl::OkStatus();
}

template <typename Enum>
Enum Named(const std::string& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  return static_cast<Enum>(found == names.end() ? 0 : found - names.begin() + 1);
}

const std::vector<std::string>& MethodNames() {
  static const auto* const kNames = new std::vector<std::string>{"fast", "hoisted", "literal"};
  return *kNames;
}
const std::vector<std::string>& RefinementNames() {
  static const auto* const kNames =
      new std::vector<std::string>{"none", "zoom", "parabola", "brent", "newton"};
  return *kNames;
}

absl::Status AddProfile(const std::string& text, v1::MinimizeRequest* request) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  int axis = 0;
  while (axis < request->axes_size() && request->axes(axis).name() != parts[0]) ++axis;
  if (axis == request->axes_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--profile ", text, ": no --axis is called ", parts[0]));
  }
  uint32_t bins =
      static_cast<uint32_t>(std::min<uint64_t>(kProfileBins, request->axes(axis).count()));
  if (parts.size() > 2 || (parts.size() == 2 && !ParseWholeIn(parts[1], 1, 4096, &bins))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--profile ", text, " is not NAME[:BINS] with BINS in [1, 4096]"));
  }
  request->set_profile_axis(static_cast<uint32_t>(axis));
  request->set_profile_bins(bins);
  return absl::OkStatus();
}

}  // namespace

void AddMinimizeFlags(CLI::App* command, MinimizeFlags* flags) {
  command->add_option("EXPRESSION", flags->expression, "formula of the axes' names");
  const char* functional = "Functional";
  command
      ->add_option(
          "--builtin", flags->builtin,
          "schwefel, or the rest of a signal once this is taken out: sinusoids at the axes'"
          " frequencies and fixed columns; a chirp (axes: rate in Hz/s, frequency in its"
          " middle); a replica (delay-doppler; axes: s, Hz)")
      ->check(OneOf({"schwefel", "sinusoids", "chirp", "delay-doppler"}))
      ->type_name("NAME")
      ->group(functional);
  command->add_option("--scalar", flags->scalars, "a number of the formula")
      ->type_name("NAME=VALUE")
      ->group(functional);
  command
      ->add_option("--array", flags->arrays,
                   "numbers of the formula: .csv or .txt, .f64, .f32, .i16, ..")
      ->type_name("NAME=FILE")
      ->group(functional);
  command
      ->add_option("--signal", flags->signal,
                   "what was observed: .cf32, .ci16, .sigmf-meta, ..; .f32, .f64, .csv or .txt: "
                   "for chirp and"
                   " delay-doppler I, then Q")
      ->type_name("FILE")
      ->group(functional);
  command->add_option("--column", flags->columns, "sinusoids: a known signal of unknown amplitude")
      ->type_name("FILE")
      ->group(functional);
  command->add_option("--replica", flags->replica, "delay-doppler: what was sent, I, then Q")
      ->type_name("FILE")
      ->group(functional);
  AddTime(command, "--interval", &flags->interval_s,
          {absl::ZeroDuration(), absl::InfiniteDuration(), /*open=*/true}, "between samples (1s)")
      ->group(functional);
  command
      ->add_flag("--complex", flags->is_complex,
                 "sinusoids: samples are I, then Q (.cf32 and others say so)")
      ->group(functional);

  const char* grid = "Grid";
  command
      ->add_option("--axis", flags->axes,
                   "NAME=BEGIN:STEP:END, the points of a variable: END, too, if whole steps lead"
                   " there; or NAME=BEGIN:STEP*COUNT; 1 to 4 axes; numbers take k, M, G")
      ->required()
      ->type_name("AXIS")
      ->group(grid);
  AddNumber(command, "--first-point", "N", &flags->first_point, Between(0, kMaxCount),
            "number of the first point (0)")
      ->group(grid);
  AddNumber(command, "--points", "N", &flags->num_points, Between(1, kMaxCount),
            "points from there on (all)")
      ->group(grid);

  const char* search = "Search";
  command->add_flag("--max", flags->maximum, "look for the greatest value instead of the least")
      ->group(search);
  command->add_flag("--float32", flags->float32, "search in single precision")->group(search);
  command
      ->add_option("--method", flags->method,
                   "of signals: fast, hoisted or, for a real sinusoid, literal (fast)")
      ->check(OneOf(MethodNames()))
      ->type_name("NAME")
      ->group(search);
  command
      ->add_flag("--fail-on-nan", flags->fail_on_nan,
                 "stop where there is no value, with exit code 4")
      ->group(search);
  AddNumber(command, "--top", "N", &flags->top, Between(1, 64), "how many of the best points (1)")
      ->group(search);
  AddNumber(command, "--separation", "N", &flags->separation, Between(1, kMaxCount),
            "steps between them, on one axis at least; a number for each axis (1)")
      ->group(search);
  command
      ->add_option("--refine", flags->refinement,
                   "between the points: none, zoom, parabola, brent or newton (none)")
      ->check(OneOf(RefinementNames()))
      ->type_name("NAME")
      ->group(search);
  command
      ->add_option("--profile", flags->profile,
                   "the best value in each of N (1024) parts of an axis, for"
                   " --plot and --csv; AXIS is NAME or NAME:N")
      ->type_name("AXIS")
      ->group(search);
}

absl::StatusOr<v1::GridAxis> ParseAxis(absl::string_view text, std::vector<std::string>* notes) {
  const auto wrong = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("--axis '", text, "': ", why));
  };
  const auto named = SplitName("--axis", text);
  if (!named.ok()) return named.status();
  const std::vector<std::string> parts = absl::StrSplit(named->second, absl::ByAnyChar(":*"));
  const bool counted = absl::StrContains(named->second, '*');
  if (parts.size() != 3) return wrong("not BEGIN:STEP:END or BEGIN:STEP*COUNT");
  double numbers[3];
  for (size_t k = 0; k < 3; ++k) {
    const absl::StatusOr<double> number = ParseNumber(parts[k]);
    if (!number.ok()) return wrong(number.status().message());
    numbers[k] = *number;
  }
  double count = numbers[2];
  if (!counted) {
    const absl::StatusOr<StepRange> range = ToStepRange(numbers[0], numbers[1], numbers[2]);
    if (!range.ok()) return wrong(range.status().message());
    count = range->count;
    if (notes != nullptr && !range->reaches_end) {
      notes->push_back(absl::StrCat("--axis ", named->first, " ", range->Note()));
    }
  }
  if (!(count >= 1 && count <= kMaxCount)) {
    return wrong(counted ? "COUNT is not in [1, 2^40]" : "more than 2^40 points");
  }
  v1::GridAxis axis;
  axis.set_name(named->first);
  axis.set_begin(numbers[0]);
  axis.set_step(numbers[1]);
  axis.set_count(static_cast<uint64_t>(count));
  return axis;
}

absl::StatusOr<v1::MinimizeRequest> ToMinimizeRequest(const MinimizeFlags& flags,
                                                      std::vector<std::string>* notes) {
  v1::MinimizeRequest request;
  for (const std::string& text : flags.axes) {
    absl::StatusOr<v1::GridAxis> axis = ParseAxis(text, notes);
    if (!axis.ok()) return axis.status();
    *request.add_axes() = *std::move(axis);
  }
  if (absl::Status status = AddFunctional(flags, &request); !status.ok()) return status;
  request.set_goal(flags.maximum ? v1::SEARCH_GOAL_MAXIMUM : v1::SEARCH_GOAL_MINIMUM);
  request.set_precision(flags.float32 ? v1::SEARCH_PRECISION_FLOAT32
                                      : v1::SEARCH_PRECISION_FLOAT64);
  request.set_method(Named<v1::SearchMethod>(flags.method, MethodNames()));
  request.set_nan_policy(flags.fail_on_nan ? v1::NAN_POLICY_FAIL : v1::NAN_POLICY_SKIP);
  request.set_top(flags.top);
  request.mutable_separation()->Add(flags.separation.begin(), flags.separation.end());
  request.set_refinement(Named<v1::Refinement>(flags.refinement, RefinementNames()));
  if (!flags.profile.empty()) {
    if (absl::Status status = AddProfile(flags.profile, &request); !status.ok()) return status;
  }
  request.set_first_point(flags.first_point);
  request.set_num_points(flags.num_points);
  request.set_progress_interval_ms(kProgressMs);
  return request;
}

}  // namespace baseband::ctl
