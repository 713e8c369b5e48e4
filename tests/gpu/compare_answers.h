// What of an answer of a GPU differs from the CPU's beyond the contract, in words; empty: nothing.
#ifndef BASEBAND_TESTS_GPU_COMPARE_ANSWERS_H_
#define BASEBAND_TESTS_GPU_COMPARE_ANSWERS_H_

#include <cmath>
#include <functional>
#include <string>

#include "baseband/v1/baseband.pb.h"
#include "kernels/minimize/search.h"
#include "server/operations/downconvert/downconvert.h"

namespace baseband::server {

// |a - b| <= tolerance, or both NaN, or the same infinity.
inline bool Near(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance;
}

std::string CompareDecode(const v1::DecodeRequest& request, const v1::DecodeResponse& gpu,
                          const v1::DecodeResponse& cpu);
// Every bit is the CPU's.
std::string CompareEncodeSharedChannel(const v1::EncodeSharedChannelRequest& request,
                                       const v1::EncodeSharedChannelResponse& gpu,
                                       const v1::EncodeSharedChannelResponse& cpu);
std::string CompareDecodeSharedChannel(const v1::DecodeSharedChannelRequest& request,
                                       const v1::DecodeSharedChannelResponse& gpu,
                                       const v1::DecodeSharedChannelResponse& cpu);
// Carrier recovery goes by thresholds: whether a step was the last, whether another hypothesis was
// close, whether the symbols fit. What lies within rounding of one may come out on either side of
// it, and from there on the answers are different ones, each as good. Where rounding decides, it
// does so for the CPU device, too: it then gives the GPU's answer to the same request whose samples
// differ from this one's by as little as the devices' arithmetic does. So an answer that is not the
// CPU's is right if the CPU gives it, frame by frame and by the same tolerances, to one of a number
// of requests so jittered; `on_cpu` says what it gives. An error of the GPU's that is more than
// rounding stays a difference.
using RecoverOnCpu =
    std::function<v1::RecoverCarrierResponse(const v1::RecoverCarrierRequest& request)>;
std::string CompareRecoverCarrier(const v1::RecoverCarrierRequest& request,
                                  const v1::RecoverCarrierResponse& gpu,
                                  const v1::RecoverCarrierResponse& cpu,
                                  const RecoverOnCpu& on_cpu);
std::string CompareDownconvert(const DownconvertJob& gpu, const DownconvertJob& cpu);
// Values may be `tolerance` apart.
std::string CompareAnswers(const minimize::Answer& gpu, const minimize::Answer& cpu,
                           double tolerance);

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_GPU_COMPARE_ANSWERS_H_
