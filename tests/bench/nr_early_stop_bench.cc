// What stopping by the CRC saves, as CSV: mean iterations and block error rates of transport blocks
// of one code block, by modulation, code rate, SNR and scale of the LLRs.
//
//   nr_early_stop_bench [blocks]
//
// Of each scheme the SNR where a tenth of the blocks fails, then 1 and 3 dB more; at most 10
// iterations. The same noise for all; `wrong` are blocks whose CRC holds though they are not what
// was sent.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/nr/block_chain.h"
#include "tests/support/nr_awgn.h"

namespace baseband {
namespace {

constexpr int kTbBytes = 1000;  // CRC24A; Zc is 384

struct Scheme {
  int qm;
  double code_rate;
};

class Link {
 public:
  explicit Link(const Scheme& scheme) : qm_(scheme.qm) {
    nr::TransportBlock tb;
    tb.tb_bytes = kTbBytes;
    tb.qm = qm_;
    tb.g = static_cast<int64_t>(8 * kTbBytes / scheme.code_rate) / qm_ * qm_;
    plan_ = *nr::MakePlan(tb);
    code_ = *ldpc::NrCode(plan_.base_graph, plan_.zc, plan_.num_rows);
  }

  struct Counts {
    int failed = 0;
    int wrong = 0;
    int64_t iterations = 0;
  };
  Counts Count(double snr_db, double llr_scale, bool by_crc, int blocks) const {
    testing::Random random(99);
    ldpc::DecodeParameters parameters;
    if (by_crc) parameters.stop_crc = plan_.last_crc();
    Counts counts;
    for (int i = 0; i < blocks; ++i) {
      std::vector<uint8_t> payload(kTbBytes);
      for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random.Below(256));
      const std::vector<int8_t> llr =
          testing::QuantiseLlr(Receive(payload, snr_db, random), llr_scale);
      std::vector<int8_t> soft(plan_.of_long.n_cb);
      std::vector<uint8_t> decided(kTbBytes);
      const nr::BlockResult result = nr::DecodeBlockOnCpu(
          plan_, *code_, parameters, 0, llr, false, absl::MakeSpan(soft), absl::MakeSpan(decided));
      nr::JoinTransportBlock(plan_, {&result, 1}, absl::MakeSpan(decided));
      counts.failed += result.crc_ok ? 0 : 1;
      counts.wrong += result.crc_ok && decided != payload ? 1 : 0;
      counts.iterations += result.decode.iterations;
    }
    return counts;
  }

 private:
  std::vector<double> Receive(const std::vector<uint8_t>& payload, double snr_db,
                              testing::Random& random) const {
    std::vector<uint8_t> sent(static_cast<size_t>((plan_.g() + 7) / 8));
    const nr::EdgeBits edges =
        nr::EncodeBlockOnCpu(plan_, *code_, payload, nr::TransportBlockCrcOnCpu(plan_, payload), 0,
                             absl::MakeSpan(sent));
    nr::JoinCodedBits(plan_, {&edges, 1}, absl::MakeSpan(sent));
    const double n0 = std::pow(10.0, -snr_db / 10);
    const double unit = nr::AxisUnit(qm_);
    std::vector<double> llr(static_cast<size_t>(plan_.g()));
    for (int begin = 0; begin < static_cast<int>(plan_.g()); begin += qm_) {
      uint32_t label = 0;
      for (int i = 0; i < qm_; ++i) label = 2 * label + (testing::BitAt(sent, begin + i) ? 1 : 0);
      const nr::PointLevels levels = nr::LevelsOf(qm_, label, 0);
      const double real = random.Normal();
      const std::complex<double> noise(real, random.Normal());
      testing::NaturalLlrs(
          qm_, unit * std::complex<double>(levels.i, levels.q) + std::sqrt(n0 / 2) * noise, n0,
          &llr[static_cast<size_t>(begin)]);
    }
    return llr;
  }

  int qm_;
  nr::TransportBlockPlan plan_;
  ldpc::CodePtr code_;
};

void Print(const Scheme& scheme, int blocks) {
  const Link link(scheme);
  double low = -10;
  double high = 40;
  for (int i = 0; i < 11; ++i) {
    const double middle = 0.5 * (low + high);
    (link.Count(middle, 6, false, 60).failed > 6 ? low : high) = middle;
  }
  for (const double more_db : {0.0, 1.0, 3.0}) {
    const double snr_db = 0.5 * (low + high) + more_db;
    for (const double llr_scale : {6.0, 16.0}) {
      const Link::Counts parity = link.Count(snr_db, llr_scale, false, blocks);
      const Link::Counts crc = link.Count(snr_db, llr_scale, true, blocks);
      std::printf("%d,%.2f,%.1f,%.0f,%.2f,%.2f,%.4f,%.4f,%d\n", scheme.qm, scheme.code_rate, snr_db,
                  llr_scale, static_cast<double>(parity.iterations) / blocks,
                  static_cast<double>(crc.iterations) / blocks,
                  static_cast<double>(parity.failed) / blocks,
                  static_cast<double>(crc.failed) / blocks, parity.wrong + crc.wrong);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace baseband

int main(int argc, char** argv) {
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 400;
  std::printf(
      "qm,code_rate,snr_db,llr_scale,iterations_parity,iterations_crc,bler_parity,bler_crc,"
      "wrong\n");
  for (const baseband::Scheme& scheme :
       {baseband::Scheme{2, 0.3}, baseband::Scheme{4, 0.64}, baseband::Scheme{8, 0.92}}) {
    baseband::Print(scheme, blocks);
  }
  return 0;
}
