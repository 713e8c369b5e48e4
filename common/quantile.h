// A quantile of values that come one after the other. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_QUANTILE_H_
#define BASEBAND_CLIENT_CPP_QUANTILE_H_

namespace baseband::client {

// By what `quantile`, of values above 0, is to be multiplied after another `value`: it rises for a
// larger one and falls for another, in all by the part `step`, so that both balance where the part
// `q` of them is not larger.
template <typename T>
double QuantileStep(T quantile, double q, double step, T value) {
  return 1.0 + step * (value > quantile ? q : q - 1.0);
}

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_QUANTILE_H_
