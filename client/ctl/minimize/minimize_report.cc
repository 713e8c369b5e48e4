#include "client/ctl/minimize/minimize_report.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/ctl/common/table.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/plot/plot.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

bool IsMaximum(const v1::MinimizeRequest& request) {
  return request.goal() == v1::SEARCH_GOAL_MAXIMUM;
}

template <typename Numbers>
std::string Point(const v1::MinimizeRequest& request, const Numbers& coordinates) {
  std::string text;
  for (int k = 0; k < coordinates.size(); ++k) {
    absl::StrAppendFormat(&text, "%s%s = %.12g", k > 0 ? ", " : "", request.axes(k).name(),
                          coordinates[k]);
  }
  return text;
}

// Of a refined point: what it is. Of those that are none there is more to say: Warnings.
absl::string_view HowRefined(v1::RefinementOutcome outcome) {
  switch (outcome) {
    case v1::REFINEMENT_OUTCOME_CONVERGED:
      return ", refined";
    case v1::REFINEMENT_OUTCOME_AT_EDGE:
      return ", refined to an end of an axis";
    case v1::REFINEMENT_OUTCOME_AT_BOX:
    case v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS:
    case v1::REFINEMENT_OUTCOME_UNRESOLVED:
      return ", not refined";
    default:
      return "";
  }
}

// In JSON.
absl::string_view NameOf(v1::RefinementOutcome outcome) {
  switch (outcome) {
    case v1::REFINEMENT_OUTCOME_CONVERGED:
      return "converged";
    case v1::REFINEMENT_OUTCOME_AT_EDGE:
      return "at_edge";
    case v1::REFINEMENT_OUTCOME_AT_BOX:
      return "at_box";
    case v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS:
      return "out_of_rounds";
    case v1::REFINEMENT_OUTCOME_UNRESOLVED:
      return "unresolved";
    default:
      return "unknown";
  }
}

// "0.02 in x, 0.0003 in y"; nothing where it is not known of all.
std::string HowFar(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer) {
  std::string text;
  for (int k = 0; k < answer.point_error_size(); ++k) {
    if (request.axes(k).count() == 1) continue;
    if (!std::isfinite(answer.point_error(k))) return "";
    absl::StrAppendFormat(&text, "%s%.2g in %s", text.empty() ? "" : ", ", answer.point_error(k),
                          request.axes(k).name());
  }
  return text;
}

// Why the point may not be the best, a line each.
std::string Warnings(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer) {
  const char* const goal = IsMaximum(request) ? "maximum" : "minimum";
  std::string text;
  if (answer.refinement_outcome() == v1::REFINEMENT_OUTCOME_AT_BOX) {
    absl::StrAppendFormat(
        &text, "The %s is more than a step from the grid's best point: search there.\n", goal);
  } else if (answer.refinement_outcome() == v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS) {
    const std::string how_far = HowFar(request, answer);
    absl::StrAppendFormat(&text, "The refinement stopped before the %s%s%s.\n", goal,
                          how_far.empty() ? "" : ", which may be off by ", how_far);
  } else if (answer.refinement_outcome() == v1::REFINEMENT_OUTCOME_UNRESOLVED) {
    absl::StrAppendFormat(&text,
                          "Whether it is a %s between the grid's points cannot be told: the values"
                          " there are flat, kinked or noisy.\n",
                          goal);
  }
  if (answer.at_edge() || answer.refinement_outcome() == v1::REFINEMENT_OUTCOME_AT_EDGE) {
    absl::StrAppend(&text, "It lies at an end of an axis: there may be better beyond.\n");
  }
  for (const uint32_t axis : answer.coarse_axes()) {
    if (axis >= static_cast<uint32_t>(request.axes_size())) continue;
    const v1::GridAxis& coarse = request.axes(static_cast<int>(axis));
    absl::StrAppendFormat(&text,
                          "The step of %s, %.6g, is longer than the %s is wide: the grid may have"
                          " missed a better one.\n",
                          coarse.name(), std::abs(coarse.step()), goal);
  }
  return text;
}

// The middle of part `bin` of the profile's axis.
double Middle(const v1::MinimizeRequest& request, int bin) {
  const v1::GridAxis& axis = request.axes(static_cast<int>(request.profile_axis()));
  const double per_bin =
      static_cast<double>(axis.count()) / static_cast<double>(request.profile_bins());
  return axis.begin() + axis.step() * ((bin + 0.5) * per_bin - 0.5);
}

}  // namespace

std::string ToText(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer) {
  const char* const goal = IsMaximum(request) ? "Maximum" : "Minimum";
  const auto evaluations = static_cast<double>(answer.evaluations());
  const double rate = evaluations / answer.elapsed_s();
  std::string text;
  if (answer.top().empty()) {
    absl::StrAppend(&text, "No point of the grid has a value.\n");
  } else {
    const bool refined = request.refinement() > v1::REFINEMENT_NONE;
    absl::StrAppendFormat(&text, "%s %.12g at %s%s\n", goal, answer.value(),
                          Point(request, answer.point()), HowRefined(answer.refinement_outcome()));
    if (refined) {
      absl::StrAppendFormat(&text, "On the grid: %.12g at %s\n", answer.top(0).value(),
                            Point(request, answer.top(0).coordinates()));
    }
    for (int k = 0; k < answer.deviation_size(); ++k) {
      absl::StrAppendFormat(&text, "Least standard deviation of %s (Cramer-Rao): %.3g\n",
                            request.axes(k).name(), answer.deviation(k));
    }
    absl::StrAppend(&text, Warnings(request, answer));
    for (int k = 1; k < answer.top_size(); ++k) {
      absl::StrAppendFormat(&text, "%2d. %.12g at %s\n", k + 1, answer.top(k).value(),
                            Point(request, answer.top(k).coordinates()));
    }
  }
  absl::StrAppendFormat(&text, "%s points in %s, %s points/s", HumanCount(evaluations),
                        HumanDuration(absl::Seconds(answer.elapsed_s())), HumanCount(rate));
  if (answer.nan_points() > 0) {
    absl::StrAppendFormat(&text, "; %d without a value, the first is point %d", answer.nan_points(),
                          answer.first_nan());
  }
  return text + "\n";
}

nlohmann::ordered_json ToJson(const v1::MinimizeRequest& request,
                              const v1::MinimizeAnswer& answer) {
  const auto numbers = [](const auto& field) {
    return nlohmann::ordered_json(std::vector<double>(field.begin(), field.end()));
  };
  nlohmann::ordered_json json;
  json["goal"] = IsMaximum(request) ? "maximum" : "minimum";
  if (!answer.top().empty()) {
    json["value"] = answer.value();
    json["point"] = numbers(answer.point());
    json["at_edge"] = answer.at_edge();
    json["curvature"] = numbers(answer.curvature());
    if (answer.refinement_outcome() != v1::REFINEMENT_OUTCOME_UNSPECIFIED) {
      json["refinement_outcome"] = NameOf(answer.refinement_outcome());
      json["point_error"] = numbers(answer.point_error());  // NaN: null
    }
    json["coarse_axes"] = nlohmann::ordered_json::array();
    for (const uint32_t axis : answer.coarse_axes()) {
      if (axis < static_cast<uint32_t>(request.axes_size())) {
        json["coarse_axes"].push_back(request.axes(static_cast<int>(axis)).name());
      }
    }
    if (!answer.deviation().empty()) json["deviation"] = numbers(answer.deviation());
  }
  json["top"] = nlohmann::ordered_json::array();
  for (const v1::GridPoint& point : answer.top()) {
    json["top"].push_back({{"index", point.index()},
                           {"coordinates", numbers(point.coordinates())},
                           {"value", point.value()}});
  }
  json["evaluations"] = answer.evaluations();
  json["nan_points"] = answer.nan_points();
  json["elapsed_s"] = answer.elapsed_s();
  if (!answer.profile().empty()) json["profile"] = numbers(answer.profile());  // NaN: null
  return json;
}

std::string AxisLabel(const v1::MinimizeRequest& request, int axis) {
  return absl::StrCat(request.axes(axis).name(), request.has_sinusoids() ? " [Hz]" : "");
}

std::string ValueLabel(const v1::MinimizeRequest& request) {
  return IsMaximum(request) ? "greatest value" : "least value";
}
std::string BestLabel(const v1::MinimizeRequest& request) {
  return IsMaximum(request) ? "maximum" : "minimum";
}

std::string AnswerTitle(const v1::MinimizeRequest& request) {
  return IsMaximum(request) ? "Maximum on a grid" : "Minimum on a grid";
}

std::string AnswerSubtitle(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer) {
  const std::string points =
      absl::StrCat(HumanCount(static_cast<double>(answer.evaluations())), " points; ");
  return points + (answer.top().empty() ? "none has a value"
                                        : absl::StrFormat("%.9g at %s", answer.value(),
                                                          Point(request, answer.point())));
}

std::string ToText(const v1::MinimizeRequest& request, const v1::MinimizeProgress& progress) {
  std::string text =
      absl::StrFormat("after %s of %s points", HumanCount(static_cast<double>(progress.points())),
                      HumanCount(static_cast<double>(progress.total_points())));
  if (progress.has_best()) {
    absl::StrAppendFormat(&text, "; best so far %.12g at %s", progress.best().value(),
                          Point(request, progress.best().coordinates()));
  }
  return text;
}

std::string WithCaret(absl::string_view expression, absl::string_view message) {
  constexpr absl::string_view kWhere = "expression, column ";
  constexpr size_t kBefore = 50;
  constexpr size_t kAfter = 25;
  absl::string_view rest = message;
  const size_t colon = message.find(": ");
  size_t column = 0;
  if (!absl::ConsumePrefix(&rest, kWhere) || colon == absl::string_view::npos ||
      !absl::SimpleAtoi(message.substr(kWhere.size(), colon - kWhere.size()), &column) ||
      column == 0 || column > expression.size() + 1) {
    return std::string(message);
  }
  std::string text(expression);
  for (char& byte : text) {
    if (static_cast<unsigned char>(byte) < ' ') byte = ' ';
  }
  const size_t at = column - 1;
  const size_t begin = at > kBefore ? at - kBefore : 0;
  const std::string before = absl::StrCat(begin > 0 ? ".." : "", text.substr(begin, at - begin));
  const std::string after =
      absl::StrCat(text.substr(at, kAfter), at + kAfter < text.size() ? ".." : "");
  // Bytes that go on with a character of UTF-8 take no column of the terminal.
  const auto width =
      std::count_if(before.begin(), before.end(), [](char byte) { return (byte & 0xC0) != 0x80; });
  return absl::StrCat(message.substr(colon + 2), "\n  ", before, after, "\n  ",
                      std::string(static_cast<size_t>(width), ' '), "^ column ", column);
}

std::string ProfileCsv(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer) {
  const std::string& name = request.axes(static_cast<int>(request.profile_axis())).name();
  std::string csv = absl::StrCat(name, ",value\n");
  for (int bin = 0; bin < answer.profile_size(); ++bin) {
    absl::StrAppendFormat(&csv, "%.15g,", Middle(request, bin));
    if (std::isfinite(answer.profile(bin)))
      absl::StrAppendFormat(&csv, "%.15g", answer.profile(bin));
    absl::StrAppend(&csv, "\n");
  }
  return csv;
}

std::string ProfileSvg(const v1::MinimizeRequest& request, const v1::MinimizeAnswer& answer) {
  Plot plot;
  plot.title = AnswerTitle(request);
  plot.subtitle = AnswerSubtitle(request, answer);
  plot.x_label = AxisLabel(request, static_cast<int>(request.profile_axis()));
  PlotPanel& panel = plot.panels.emplace_back();
  panel.y.label = ValueLabel(request);
  panel.series.resize(2);
  panel.series[0].label = "profile";
  panel.series[0].mark = PlotMark::kNone;
  for (int bin = 0; bin < answer.profile_size(); ++bin) {
    panel.series[0].points.push_back({Middle(request, bin), answer.profile(bin)});
  }
  panel.series[1].label = BestLabel(request);
  panel.series[1].line = false;
  if (!answer.top().empty()) {
    panel.series[1].points.push_back(
        {answer.point(static_cast<int>(request.profile_axis())), answer.value()});
  }
  return RenderSvg(plot);
}

}  // namespace baseband::ctl
