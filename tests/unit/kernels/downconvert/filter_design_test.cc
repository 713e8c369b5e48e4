// Designs in steps: the same filters, to the bit, whatever the steps and whoever else is designed
// meanwhile.
#include "kernels/downconvert/filter_design.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/downconvert/sliced_work.h"
#include "tests/support/filter_spec.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

TEST(SlicedWorkTest, PartsAreDoneInOrderAndWhatAPartAddsBeforeTheNext) {
  std::vector<std::string> done;
  SlicedWork work;
  const auto note = [&done](const char* name) {
    return SlicedWork::Once([&done, name] { done.push_back(name); });
  };
  work.Do({note("a"), SlicedWork::Once([&] {
             done.push_back("b");
             work.Do({note("b1"), note("b2")});
           }),
           note("c")});
  while (!work.Run(1)) {
  }
  EXPECT_THAT(done, ElementsAre("a", "b", "b1", "b2", "c"));
  EXPECT_TRUE(work.Run(1));
}

TEST(SlicedWorkTest, ALoopIsLeftWhenItsWorkIsDoneAndTakenUpThere) {
  using Slice = std::pair<int64_t, int64_t>;
  std::vector<Slice> slices;
  SlicedWork work;
  work.Do({SlicedWork::Each(10, 5,
                            [&](int64_t begin, int64_t end) { slices.emplace_back(begin, end); }),
           SlicedWork::Each(0, 1, [](int64_t begin, int64_t end) { EXPECT_EQ(begin, end); })});
  EXPECT_FALSE(work.Run(1));   // one round at least
  EXPECT_FALSE(work.Run(20));  // four
  EXPECT_FALSE(work.Run(25));
  EXPECT_TRUE(work.Run(1));
  EXPECT_THAT(slices, ElementsAre(Slice(0, 1), Slice(1, 5), Slice(5, 10)));
}

FilterDesign Begin(const Spec& spec) {
  return *FilterDesign::Create(spec.mask(), spec.design, spec.up, spec.down);
}

void ExpectSame(const Filter& a, const Filter& b) {
  ASSERT_EQ(a.stages().size(), b.stages().size());
  for (size_t s = 0; s < a.stages().size(); ++s) {
    EXPECT_EQ(a.stages()[s].up, b.stages()[s].up);
    EXPECT_EQ(a.stages()[s].down, b.stages()[s].down);
    EXPECT_TRUE(a.stages()[s].taps == b.stages()[s].taps);
  }
  EXPECT_EQ(a.report().ripple_db, b.report().ripple_db);
  EXPECT_EQ(a.report().attenuation_db, b.report().attenuation_db);
  EXPECT_EQ(a.report().remark, b.report().remark);
}

// Of each kind: one stage and several, with guesses and without, up and down, and a fall-back.
std::vector<Spec> Specs() {
  return {{0.4, 80.0, 1, 8},
          {0.4, 80.0, 1, 8, Design::kEquiripple},
          {0.4, 80.0, 1, 4096, Design::kEquiripple},
          {0.45, 100.0, 1, 1, Design::kEquiripple, 0.01, 0.47},
          {0.35, 60.0, 3, 2, Design::kEquiripple},
          {0.35, 60.0, 64, 1, Design::kKaiser},
          {0.35, 120.0, 147, 160, Design::kKaiser},
          {0.35, 60.0, 1000, 999, Design::kEquiripple}};
}

TEST(FilterDesignStepTest, StepsOfAnySizeGiveTheSameFilter) {
  std::mt19937 random(5);
  for (const Spec& spec : Specs()) {
    const FilterPtr at_once = spec.Create().value();
    for (const int64_t most : {int64_t{20000}, 10 * FilterDesign::kStepWork}) {
      FilterDesign design = Begin(spec);
      while (!design.Step(1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most)))) {
      }
      ExpectSame(**design.Result(), *at_once);
    }
  }
}

TEST(FilterDesignStepTest, TheSmallestStepsGiveTheSameFilter) {
  const Spec spec = {0.4, 60.0, 1, 2, Design::kEquiripple};
  FilterDesign design = Begin(spec);
  while (!design.Step(1)) {
  }
  ExpectSame(**design.Result(), *spec.Create().value());
}

TEST(FilterDesignStepTest, DesignsInTurnDoNotDisturbEachOther) {
  const std::vector<Spec> specs = Specs();
  std::vector<FilterDesign> designs;
  for (const Spec& spec : specs) designs.push_back(Begin(spec));
  for (bool all_done = false; !all_done;) {
    all_done = true;
    for (FilterDesign& design : designs) all_done &= design.Step();
    std::swap(designs[0], designs[1]);  // they may be moved between steps
    all_done &= designs[0].Step();
    std::swap(designs[0], designs[1]);
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    ExpectSame(**designs[i].Result(), *specs[i].Create().value());
  }
}

// A design of a second is many steps; so is the search for the factors of a rate.
TEST(FilterDesignStepTest, WhatTakesLongTakesManySteps) {
  FilterDesign design = Begin({0.2091, 90.0, 1, 1, Design::kEquiripple, 0.002, 0.2109});
  int steps = 1;
  for (; !design.Step(); ++steps) {
    EXPECT_LE(design.MaxBytes(), int64_t{128} << 20);
  }
  EXPECT_THAT(design.Result(), IsOk());
  EXPECT_GE(steps, 200);
}

TEST(FilterDesignStepTest, WhatCannotBeIsRefusedByNameAtOnceOrAtTheEnd) {
  EXPECT_THAT(FilterDesign::Create(Mask(), Design::kKaiser, 1, 2).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pass_edge 0 is not in")));
  Mask mask;
  mask.pass_edge = 0.2;
  mask.stop_edge = 0.20001;
  auto design = FilterDesign::Create(mask, Design::kEquiripple, 1, 2);
  ASSERT_THAT(design, IsOk());
  while (!design->Step()) {
  }
  EXPECT_THAT(design->Result(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mask: from 0.2 to 0.20001")));
}

TEST(FilterDesignStepTest, LargestEdgesAreThoseOfTheMask) {
  const auto edges = [](int up, int down) {
    const MaskEdges most = LargestEdges(0.2, up, down);
    return std::make_pair(most.pass, most.stop);
  };
  EXPECT_EQ(edges(1, 2), std::make_pair(0.25, 0.3));
  EXPECT_EQ(edges(1, 1), std::make_pair(0.5, 0.5));
  EXPECT_EQ(edges(2, 2), std::make_pair(0.5, 0.5));
  EXPECT_EQ(edges(3, 2), std::make_pair(0.5, 0.8));
}

}  // namespace
}  // namespace baseband::downconvert
