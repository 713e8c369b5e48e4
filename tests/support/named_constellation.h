// A constellation of the table.
#ifndef BASEBAND_TESTS_SUPPORT_NAMED_CONSTELLATION_H_
#define BASEBAND_TESTS_SUPPORT_NAMED_CONSTELLATION_H_

#include <string>

#include "gtest/gtest.h"
#include "kernels/carrier/constellation.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

inline carrier::ConstellationPtr Named(const std::string& name) {
  auto constellation = carrier::Constellation::FromName(name);
  EXPECT_THAT(constellation, IsOk());
  return *constellation;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_NAMED_CONSTELLATION_H_
