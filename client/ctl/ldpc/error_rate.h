// Counting errors of a simulation, and how sure one may be of the rates.
#ifndef BASEBAND_CLIENT_CTL_LDPC_ERROR_RATE_H_
#define BASEBAND_CLIENT_CTL_LDPC_ERROR_RATE_H_

#include <cstdint>

namespace baseband::ctl {

struct Interval {
  double low = 0;
  double high = 1;
};

// Wilson's score interval of a share, 95 % confidence.
Interval WilsonInterval(int64_t part, int64_t whole);

// Counts of one point of an error-rate curve.
class ErrorRate {
 public:
  // One frame of `bits` information bits, `bit_errors` of them wrong after decoding.
  void AddFrame(int64_t bits, int64_t bit_errors, int64_t iterations, bool parity_ok);
  void AddChannel(int64_t bits, int64_t bit_errors);

  int64_t frames() const { return frames_; }
  int64_t frame_errors() const { return frame_errors_; }
  int64_t bits() const { return bits_; }
  int64_t bit_errors() const { return bit_errors_; }
  // Frames that satisfy all parity checks and are wrong all the same.
  int64_t undetected_errors() const { return undetected_errors_; }

  double fer() const { return Ratio(frame_errors_, frames_); }
  double ber() const { return Ratio(bit_errors_, bits_); }
  double channel_ber() const { return Ratio(channel_errors_, channel_bits_); }
  double mean_iterations() const { return Ratio(iterations_, frames_); }

  // 95 % confidence. FER: Wilson's score interval. BER: errors come in bursts, a frame at a time,
  // so frames are the independent samples, and the interval is the normal one of log BER; without
  // any error, from zero to the upper limit of the FER, which no BER exceeds.
  Interval FerInterval() const;
  Interval BerInterval() const;

 private:
  static double Ratio(int64_t part, int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }

  int64_t frames_ = 0;
  int64_t frame_errors_ = 0;
  int64_t undetected_errors_ = 0;
  int64_t bits_ = 0;
  int64_t bit_errors_ = 0;
  double squared_bit_errors_ = 0;
  int64_t iterations_ = 0;
  int64_t channel_bits_ = 0;
  int64_t channel_errors_ = 0;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_ERROR_RATE_H_
