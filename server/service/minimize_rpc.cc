#include "server/service/minimize_rpc.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/matched.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/sinusoids.h"
#include "server/service/rpc.h"

namespace baseband::server {
namespace {

constexpr const char* kAxisNames[] = {"x", "y", "z", "w"};
constexpr uint32_t kMinProgressMs = 10;
constexpr uint32_t kMaxProgressMs = 60000;
constexpr int kDefaultZoomLevels = 3;

// Beyond what int64 holds: what checks ranges refuses it by its own name.
int64_t Saturated(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(value, kMax));
}

// An enum of the wire whose 0 stands for its first value. `values` are those of 1 ..
template <typename Value, size_t kCount>
absl::StatusOr<Value> FromEnum(absl::string_view field, int value, const Value (&values)[kCount]) {
  if (value < 0 || value > static_cast<int>(kCount)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", value, " is not in [0, ", kCount, "]"));
  }
  return values[value == 0 ? 0 : value - 1];
}

absl::Status CheckPayload(const RequestView& request, int64_t numbers) {
  constexpr int64_t kBytes = sizeof(double);
  if (request.payload_bytes() != numbers * kBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("payload has ", request.payload_bytes(), " bytes; the functional takes ",
                     numbers, " float64 numbers, which is ", numbers * kBytes));
  }
  return absl::OkStatus();
}

std::vector<double> ReadPayload(const RequestView& request) {
  std::vector<double> numbers(static_cast<size_t>(request.payload_bytes()) / sizeof(double));
  request.GatherPayload(reinterpret_cast<uint8_t*>(numbers.data()));
  return numbers;
}

// The payload: `series` times num_samples samples of one or two parts.
std::vector<std::vector<std::complex<double>>> ReadSeries(const RequestView& request,
                                                          int64_t series, int64_t num_samples,
                                                          int64_t parts) {
  const std::vector<double> numbers = ReadPayload(request);
  const double* next = numbers.data();
  std::vector<std::vector<std::complex<double>>> all(static_cast<size_t>(series));
  for (auto& samples : all) {
    samples.reserve(static_cast<size_t>(num_samples));
    for (int64_t n = 0; n < num_samples; ++n, next += parts) {
      samples.emplace_back(next[0], parts == 2 ? next[1] : 0.0);
    }
  }
  return all;
}

absl::StatusOr<minimize::FunctionalPtr> ExpressionFromProto(const v1::MinimizeRequest& message,
                                                            const RequestView& request) {
  const v1::Expression& expression = message.expression();
  minimize::Names names;
  for (int k = 0; k < message.axes_size(); ++k) {
    const std::string& name = message.axes(k).name();
    names.variables.push_back(name.empty() ? kAxisNames[k] : name);
  }
  std::vector<double> scalars;
  for (const v1::NamedScalar& scalar : expression.scalars()) {
    names.scalars.push_back(scalar.name());
    scalars.push_back(scalar.value());
  }
  // Sizes are bounded before they are added up: Parse has not seen them yet.
  int64_t elements = 0;
  for (const v1::NamedArray& array : expression.arrays()) {
    const int64_t size = Saturated(array.size());
    names.arrays.push_back({array.name(), size});
    elements += std::min(size, minimize::kMaxArrayElements + 1);
  }
  BASEBAND_ASSIGN_OR_RETURN(auto parsed, minimize::Expression::Parse(expression.text(), names));
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, elements));
  const std::vector<double> numbers = ReadPayload(request);
  std::vector<std::vector<double>> arrays;
  auto next = numbers.begin();
  for (const auto& array : names.arrays) {
    arrays.emplace_back(next, next + array.size);
    next += array.size;
  }
  return minimize::ExpressionFunctional::Create(std::move(parsed), std::move(scalars),
                                                std::move(arrays));
}

absl::StatusOr<minimize::FunctionalPtr> SinusoidsFromProto(const v1::SinusoidsFunctional& message,
                                                           const RequestView& request) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("sinusoids.num_samples", Saturated(message.num_samples()),
                                      minimize::kMinSamples, minimize::kMaxSamples));
  BASEBAND_RETURN_IF_ERROR(CheckRange("sinusoids.fixed_columns", message.fixed_columns(), 0,
                                      minimize::kMaxFixedColumns));
  const auto num_samples = static_cast<int64_t>(message.num_samples());
  const int64_t parts = message.is_complex() ? 2 : 1;
  const int64_t series = 1 + int64_t{message.fixed_columns()};
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, series * num_samples * parts));
  minimize::Observation observation;
  observation.sampling_interval_s = message.sampling_interval_s();
  observation.is_complex = message.is_complex();
  observation.columns = ReadSeries(request, series, num_samples, parts);
  observation.signal = std::move(observation.columns.front());
  observation.columns.erase(observation.columns.begin());
  return minimize::MakeSinusoids(std::move(observation));
}

absl::StatusOr<minimize::FunctionalPtr> ChirpFromProto(const v1::ChirpFunctional& message,
                                                       int num_axes, const RequestView& request) {
  const int64_t num_samples = Saturated(message.num_samples());
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("chirp.num_samples", num_samples, minimize::kMinSamples, minimize::kMaxSamples));
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, 2 * num_samples));
  return minimize::MakeChirp(ReadSeries(request, 1, num_samples, 2).front(),
                             message.sampling_interval_s(), num_axes);
}

absl::StatusOr<minimize::FunctionalPtr> DelayDopplerFromProto(
    const v1::DelayDopplerFunctional& message, const RequestView& request) {
  const int64_t num_samples = Saturated(message.num_samples());
  BASEBAND_RETURN_IF_ERROR(CheckRange("delay_doppler.num_samples", num_samples,
                                      minimize::kMinSamples, minimize::kMaxReplicaSamples));
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, 4 * num_samples));
  const auto series = ReadSeries(request, 2, num_samples, 2);
  return minimize::MakeDelayDoppler(series[0], series[1], message.sampling_interval_s());
}

absl::StatusOr<minimize::FunctionalPtr> FunctionalFromProto(const v1::MinimizeRequest& message,
                                                            const RequestView& request) {
  switch (message.functional_case()) {
    case v1::MinimizeRequest::kExpression:
      return ExpressionFromProto(message, request);
    case v1::MinimizeRequest::kSchwefel:
      BASEBAND_RETURN_IF_ERROR(CheckPayload(request, 0));
      return minimize::MakeSchwefel(message.axes_size());
    case v1::MinimizeRequest::kSinusoids:
      return SinusoidsFromProto(message.sinusoids(), request);
    case v1::MinimizeRequest::kChirp:
      return ChirpFromProto(message.chirp(), message.axes_size(), request);
    case v1::MinimizeRequest::kDelayDoppler:
      return DelayDopplerFromProto(message.delay_doppler(), request);
    case v1::MinimizeRequest::FUNCTIONAL_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "functional is not set: it is an expression, schwefel, sinusoids, chirp or delay_doppler");
}

absl::StatusOr<minimize::Grid> GridFromProto(const v1::MinimizeRequest& message) {
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("the number of axes", message.axes_size(), 1, minimize::kMaxAxes));
  std::vector<minimize::Axis> axes;
  for (const v1::GridAxis& axis : message.axes()) {
    axes.push_back({axis.begin(), axis.step(), Saturated(axis.count())});
  }
  return minimize::Grid::Create(axes);
}

absl::Status EnumsFromProto(const v1::MinimizeRequest& message, minimize::Settings* settings) {
  using minimize::Goal;
  using minimize::Method;
  using minimize::Refinement;
  BASEBAND_ASSIGN_OR_RETURN(settings->goal,
                            FromEnum("goal", message.goal(), {Goal::kMinimum, Goal::kMaximum}));
  BASEBAND_ASSIGN_OR_RETURN(settings->precision, FromEnum("precision", message.precision(),
                                                          {minimize::Precision::kFloat64,
                                                           minimize::Precision::kFloat32}));
  BASEBAND_ASSIGN_OR_RETURN(
      settings->method,
      FromEnum("method", message.method(), {Method::kFast, Method::kHoisted, Method::kLiteral}));
  BASEBAND_ASSIGN_OR_RETURN(settings->nan_policy,
                            FromEnum("nan_policy", message.nan_policy(),
                                     {minimize::NanPolicy::kSkip, minimize::NanPolicy::kFail}));
  BASEBAND_ASSIGN_OR_RETURN(settings->refinement,
                            FromEnum("refinement", message.refinement(),
                                     {Refinement::kNone, Refinement::kZoom, Refinement::kParabola,
                                      Refinement::kBrent, Refinement::kNewton}));
  return absl::OkStatus();
}

void SetPoint(const minimize::Problem& problem, int64_t index, double value, v1::GridPoint* point) {
  point->set_index(static_cast<uint64_t>(index));
  const minimize::Coordinates coordinates = problem.grid().CoordinatesOf(index);
  for (int k = 0; k < problem.grid().num_axes(); ++k) {
    point->add_coordinates(coordinates[static_cast<size_t>(k)]);
  }
  point->set_value(value);
}

}  // namespace

absl::StatusOr<SearchRequest> SearchFromProto(const RequestView& request) {
  v1::MinimizeRequest message;
  if (!message.ParseFromString(request.header())) {
    return absl::InvalidArgumentError("the request is not a well-formed MinimizeRequest");
  }
  SearchRequest search;
  minimize::Settings settings;
  BASEBAND_ASSIGN_OR_RETURN(settings.grid, GridFromProto(message));
  BASEBAND_ASSIGN_OR_RETURN(settings.functional, FunctionalFromProto(message, request));
  BASEBAND_RETURN_IF_ERROR(EnumsFromProto(message, &settings));
  BASEBAND_RETURN_IF_ERROR(CheckRange("top", message.top(), 0, minimize::kMaxTop));
  settings.top_k = message.top() > 0 ? static_cast<int>(message.top()) : 1;
  if (!message.separation().empty() && message.separation_size() != message.axes_size()) {
    return absl::InvalidArgumentError(absl::StrCat("separation has ", message.separation_size(),
                                                   " numbers for ", message.axes_size(), " axes"));
  }
  for (int k = 0; k < message.separation_size(); ++k) {
    settings.separation[static_cast<size_t>(k)] = Saturated(message.separation(k));
  }
  if (message.profile_bins() > 0) {
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("profile_bins", message.profile_bins(), 0, minimize::kMaxProfileBins));
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("profile_axis", message.profile_axis(), 0, message.axes_size() - 1));
    settings.profile_axis = static_cast<int>(message.profile_axis());
    settings.profile_bins = static_cast<int>(message.profile_bins());
  }
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("zoom_levels", message.zoom_levels(), 0, minimize::kMaxZoomLevels));
  settings.zoom_levels =
      message.zoom_levels() > 0 ? static_cast<int>(message.zoom_levels()) : kDefaultZoomLevels;
  settings.first = Saturated(message.first_point());
  settings.count = message.num_points() > 0 ? Saturated(message.num_points()) : -1;
  if (message.progress_interval_ms() > 0) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("progress_interval_ms", message.progress_interval_ms(),
                                        kMinProgressMs, kMaxProgressMs));
    search.progress_interval = absl::Milliseconds(message.progress_interval_ms());
  }
  BASEBAND_ASSIGN_OR_RETURN(search.problem, minimize::Problem::Create(std::move(settings)));
  return search;
}

absl::Status CheckSearchTime(const minimize::Problem& problem, double operations_per_second,
                             absl::Duration left, absl::Duration most) {
  const absl::Duration needed = absl::Seconds(problem.cost() / operations_per_second);
  if (needed <= std::min(left, most)) {
    return absl::OkStatus();
  }
  const auto text = [](absl::Duration time) {
    return absl::FormatDuration(absl::Trunc(time, absl::Milliseconds(1)));
  };
  const std::string estimate =
      absl::StrCat("the grid of ", problem.count(), " points of ", problem.cost_per_point(),
                   " operations takes about ", text(needed));
  if (left < most) {
    return absl::DeadlineExceededError(
        absl::StrCat(estimate, "; the deadline leaves ", text(left)));
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(estimate, "; this server takes no search of more than ", text(most),
                   ": divide it by first_point and num_points"));
}

v1::MinimizeResponse ProgressToProto(const minimize::Problem& problem,
                                     const minimize::Progress& progress, absl::Duration elapsed) {
  v1::MinimizeResponse response;
  v1::MinimizeProgress& message = *response.mutable_progress();
  message.set_points(static_cast<uint64_t>(progress.done));
  message.set_total_points(static_cast<uint64_t>(progress.total));
  if (progress.index >= 0) {
    SetPoint(problem, progress.index, progress.value, message.mutable_best());
  }
  message.set_elapsed_s(absl::ToDoubleSeconds(elapsed));
  return response;
}

v1::MinimizeResponse AnswerToProto(const minimize::Problem& problem, const minimize::Answer& answer,
                                   absl::Duration elapsed) {
  v1::MinimizeResponse response;
  v1::MinimizeAnswer& message = *response.mutable_answer();
  for (const minimize::Peak& peak : answer.top) {
    SetPoint(problem, peak.index, peak.value, message.add_top());
  }
  if (!answer.top.empty()) {
    for (int k = 0; k < problem.grid().num_axes(); ++k) {
      const auto axis = static_cast<size_t>(k);
      message.add_point(answer.point[axis]);
      message.add_curvature(answer.curvature[axis]);
      if (answer.bound.known) {
        message.add_deviation(answer.bound.deviation[axis]);
      }
    }
    message.set_value(answer.value);
    message.set_at_edge(answer.at_edge);
  }
  message.set_evaluations(static_cast<uint64_t>(answer.evaluations));
  message.set_nan_points(static_cast<uint64_t>(answer.num_nan));
  if (answer.num_nan > 0) {
    message.set_first_nan(static_cast<uint64_t>(answer.first_nan));
  }
  message.mutable_profile()->Add(answer.profile.begin(), answer.profile.end());
  message.set_elapsed_s(absl::ToDoubleSeconds(elapsed));
  return response;
}

}  // namespace baseband::server
