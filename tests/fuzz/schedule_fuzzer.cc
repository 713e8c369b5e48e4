// Any schedule of jobs with zero, tiny, huge and nonsensical work: each byte is a choice.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/support/random_schedule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t* const end = data + size;
  baseband::server::RandomSchedule schedule([&](uint32_t below) -> uint32_t {
    uint32_t value = 0;
    for (uint32_t reach = 1; reach < below && data < end; reach <<= 8) value = value << 8 | *data++;
    return value % below;
  });
  while (data < end) schedule.Step();
  schedule.Finish();
  if (schedule.fault().empty()) schedule.CheckSteadyService();
  if (!schedule.fault().empty()) {
    std::fprintf(stderr, "%s\n", schedule.fault().c_str());
    std::abort();
  }
  return 0;
}
