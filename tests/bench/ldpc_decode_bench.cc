// Speed of the CPU device's decoder on one core, beside its peers.
//
//   ldpc_decode_bench [repetitions [table|sizes|batches|all]]
//
// Every row first checks its result: noisy words at the Eb/N0 given must decode. Times are the
// best of many short runs, so that other work on the machine disturbs them least. Peers' figures
// are information bits at 10 fixed iterations, measured by us with their own benchmarks, on one
// core of an EPYC (Zen 4, 2.6 GHz) and, for FlexRAN, also of a Xeon with AVX-512.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "kernels/ldpc/decode.h"
#include "tests/bench/ldpc_rows.h"
#include "tests/bench/rows.h"
#include "tests/support/ldpc_words.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::Random;

constexpr int kWords = 20;

struct Case {
  CodePtr code;
  double ebn0_db;  // where nearly all words decode
  const char* peers;
};

// Words and what was received of them.
struct Words {
  std::vector<std::vector<uint8_t>> info;
  std::vector<std::vector<int8_t>> llr;
};

Words MakeWords(const Case& test, int count) {
  const Code& code = *test.code;
  const double variance = testing::NoiseVariance(test.ebn0_db, testing::SentRate(code));
  Random random(1);
  Words words;
  for (int i = 0; i < count; ++i) {
    const std::vector<uint8_t> word = testing::RandomWord(code, 0, random);
    words.info.push_back(testing::PackBits(absl::MakeSpan(word).subspan(0, code.k())));
    words.llr.push_back(testing::QuantiseLlr(
        testing::SendOverAwgn(testing::SentBits(code, word), variance, random)));
  }
  return words;
}

struct Figures {
  bench::Times of_word;
  double mean_iterations = 0.0;
  int failures = 0;
};

Figures Measure(const Case& test, const Words& words, const DecodeParameters& parameters,
                int repetitions) {
  const Code& code = *test.code;
  const auto count = static_cast<double>(words.llr.size());
  std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(code, 0)));
  Figures figures;
  for (size_t i = 0; i < words.llr.size(); ++i) {
    const DecodeResult result =
        DecodeOnCpu(code, parameters, 0, words.llr[i], absl::MakeSpan(bits), {});
    figures.failures += bits != words.info[i] ? 1 : 0;
    figures.mean_iterations += result.iterations / count;
  }
  std::vector<double> seconds;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    for (const std::vector<int8_t>& llr : words.llr) {
      DecodeOnCpu(code, parameters, 0, llr, absl::MakeSpan(bits), {});
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    seconds.push_back(elapsed.count() / count);
  }
  figures.of_word = bench::Times::Of(seconds);
  return figures;
}

// A row for the report. Words that did not decode are counted in `*failures`.
bench::Row RowOf(const Case& test, bench::RowParameters parameters, const Figures& figures,
                 int num_words, int* failures) {
  bench::Row row = DecodeRow("cpu", std::move(parameters), *test.code, figures.mean_iterations, 1,
                             figures.of_word.best, figures.of_word.spread);
  row.checked = figures.failures * 20 <= num_words;
  *failures += row.checked ? 0 : 1;
  return row;
}

// Returns how many codes did not decode, as the other parts do.
int PrintTable(int repetitions) {
  const Case cases[] = {
      {*NrCode(1, 384, 46), 1.7, "FlexRAN 51 (Xeon 62), srsRAN 19.2"},
      {*NrCode(1, 384, 22), 2.1, ""},
      {*NrCode(1, 384, 12), 2.8, ""},
      {*NrCode(1, 384, 4), 4.8, "FlexRAN 211 (Xeon 268), srsRAN 98"},
      {*NrCode(2, 384, 42), 1.4, "FlexRAN 35, srsRAN 12.1"},
      {*NrCode(2, 384, 4), 4.0, "FlexRAN 142, srsRAN 84"},
      {*NrCode(1, 208, 46), 1.9, ""},
      {*NrCode(1, 64, 46), 2.1, ""},
      {*NrCode(1, 16, 46), 2.8, ""},
      {*NrCode(1, 2, 46), 6.0, ""},
      {*WimaxCode("1/2", 2304), 2.3, "AFF3CT 91"},
      {*WimaxCode("5/6", 2304), 4.1, ""},
      {*WifiCode("1/2", 1944), 2.3, ""},
  };
  std::printf(
      "one core with %s; information bits; 10 iterations, fixed, then with early termination\n",
      hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
  std::printf("%-28s %6s %6s | %9s %9s | %9s %9s %6s | %s\n", "code", "Eb/N0", "wrong", "us",
              "Mb/s", "us", "Mb/s", "iter.", "peers, Mb/s");
  int failures = 0;
  for (const Case& test : cases) {
    const Words words = MakeWords(test, kWords);
    DecodeParameters parameters;
    parameters.early_termination = false;
    const Figures fixed = Measure(test, words, parameters, repetitions);
    parameters.early_termination = true;
    const Figures early = Measure(test, words, parameters, repetitions);
    const int k = test.code->k();
    const std::string& name = test.code->name();
    std::printf("%-28s %6.1f %3d/%2d | %9.2f %9.1f | %9.2f %9.1f %6.2f | %s\n", name.c_str(),
                test.ebn0_db, fixed.failures, kWords, 1e6 * fixed.of_word.best,
                1e-6 * k / fixed.of_word.best, 1e6 * early.of_word.best,
                1e-6 * k / early.of_word.best, early.mean_iterations, test.peers);
    std::fflush(stdout);
    RowOf(test, {{"code", name}, {"stop", "fixed"}}, fixed, kWords, &failures).Emit();
    RowOf(test, {{"code", name}, {"stop", "parity"}}, early, kWords, &failures).Emit();
  }
  return failures;
}

int MeasureSizes(int repetitions) {
  DecodeParameters parameters;
  parameters.early_termination = false;
  int failures = 0;
  for (const SizedCode& sized : CodesOfEverySize()) {
    const Case test = {sized.code, EasyEbn0(*sized.code), ""};
    const Figures figures = Measure(test, MakeWords(test, kWords), parameters, repetitions);
    const std::string zc = std::to_string(sized.code->zc());
    RowOf(test, {{"code", sized.name}, {"zc", zc}}, figures, kWords, &failures).Emit();
    std::printf("%-20s zc %3s %9.1f Mb/s\n", sized.name.c_str(), zc.c_str(),
                1e-6 * sized.code->k() / figures.of_word.best);
  }
  return failures;
}

int MeasureBatches(int repetitions) {
  DecodeParameters parameters;
  parameters.early_termination = false;
  int failures = 0;
  for (const CodePtr& code : CodesOfBatches()) {
    const Case test = {code, EasyEbn0(*code), ""};
    for (int blocks = 1; blocks <= 64; blocks *= 2) {
      const Figures figures = Measure(test, MakeWords(test, blocks), parameters, repetitions);
      const bench::Row row =
          RowOf(test, {{"code", code->name()}, {"blocks", std::to_string(blocks)}}, figures, blocks,
                &failures);
      TimeRow(row, static_cast<double>(code->k()) * blocks, "blocks").Emit();
      std::printf("%-28s %5d blocks %9.1f us\n", code->name().c_str(), blocks,
                  1e6 * blocks * figures.of_word.best);
    }
  }
  return failures;
}

int Main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 50;
  const Parts parts(argc > 2 ? argv[2] : "table");
  int failures = 0;
  if (parts.Has("table")) failures += PrintTable(repetitions);
  if (parts.Has("sizes")) failures += MeasureSizes(repetitions);
  if (parts.Has("batches")) failures += MeasureBatches(repetitions);
  if (failures > 0) std::printf("WRONG: %d codes did not decode\n", failures);
  return failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace baseband::ldpc

int main(int argc, char** argv) { return baseband::ldpc::Main(argc, argv); }
