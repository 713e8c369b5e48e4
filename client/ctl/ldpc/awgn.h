// BPSK over additive white Gaussian noise, with the receiver's LLRs as its output.
#ifndef BASEBAND_CLIENT_CTL_LDPC_AWGN_H_
#define BASEBAND_CLIENT_CTL_LDPC_AWGN_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "client/ctl/common/random.h"

namespace baseband::ctl {

// Noise variance per BPSK symbol of unit energy at `ebn0_db`, for `rate` information bits a symbol.
double NoiseVariance(double ebn0_db, double rate);

// Error rate of uncoded BPSK at `ebn0_db`.
double UncodedBer(double ebn0_db);

// An Eb/N0 in dB at which every block of a decent LDPC code with k information bits of this rate
// decodes, by a wide margin: the binary-input limit, plus what short blocks lose, plus 2.8 dB.
double ComfortableEbN0(double rate, int k);

// A channel with one noise variance and one LLR scale. For a bit b it draws
//   y = (1 - 2 b) + noise,  llr = clip(round(llr_scale * 2 y / variance), -127, 127)
// not by drawing y, but from the exact distribution that llr then has (Walker's alias method, as
// Vose 1991): one random word and one comparison a bit.
class AwgnChannel {
 public:
  // `variance` > 0 and `llr_scale` > 0.
  AwgnChannel(double variance, double llr_scale);

  // Sends the first `bits` bits of `packed`; writes one LLR each. Returns how many hard decisions
  // (llr < 0 is a one) are wrong.
  int64_t Transmit(absl::string_view packed, int64_t bits, Random* random, int8_t* llr) const;

 private:
  static constexpr int kColumns = 256;
  struct Column {
    uint64_t threshold;  // of the 56 random bits: below it `low`, else `high`
    int8_t low;
    int8_t high;
  };
  std::array<Column, kColumns> columns_;  // for b = 0; b = 1 changes the sign
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_AWGN_H_
