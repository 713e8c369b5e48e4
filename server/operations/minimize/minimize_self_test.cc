// Searches whose answers are known, for every lane before it serves.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/sinusoids.h"
#include "server/jobs/self_test.h"
#include "server/operations/minimize/minimize.h"

namespace baseband::server {
namespace {

// Runs the whole grid as one piece and compares the lowest point.
absl::Status TestSearch(const Operation& operation, SelfTestBench& bench, const char* name,
                        minimize::FunctionalPtr functional, const minimize::Axis& axis,
                        int64_t expected) {
  Device* const device = &bench.lane().device();
  const auto devices = absl::MakeConstSpan(&device, 1);
  minimize::Settings settings;
  settings.functional = std::move(functional);
  BASEBAND_ASSIGN_OR_RETURN(settings.grid, minimize::Grid::Create(absl::MakeConstSpan(&axis, 1)));
  const auto plan = std::make_shared<SearchPlan>();
  BASEBAND_ASSIGN_OR_RETURN(plan->problem, minimize::Problem::Create(std::move(settings)));
  const absl::Status added = AddProgram(device, plan.get());
  if (absl::IsUnavailable(added)) return absl::OkStatus();  // requests are told so; all else works
  BASEBAND_RETURN_IF_ERROR(added);
  BASEBAND_ASSIGN_OR_RETURN(plan->image,
                            bench.staging().Lease(SearchImageBytes(*plan->problem, devices)));
  if (plan->image.size() > 0) WriteSearchImage(*plan->problem, plan->image.data());
  const minimize::PieceLimits limits = SearchCapacityOf(devices).piece;
  BASEBAND_ASSIGN_OR_RETURN(minimize::Search search,
                            minimize::Search::Create(plan->problem, limits));
  while (!search.done()) {
    const minimize::Piece piece = *search.Next();
    BASEBAND_ASSIGN_OR_RETURN(
        const JobPtr job,
        bench.Run(std::make_unique<MinimizeJob>(operation, plan, piece, limits), ""));
    search.Add(piece, job->reply.data());
  }
  if (search.progress().index != expected) {
    return absl::InternalError(absl::StrCat("of ", name, " found point ", search.progress().index,
                                            " instead of ", expected));
  }
  return absl::OkStatus();
}

}  // namespace

// (x - a[1])^2 at its zero, and the frequency of a sinusoid beside a constant.
absl::Status TestMinimize(const Operation& operation, SelfTestBench& bench) {
  constexpr int64_t kPoints = 1000;
  constexpr int64_t kBest = 61;
  minimize::Names names;
  names.variables = {"x"};
  names.arrays = {{"a", 2}};
  BASEBAND_ASSIGN_OR_RETURN(auto parsed, minimize::Expression::Parse("(x - a[1])^2", names));
  BASEBAND_ASSIGN_OR_RETURN(auto expression, minimize::ExpressionFunctional::Create(
                                                 std::move(parsed), {}, {{0.0, kBest * 0.5}}));
  BASEBAND_RETURN_IF_ERROR(TestSearch(operation, bench, "an expression", std::move(expression),
                                      {0.0, 0.5, kPoints}, kBest));
  constexpr double kStep = 0.4 / kPoints;  // cycles per sample
  minimize::Observation observation;
  observation.columns.emplace_back();
  for (int n = 0; n < 100; ++n) {
    observation.columns[0].push_back(1.0);
    observation.signal.push_back(0.25 + std::cos(2.0 * M_PI * kStep * kBest * n + 0.5));
  }
  BASEBAND_ASSIGN_OR_RETURN(auto sinusoids, minimize::MakeSinusoids(std::move(observation)));
  return TestSearch(operation, bench, "a sinusoid", std::move(sinusoids), {0.0, kStep, kPoints},
                    kBest);
}

}  // namespace baseband::server
