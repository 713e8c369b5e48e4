// A search's answer on the wire.
#include <utility>

#include "absl/time/time.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/search.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_search.h"

namespace baseband::server {
namespace {

using ::baseband::testing::MakeGrid;
using ::baseband::testing::MakeProblem;

minimize::ProblemPtr Problem() {
  minimize::Settings settings;
  settings.functional = minimize::MakeSchwefel(2);
  settings.grid = MakeGrid({{0.0, 1.0, 5}, {0.0, 1.0, 5}});
  return MakeProblem(settings);
}

minimize::Answer Answer(minimize::Outcome outcome) {
  minimize::Answer answer;
  answer.top = {{7, 1.5}};
  answer.point = {{1.25, 2.5}};
  answer.point_error = {{0.5, 0.25}};
  answer.outcome = outcome;
  return answer;
}

TEST(MinimizeAnswerTest, EachOutcomeOfARefinementHasItsName) {
  using minimize::Outcome;
  const std::pair<Outcome, v1::RefinementOutcome> names[] = {
      {Outcome::kConverged, v1::REFINEMENT_OUTCOME_CONVERGED},
      {Outcome::kAtEdge, v1::REFINEMENT_OUTCOME_AT_EDGE},
      {Outcome::kAtBox, v1::REFINEMENT_OUTCOME_AT_BOX},
      {Outcome::kOutOfRounds, v1::REFINEMENT_OUTCOME_OUT_OF_ROUNDS},
      {Outcome::kUnresolved, v1::REFINEMENT_OUTCOME_UNRESOLVED}};
  for (const auto& [outcome, name] : names) {
    const v1::MinimizeAnswer answer =
        AnswerToProto(*Problem(), Answer(outcome), absl::Seconds(1)).answer();
    EXPECT_EQ(answer.refinement_outcome(), name);
    EXPECT_THAT(answer.point_error(), ElementsAre(0.5, 0.25));
  }
}

TEST(MinimizeAnswerTest, WithoutARefinementThereIsNoneOfIt) {
  const v1::MinimizeAnswer answer =
      AnswerToProto(*Problem(), Answer(minimize::Outcome::kNone), absl::Seconds(1)).answer();
  EXPECT_EQ(answer.refinement_outcome(), v1::REFINEMENT_OUTCOME_UNSPECIFIED);
  EXPECT_THAT(answer.point_error(), IsEmpty());
  EXPECT_THAT(answer.point(), ElementsAre(1.25, 2.5));
}

TEST(MinimizeAnswerTest, CoarseAxesAreToldByNumber) {
  minimize::Answer answer = Answer(minimize::Outcome::kNone);
  answer.coarse_axes = {1};
  EXPECT_THAT(AnswerToProto(*Problem(), answer, absl::Seconds(1)).answer().coarse_axes(),
              ElementsAre(1));
}

}  // namespace
}  // namespace baseband::server
