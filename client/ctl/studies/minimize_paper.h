// The search of V. I. Strokov, "Graphics processors for the minimisation of functionals ..",
// Journal of Radio Electronics 1/2015: the frequency of a sinusoid beside a known code, by a grid.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_MINIMIZE_PAPER_H_
#define BASEBAND_CLIENT_CTL_STUDIES_MINIMIZE_PAPER_H_

#include <cmath>
#include <cstdint>

#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

inline constexpr double kPaperFrequencyHz = 467321.36;
inline constexpr double kPaperStepHz = 0.17;

// Its table 1: a GTX 860M against an i5-4210H. NAN: not given.
struct PaperRow {
  int64_t points = 0;
  double gpu_ms = NAN;
  double cpu_ms = NAN;
};
inline constexpr PaperRow kPaperTable[] = {
    {130, 0.40, 29.78},         {260, 0.43, 59.57},      {520, 0.57, 119.14},
    {1300, 0.82, 298.21},       {2600, 0.83, 598.92},    {13000, 2.30, 2984.81},
    {26000, 3.98, 5986.23},     {52000, 7.69, 12122.57}, {130000, 18.13, 30154.31},
    {520000, 70.63, 118292.14}, {1300000, 175.56, NAN},  {2600000, 350.73, NAN},
    {13000000, 1760.69, NAN},   {14444445, 1953.15, NAN}};

// Its functional and its observation: 2400 samples of a sine of kPaperFrequencyHz every 0.2 us, and
// as fixed columns cosine and sine of 465 kHz times the 16 bits of 0xC44B. (The printed code has a
// sine of 456 kHz in places; we take that for a slip.) Without an axis.
v1::MinimizeRequest PaperSearch();
// y'y of that observation: the functional where nothing fits.
double PaperEnergy();

// `points` steps of `step_hz` around the frequency, which lies 0.3 steps above one of them: the
// best point has something left. None lies below 1 kHz; the largest grid is all above.
v1::GridAxis PaperAxis(int64_t points, double step_hz = kPaperStepHz);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_MINIMIZE_PAPER_H_
