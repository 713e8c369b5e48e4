// What of an answer of a GPU differs from the CPU's beyond the contract, in words; empty: nothing.
#ifndef BASEBAND_TESTS_GPU_COMPARE_ANSWERS_H_
#define BASEBAND_TESTS_GPU_COMPARE_ANSWERS_H_

#include <string>

#include "baseband/v1/baseband.pb.h"
#include "kernels/minimize/search.h"
#include "server/operations/downconvert/downconvert.h"

namespace baseband::server {

std::string CompareDecode(const v1::DecodeRequest& request, const v1::DecodeResponse& gpu,
                          const v1::DecodeResponse& cpu);
std::string CompareRecoverCarrier(const v1::RecoverCarrierRequest& request,
                                  const v1::RecoverCarrierResponse& gpu,
                                  const v1::RecoverCarrierResponse& cpu);
std::string CompareDownconvert(const DownconvertJob& gpu, const DownconvertJob& cpu);
// Values may be `tolerance` apart.
std::string CompareAnswers(const minimize::Answer& gpu, const minimize::Answer& cpu,
                           double tolerance);

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_GPU_COMPARE_ANSWERS_H_
