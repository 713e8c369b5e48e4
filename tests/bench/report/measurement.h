// Runs the benches, each of which checks its results, and gathers what they hand over (rows.h).
#ifndef BASEBAND_TESTS_BENCH_REPORT_MEASUREMENT_H_
#define BASEBAND_TESTS_BENCH_REPORT_MEASUREMENT_H_

#include <ios>
#include <set>
#include <string>
#include <vector>

#include "tests/bench/report/run_file.h"

namespace baseband::bench {

struct Step {
  const char* program;
  std::vector<std::string> arguments;
};

// All there are. `quick`: with few repetitions.
std::vector<Step> StepsOf(bool gpu, bool quick);

// Empty if there is a GPU to measure.
std::string WhyNoGpu();

// Of this machine, now. An empty `commit`: git says.
Head HeadOf(const std::string& commit, bool quick);

// What cannot be written ends the program.
void MustWrite(const std::string& path, const std::string& text, std::ios::openmode mode);

// A run that is being made: its file, and what its programs print.
class Measurement {
 public:
  Measurement(const Head& head, std::vector<Step> steps, std::string path, std::string log);

  // One more turn, of `programs` or of all. A program that fails is named in the file.
  void Turn(const std::set<std::string>& programs = {});
  // There is no other turn.
  void End();

 private:
  void RunStep(const Step& step);

  const std::string path_;
  const std::string log_;
  const std::vector<Step> steps_;
  int turn_ = 0;
};

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_REPORT_MEASUREMENT_H_
