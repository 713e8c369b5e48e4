// Numbers with the prefixes of the SI.
#ifndef BASEBAND_TESTS_BENCH_REPORT_SI_H_
#define BASEBAND_TESTS_BENCH_REPORT_SI_H_

#include <string>

namespace baseband::bench {

// "M" and 1e6; n .. P.
struct SiPrefix {
  std::string letter;
  double factor = 1.0;
};

// The one that leaves 1 .. 999 of `value` before the point, as far as there is one.
SiPrefix SiPrefixOf(double value);

// "57.6 Mbit/s", "107 us": three digits.
std::string Si(double value, const std::string& unit);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_REPORT_SI_H_
