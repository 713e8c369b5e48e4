#include "server/operations/minimize/minimize_converter.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"
#include "server/operations/minimize/minimize_functionals.h"

namespace baseband::server {
namespace {

constexpr uint32_t kMinProgressMs = 10;
constexpr uint32_t kMaxProgressMs = 60000;
constexpr int kDefaultZoomLevels = 3;

// What a thread that serves gRPC prepares itself: a text that is parsed in some 100 us, and with
// more than one peak so many points, whose tiles take less than a MiB.
constexpr int64_t kMaxQuickBytes = 4096;
constexpr int64_t kMaxQuickPoints = int64_t{1} << 20;
// What it evaluates itself for an answer, some ten to thirty times an axis.
constexpr double kMaxQuickOperations = 1e4;

// An enum of the wire whose 0 stands for its first value. `values` are those of 1 ..
template <typename Value, size_t kCount>
absl::StatusOr<Value> FromEnum(absl::string_view field, int value, const Value (&values)[kCount]) {
  if (value < 0 || value > static_cast<int>(kCount)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", value, " is not in [0, ", kCount, "]"));
  }
  return values[value == 0 ? 0 : value - 1];
}

absl::StatusOr<minimize::Grid> GridFromProto(const v1::MinimizeRequest& message) {
  if (message.axes_size() < 1 || message.axes_size() > minimize::kMaxAxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("axes has ", message.axes_size(), " entries, not 1 to ", minimize::kMaxAxes));
  }
  std::vector<minimize::Axis> axes;
  for (int k = 0; k < message.axes_size(); ++k) {
    const v1::GridAxis& axis = message.axes(k);
    BASEBAND_RETURN_IF_ERROR(
        CheckRange(absl::StrCat("axes[", k, "].count"), axis.count(), 1, minimize::kMaxPoints));
    axes.push_back({axis.begin(), axis.step(), static_cast<int64_t>(axis.count())});
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

// A functional that has no such method does not know its number.
absl::Status TellMethod(v1::SearchMethod method, const absl::Status& status) {
  constexpr absl::string_view kField = "method";
  if (!absl::StartsWith(status.message(), absl::StrCat(kField, ":"))) return status;
  return absl::Status(status.code(), absl::StrCat(kField, " ", static_cast<int>(method),
                                                  status.message().substr(kField.size())));
}

v1::RefinementOutcome ToProto(minimize::Outcome outcome) {
  switch (outcome) {
    case minimize::Outcome::kNone:
      break;
    case minimize::Outcome::kConverged:
      return v1::REFINEMENT_OUTCOME_CONVERGED;
    case minimize::Outcome::kAtEdge:
      return v1::REFINEMENT_OUTCOME_AT_EDGE;
    case minimize::Outcome::kAtBox:
      return v1::REFINEMENT_OUTCOME_AT_BOX;
    case minimize::Outcome::kOutOfRounds:
      return v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS;
    case minimize::Outcome::kUnresolved:
      return v1::REFINEMENT_OUTCOME_UNRESOLVED;
  }
  return v1::REFINEMENT_OUTCOME_UNSPECIFIED;
}

void SetPoint(const minimize::Problem& problem, int64_t index, double value, v1::GridPoint* point) {
  point->set_index(static_cast<uint64_t>(index));
  const minimize::Coordinates coordinates = problem.grid().CoordinatesOf(index);
  for (int k = 0; k < problem.grid().num_axes(); ++k) {
    point->add_coordinates(coordinates[static_cast<size_t>(k)]);
  }
  point->set_value(value);
}

// Whether a functional is made in well below a millisecond, and its search with it.
bool IsQuick(const v1::MinimizeRequest& message, const Request& request,
             const minimize::Grid& grid) {
  if (request.bytes() > kMaxQuickBytes ||
      (message.top() > 1 && grid.num_points() > kMaxQuickPoints)) {
    return false;
  }
  switch (message.functional_case()) {
    case v1::MinimizeRequest::kExpression:
    case v1::MinimizeRequest::kSchwefel:
      return true;
    case v1::MinimizeRequest::kSinusoids:
      return grid.num_axes() == 1;  // several: tables of every axis
    case v1::MinimizeRequest::FUNCTIONAL_NOT_SET:
      return true;  // to be refused
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<ParsedSearch> ParseSearch(const Request& request) {
  ParsedSearch parsed;
  BASEBAND_ASSIGN_OR_RETURN(parsed.message,
                            ParseHeader<v1::MinimizeRequest>(request, "MinimizeRequest"));
  BASEBAND_ASSIGN_OR_RETURN(parsed.grid, GridFromProto(parsed.message));
  parsed.is_quick = IsQuick(parsed.message, request, parsed.grid);
  return parsed;
}

absl::StatusOr<SearchRequest> MakeSearch(const ParsedSearch& parsed, const Payload& payload,
                                         const ContinueCheck& may_continue) {
  const v1::MinimizeRequest& message = parsed.message;
  SearchRequest search;
  minimize::Settings settings;
  settings.grid = parsed.grid;
  BASEBAND_ASSIGN_OR_RETURN(settings.functional,
                            FunctionalFromProto(message, payload, settings.grid, may_continue));
  BASEBAND_RETURN_IF_ERROR(EnumsFromProto(message, &settings));
  BASEBAND_RETURN_IF_ERROR(CheckRange("top", message.top(), 0, minimize::kMaxTop));
  settings.top_k = message.top() > 0 ? static_cast<int>(message.top()) : 1;
  if (!message.separation().empty() && message.separation_size() != message.axes_size()) {
    return absl::InvalidArgumentError(absl::StrCat("separation has ", message.separation_size(),
                                                   " numbers for ", message.axes_size(), " axes"));
  }
  for (int k = 0; k < message.separation_size(); ++k) {
    BASEBAND_RETURN_IF_ERROR(CheckRange(absl::StrCat("separation[", k, "]"), message.separation(k),
                                        1, minimize::kMaxPoints));
    settings.separation[static_cast<size_t>(k)] = static_cast<int64_t>(message.separation(k));
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
  const int64_t grid_points = settings.grid.num_points();
  BASEBAND_RETURN_IF_ERROR(CheckRange("first_point", message.first_point(), 0, grid_points - 1));
  settings.first = static_cast<int64_t>(message.first_point());
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("num_points", message.num_points(), 0, grid_points - settings.first));
  settings.count = message.num_points() > 0 ? static_cast<int64_t>(message.num_points()) : -1;
  if (message.progress_interval_ms() > 0) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("progress_interval_ms", message.progress_interval_ms(),
                                        kMinProgressMs, kMaxProgressMs));
    search.progress_interval = absl::Milliseconds(message.progress_interval_ms());
  }
  absl::StatusOr<minimize::ProblemPtr> problem = minimize::Problem::Create(std::move(settings));
  if (!problem.ok()) return TellMethod(message.method(), problem.status());
  search.problem = *std::move(problem);
  return search;
}

bool AnswersAtOnce(const minimize::Problem& problem) {
  return problem.settings().refinement == minimize::Refinement::kNone &&
         problem.cost_per_point() <= kMaxQuickOperations &&
         problem.functional().HostBytes() <= 16 * kMaxQuickBytes;
}

absl::Status CheckSearchTime(const minimize::Problem& problem, const SearchRates& rates,
                             absl::Duration left, absl::Duration most) {
  const absl::Duration needed = absl::Seconds(problem.cost() / rates.now);
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
    return Because(
        UnservedReason::kDeadlineUnreachable,
        absl::DeadlineExceededError(absl::StrCat(estimate, "; the deadline leaves ", text(left))));
  }
  if (absl::Seconds(problem.cost() / rates.at_best) <= most) {
    return Because(
        UnservedReason::kNoDevice,
        absl::ResourceExhaustedError(absl::StrCat(
            estimate, " while devices are lost; this server takes no search of more than ",
            text(most), ": send it again, or divide it by first_point and num_points")));
  }
  return absl::InvalidArgumentError(
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
      if (answer.outcome != minimize::Outcome::kNone) {
        message.add_point_error(answer.point_error[axis]);
      }
      if (answer.bound.known) {
        message.add_deviation(answer.bound.deviation[axis]);
      }
    }
    message.set_value(answer.value);
    message.set_at_edge(answer.at_edge);
    message.set_refinement_outcome(ToProto(answer.outcome));
    for (const int axis : answer.coarse_axes) message.add_coarse_axes(static_cast<uint32_t>(axis));
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
