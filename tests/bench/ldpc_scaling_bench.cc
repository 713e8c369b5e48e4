// Block error rates of the layered integer engine for one NR code under several scalings, on the
// same words and noise, as CSV. Words end in a CRC24B and are sent as BPSK.
//
//   ldpc_scaling_bench BG ZC ROWS SNR_DB WORDS ITERATIONS LLR_SCALE SCALING,.. [FILE]
//
// SNR_DB is 1 / sigma^2 a real symbol, below Eb/N0 + 10 log10(2 rate). A scaling is a factor, or
// FACTOR/HEAVY, or FACTOR/HEAVY- with the offset; 0 is the default. FILE gets the LLRs, clipped to
// +-120, zeros for what is not sent, (66 or 50) ZC bytes a word: what another decoder takes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "tests/support/channel.h"
#include "tests/support/crc_words.h"

namespace baseband::ldpc {
namespace {

constexpr double kLlrLimit = 120.0;

struct Candidate {
  DecodeParameters parameters;
  int failures = 0;
  int64_t iterations = 0;
};

std::vector<Candidate> ReadCandidates(const char* at, int max_iterations) {
  std::vector<Candidate> candidates;
  while (*at != '\0') {
    char* end = nullptr;
    Candidate candidate;
    candidate.parameters.max_iterations = max_iterations;
    Scaling& scaling = candidate.parameters.scaling;
    scaling.factor = std::strtof(at, &end);
    if (*end == '/') scaling.heavy_factor = std::strtof(end + 1, &end);
    scaling.offset = *end == '-' ? 1 : 0;
    candidates.push_back(candidate);
    at = end;
    while (*at == '-' || *at == ',') ++at;
  }
  return candidates;
}

int Main(int argc, char** argv) {
  if (argc < 9) {
    std::fprintf(stderr, "see the head of this program's source\n");
    return 2;
  }
  const int base_graph = std::atoi(argv[1]);
  const absl::StatusOr<CodePtr> made = NrCode(base_graph, std::atoi(argv[2]), std::atoi(argv[3]));
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().ToString().c_str());
    return 2;
  }
  const Code& code = **made;
  const double snr_db = std::atof(argv[4]);
  const int words = std::atoi(argv[5]);
  const double llr_scale = std::atof(argv[7]);
  std::vector<Candidate> candidates = ReadCandidates(argv[8], std::atoi(argv[6]));
  std::FILE* const file = argc > 9 ? std::fopen(argv[9], "wb") : nullptr;

  testing::Random random(1);
  const double variance = std::pow(10.0, -snr_db / 10.0);
  std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(code, 0)));
  std::vector<int8_t> whole(static_cast<size_t>((base_graph == 1 ? 66 : 50) * code.zc()), 0);
  for (int w = 0; w < words; ++w) {
    const std::vector<uint8_t> word = testing::RandomCrcWord(code, 0, Crc::kCrc24B, random);
    const std::vector<double> llr =
        testing::SendOverAwgn(testing::SentBits(code, word), variance, random);
    for (size_t i = 0; i < llr.size(); ++i) {
      whole[i] = static_cast<int8_t>(
          std::clamp(std::nearbyint(llr[i] * llr_scale), -kLlrLimit, kLlrLimit));
    }
    if (file != nullptr) std::fwrite(whole.data(), 1, whole.size(), file);
    const std::vector<uint8_t> info =
        testing::PackBits(absl::MakeSpan(word).subspan(0, static_cast<size_t>(code.k())));
    for (Candidate& candidate : candidates) {
      const DecodeResult result =
          DecodeOnCpu(code, candidate.parameters, 0, absl::MakeSpan(whole).subspan(0, llr.size()),
                      absl::MakeSpan(bits), {});
      candidate.failures += bits != info ? 1 : 0;
      candidate.iterations += result.iterations;
    }
  }
  if (file != nullptr) std::fclose(file);
  std::printf(
      "code,snr_db,words,max_iterations,llr_scale,factor,heavy_factor,offset,bler,iterations\n");
  for (const Candidate& candidate : candidates) {
    std::printf("%s,%.2f,%d,%d,%g,%.3f,%.3f,%d,%.4f,%.2f\n", code.name().c_str(), snr_db, words,
                candidate.parameters.max_iterations, llr_scale,
                static_cast<double>(candidate.parameters.scaling.factor),
                static_cast<double>(candidate.parameters.scaling.heavy_factor),
                candidate.parameters.scaling.offset, candidate.failures / double(words),
                static_cast<double>(candidate.iterations) / words);
  }
  return 0;
}

}  // namespace
}  // namespace baseband::ldpc

int main(int argc, char** argv) { return baseband::ldpc::Main(argc, argv); }
