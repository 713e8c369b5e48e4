// A code block's bits as symbols of a channel of white noise, and the natural LLRs of a receiver.
#ifndef BASEBAND_TESTS_SUPPORT_NR_AWGN_H_
#define BASEBAND_TESTS_SUPPORT_NR_AWGN_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/ldpc/decode.h"
#include "kernels/nr/demap_math.h"
#include "kernels/nr/modulation_math.h"
#include "kernels/nr/transport_block.h"
#include "tests/support/channel.h"
#include "tests/support/ldpc_words.h"

namespace baseband::testing {

// Max-log, not rounded to anything coarse. qm is even.
inline void NaturalLlrs(int qm, std::complex<double> y, double n0, double* llr) {
  const double unit = nr::AxisUnit(qm);
  for (int axis = 0; axis < 2; ++axis) {
    const auto t = static_cast<float>((axis == 0 ? y.real() : y.imag()) / unit);
    float metrics[5];
    switch (qm) {
      case 2:
        nr::AxisMetrics<1>(t, metrics);
        break;
      case 4:
        nr::AxisMetrics<2>(t, metrics);
        break;
      case 6:
        nr::AxisMetrics<3>(t, metrics);
        break;
      case 8:
        nr::AxisMetrics<4>(t, metrics);
        break;
      default:
        nr::AxisMetrics<5>(t, metrics);
        break;
    }
    for (int k = 0; k < qm / 2; ++k) llr[2 * k + axis] = 4.0 * unit * unit / n0 * metrics[k];
  }
}

// First transmissions of one code block, without fillers.
class NrAwgnBlock {
 public:
  // qm even; of about k / code_rate bits sent, at most all there are.
  NrAwgnBlock(int base_graph, int zc, int qm, double code_rate) : qm_(qm) {
    const int k = (base_graph == 1 ? 22 : 10) * zc;
    const int rows = static_cast<int>(std::ceil((k / code_rate - k) / zc)) + 2;
    code_ = *ldpc::NrCode(base_graph, zc, std::clamp(rows, 4, base_graph == 1 ? 46 : 42));
    columns_ = std::min(static_cast<int>(k / code_rate), code_->num_sent()) / qm;
  }

  const ldpc::Code& code() const { return *code_; }
  int qm() const { return qm_; }
  // Of the last Send: the information bits, packed, and what was received.
  const std::vector<uint8_t>& info() const { return info_; }
  const std::vector<std::complex<double>>& symbols() const { return symbols_; }

  // A random block through the channel: natural LLRs in the order of the circular buffer.
  const std::vector<double>& Send(double snr_db, Random& random) {
    const std::vector<uint8_t> word = RandomWord(*code_, 0, random);
    info_ = PackBits(absl::MakeSpan(word).subspan(0, static_cast<size_t>(code_->k())));
    const double n0 = std::pow(10.0, -snr_db / 10.0);
    const double unit = nr::AxisUnit(qm_);
    const int punctured = code_->punctured_columns() * code_->zc();
    llr_.assign(static_cast<size_t>(columns_ * qm_), 0.0);
    symbols_.clear();
    for (int j = 0; j < columns_; ++j) {
      uint32_t label = 0;  // bit i of a symbol is bit j of row i: TS 38.212 clause 5.4.2.2
      for (int i = 0; i < qm_; ++i) label = 2 * label + word[punctured + i * columns_ + j];
      const nr::PointLevels point = nr::LevelsOf(qm_, label, 0);
      const double real = random.Normal();
      const std::complex<double> noise(real, random.Normal());
      double llr[nr::kMaxQm];
      symbols_.push_back(unit * std::complex<double>(point.i, point.q) + std::sqrt(n0 / 2) * noise);
      NaturalLlrs(qm_, symbols_.back(), n0, llr);
      for (int i = 0; i < qm_; ++i) llr_[static_cast<size_t>(i * columns_ + j)] = llr[i];
    }
    return llr_;
  }

  // Whether the block of the last Send is not found from int8 LLRs.
  bool Fails(absl::Span<const int8_t> llr) const {
    ldpc::DecodeParameters parameters;
    parameters.max_iterations = 12;
    std::vector<uint8_t> bits(info_.size());
    ldpc::DecodeOnCpu(*code_, parameters, 0, llr, absl::MakeSpan(bits), {});
    return bits != info_;
  }

 private:
  int qm_;
  ldpc::CodePtr code_;
  int columns_ = 0;
  std::vector<uint8_t> info_;
  std::vector<double> llr_;
  std::vector<std::complex<double>> symbols_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_NR_AWGN_H_
