// The matchers that tests call by their bare names, from every namespace of ours.
#ifndef BASEBAND_TESTS_SUPPORT_MATCHERS_H_
#define BASEBAND_TESTS_SUPPORT_MATCHERS_H_

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband {

// Of a Status or StatusOr.
using testing::IsInvalid;
using testing::IsOk;
using testing::StatusIs;

// Of values, texts and containers.
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

}  // namespace baseband

#endif  // BASEBAND_TESTS_SUPPORT_MATCHERS_H_
