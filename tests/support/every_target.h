// Tests of code that Highway dispatches.
#ifndef BASEBAND_TESTS_SUPPORT_EVERY_TARGET_H_
#define BASEBAND_TESTS_SUPPORT_EVERY_TARGET_H_

#include <cstdint>

#include "gtest/gtest.h"
#include "hwy/targets.h"

namespace baseband::testing {

// Runs `test` once for each instruction set that this build and processor have.
template <typename Test>
void OnEveryTarget(const Test& test) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_EVERY_TARGET_H_
