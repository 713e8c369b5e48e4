// Pieces of searches on the lanes of a GPU against the same pieces on the CPU.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/sinusoids.h"
#include "server/operations/minimize/minimize.h"
#include "tests/gpu/lane_gpu_fixture.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

class MinimizeLaneGpuTest : public LaneGpuTest {
 protected:
  // With its program for the device, and its image.
  std::shared_ptr<SearchPlan> MakePlan(const minimize::Settings& settings) {
    Device* const devices[] = {device_.get()};
    auto plan = std::make_shared<SearchPlan>();
    plan->problem = *minimize::Problem::Create(settings);
    EXPECT_THAT(MakePrograms(devices, plan.get()), IsOk());
    plan->image = *pool_->Lease(SearchImageBytes(*plan->problem, devices));
    WriteSearchImage(*plan->problem, plan->image.data());
    return plan;
  }
};

// Pieces of three searches, several of each, in one batch.
TEST_F(MinimizeLaneGpuTest, PiecesOfMixedSearchesGiveWhatTheCpuGives) {
  using namespace minimize;  // NOLINT
  Names names;
  names.variables = {"x", "y"};
  names.arrays = {{"a", 3}};
  Observation observation;
  for (int n = 0; n < 500; ++n) observation.signal.emplace_back(std::sin(0.3 * n), 0.0);
  const FunctionalPtr functionals[] = {
      MakeSchwefel(2),
      *ExpressionFunctional::Create(
          *Expression::Parse("sum(j, 0, 2, (x - a[j])^2) + cos(y) + sqrt(x)", names), {},
          {{1.0, 2.0, 4.5}}),
      *MakeSinusoids(observation)};
  device_->set_healthy(true);
  Device* const devices[] = {device_.get()};
  std::vector<SearchPlanPtr> plans;
  for (const FunctionalPtr& functional : functionals) {
    Settings settings;
    settings.functional = functional;
    const Axis axes[] = {{-2.0, 0.01, 1000}, {0.0, 0.1, 60}};
    const Axis frequencies[] = {{0.0, 1e-5, 40000}};
    settings.grid = functional == functionals[2] ? *Grid::Create(frequencies) : *Grid::Create(axes);
    std::shared_ptr<SearchPlan> plan = MakePlan(settings);
    EXPECT_TRUE(FindPrograms(devices, plan.get()));
    EXPECT_EQ(plan->programs.size(), 1U);
    plans.push_back(std::move(plan));
  }
  const auto make = [&] {
    std::vector<JobPtr> jobs;
    for (const SearchPlanPtr& plan : plans) {
      for (int64_t first = 0; first + 9000 <= plan->problem->count(); first += 9000) {
        Piece piece;
        piece.first = first;
        piece.count = 9000;
        jobs.push_back(WithPayload(
            std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, PieceLimits()),
            ""));
      }
    }
    return jobs;
  };
  const std::vector<JobPtr> expected = OnCpu(make());
  const std::vector<JobPtr> got = OnGpu(make());

  int64_t nans = 0;
  for (size_t j = 0; j < got.size(); ++j) {
    const auto& piece = static_cast<const MinimizeJob&>(*got[j]);
    const int64_t blocks = NumBlocks(*piece.plan().problem, piece.piece());
    const auto* const gpu = reinterpret_cast<const BlockResult*>(got[j]->reply.data());
    const auto* const cpu = reinterpret_cast<const BlockResult*>(expected[j]->reply.data());
    for (int64_t b = 0; b < blocks; ++b) {
      EXPECT_EQ(gpu[b].num_nan, cpu[b].num_nan) << "job " << j << ", block " << b;
      EXPECT_EQ(gpu[b].index >= 0, cpu[b].index >= 0) << "job " << j << ", block " << b;
      EXPECT_NEAR(gpu[b].value, cpu[b].value, 1e-8) << "job " << j << ", block " << b;
      nans += gpu[b].num_nan;
    }
  }
  EXPECT_GT(nans, 0);  // sqrt(x) for x < 0
}

// Two small searches, one with numbers and an array of its own, in one batch.
TEST_F(MinimizeLaneGpuTest, SmallPiecesAreReadAndAnsweredWhereTheyLie) {
  using namespace minimize;  // NOLINT
  device_->set_healthy(true);
  Names names;
  names.variables = {"x"};
  names.scalars = {"b"};
  names.arrays = {{"a", 3}};
  const auto make_plan = [&](FunctionalPtr functional, int profile_bins) {
    Settings settings;
    settings.functional = std::move(functional);
    const Axis axes[] = {{-2.0, 1e-5, 1000000000}};
    settings.grid = *Grid::Create(axes);
    settings.profile_axis = profile_bins > 0 ? 0 : -1;
    settings.profile_bins = profile_bins;
    return MakePlan(settings);
  };
  const auto make = [&](const std::vector<SearchPlanPtr>& plans, int64_t points) {
    std::vector<JobPtr> jobs;
    for (const SearchPlanPtr& plan : plans) {
      Piece piece;
      piece.first = 70000;
      piece.count = points;
      jobs.push_back(WithPayload(
          std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, PieceLimits()),
          ""));
    }
    return jobs;
  };
  const FunctionalPtr with_numbers = *ExpressionFunctional::Create(
      *Expression::Parse("sum(j, 0, 2, (x - a[j])^2) - b", names), {0.75}, {{1.0, 2.0, 4.5}});
  const SearchPlanPtr numbers = make_plan(with_numbers, 0);
  const SearchPlanPtr schwefel = make_plan(MakeSchwefel(1), 0);
  EXPECT_TRUE(MakeBatch(make({numbers, schwefel}, 20000))->is_in_place());
  const std::vector<JobPtr> expected = OnCpu(make({numbers, schwefel}, 20000));
  const std::vector<JobPtr> got = OnGpu(make({numbers, schwefel}, 20000));
  for (size_t j = 0; j < got.size(); ++j) {
    const auto& piece = static_cast<const MinimizeJob&>(*got[j]);
    const auto* const gpu = reinterpret_cast<const BlockResult*>(got[j]->reply.data());
    const auto* const cpu = reinterpret_cast<const BlockResult*>(expected[j]->reply.data());
    for (int64_t b = 0; b < NumBlocks(*piece.plan().problem, piece.piece()); ++b) {
      EXPECT_EQ(gpu[b].index, cpu[b].index) << "job " << j << ", block " << b;
      EXPECT_NEAR(gpu[b].value, cpu[b].value, 1e-11) << "job " << j << ", block " << b;
    }
  }

  // Not what is long, nor what adds to a profile, nor a signal that every point reads.
  const FunctionalPtr dear = *ExpressionFunctional::Create(
      *Expression::Parse("sum(j, 0, 99, (x - j)^2) + a[0] + b", names), {0.0}, {{0.0, 0.0, 0.0}});
  EXPECT_FALSE(MakeBatch(make({make_plan(dear, 0)}, 20000000))->is_in_place());
  EXPECT_FALSE(MakeBatch(make({make_plan(MakeSchwefel(1), 10)}, 20000))->is_in_place());
  Observation observation;
  observation.signal.assign(500, 1.0);
  EXPECT_FALSE(
      MakeBatch(make({numbers, make_plan(*MakeSinusoids(observation), 0)}, 1000))->is_in_place());
}

// More expressions than the cache of programs has room for come after a search's own.
TEST_F(MinimizeLaneGpuTest, ASearchKeepsItsProgramWhateverIsCompiledMeanwhile) {
  using namespace minimize;  // NOLINT
  constexpr int kMorePrograms = 256;
  device_->set_healthy(true);
  Device* const devices[] = {device_.get()};
  const auto make_plan = [&](const std::string& text) {
    Names names;
    names.variables = {"x"};
    Settings settings;
    settings.functional = *ExpressionFunctional::Create(*Expression::Parse(text, names), {}, {});
    const Axis axes[] = {{-2.0, 0.01, 1000}};
    settings.grid = *Grid::Create(axes);
    return MakePlan(settings);
  };
  const std::shared_ptr<SearchPlan> plan = make_plan("(x - 1)^2");
  for (int i = 0; i < kMorePrograms; ++i) (void)make_plan("x + " + std::to_string(i) + ".5");
  SearchPlan forgotten;
  forgotten.problem = plan->problem;
  ASSERT_FALSE(FindPrograms(devices, &forgotten));
  Piece piece;
  piece.count = 1000;
  for (int lane = 0; lane < static_cast<int>(device_->lanes().size()); ++lane) {
    std::vector<JobPtr> jobs;
    jobs.push_back(WithPayload(
        std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, PieceLimits()), ""));
    const std::vector<JobPtr> got = OnGpu(std::move(jobs), lane);
    Search search = *Search::Create(plan->problem, PieceLimits());
    search.Add(*search.Next(), got[0]->reply.data());
    EXPECT_EQ(search.progress().index, 300);
  }
}

}  // namespace
}  // namespace baseband::server
