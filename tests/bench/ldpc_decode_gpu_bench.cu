// Decoding on a GPU with everything in device memory: checks each result against the CPU first,
// then prints information bits per second and the time of a launch, beside what open cuPHY reaches
// on an H200 (measured with its own bench, same code, iterations and counting).
//
//   ldpc_decode_gpu_bench [table|early|few|sizes|batches|all]
//
// `early` are the table's rows of code words that stop early, and of as many that do not; `few`
// those of a code word or some, which are decoded soon rather than many at once.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cuda/resources.h"
#include "kernels/ldpc/decode_gpu.h"
#include "tests/bench/ldpc_rows.h"
#include "tests/bench/rows.h"
#include "tests/support/channel.h"
#include "tests/support/ldpc_words.h"

namespace {

using namespace baseband;  // NOLINT: a program
using ldpc::Code;
using ldpc::CodePtr;

constexpr int kLaunches = 10;  // that one measurement is the mean of
constexpr int kRepeats = 15;
constexpr int kWords = 61;  // different code words in a launch: all pairs of them come up

void Check(bool ok, const char* what) {
  if (!ok) {
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
  }
}
template <typename T>
T Value(absl::StatusOr<T> result) {
  Check(result.ok(), result.status().ToString().c_str());
  return *std::move(result);
}
template <typename T>
cuda::DeviceBuffer<T> ToDevice(const std::vector<T>& host, size_t slack = 0) {
  auto buffer = Value(cuda::CreateDeviceBuffer<T>(host.size() + slack));
  Check(cudaMemcpy(buffer.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice) ==
                cudaSuccess &&
            cudaDeviceSynchronize() == cudaSuccess,
        "copy to the device");
  return buffer;
}

// What is off the default path.
enum class Form {
  kDefault,
  kCrc,  // looked at after every iteration, in vain: the words have none
  kSoft,
  kFlooding,
  kSumProduct,
  kBitFlipping,
};
constexpr const char* kFormNames[] = {"",         "CRC",         "soft output",
                                      "flooding", "sum-product", "bit flipping"};

struct Case {
  std::string name;
  CodePtr code;
  double ebn0_db;
  int num_blocks;
  bool early_termination;
  const char* peer;  // open cuPHY
  Form form = Form::kDefault;
  int streams = 1;         // that launch at the same time, the batch each
  int sharers = 1;         // of DecodeBatch
  std::string along = "";  // which parameter of the report's row is a figure's x axis
};

// For the report.
void EmitRow(const Case& test, double iterations, const bench::Times& times) {
  const auto blocks = static_cast<double>(test.num_blocks) * test.streams;
  bench::RowParameters parameters = {{"code", test.along == "zc" ? test.name : test.code->name()}};
  if (test.along == "zc") {
    parameters.emplace_back("zc", std::to_string(test.code->zc()));
  } else {
    if (test.along == "ebn0") {
      char text[16];
      std::snprintf(text, sizeof text, "%.1f", test.ebn0_db);
      parameters.emplace_back("ebn0", text);
    }
    if (test.along.empty() || test.along == "ebn0") {
      parameters.emplace_back("stop", test.form == Form::kCrc  ? "CRC"
                                      : test.early_termination ? "parity"
                                                               : "fixed");
      if (test.form > Form::kCrc) {
        parameters.emplace_back("form", kFormNames[static_cast<int>(test.form)]);
      }
    }
    parameters.emplace_back("blocks", std::to_string(test.num_blocks));
    if (test.streams > 1) {
      parameters.emplace_back("streams", std::to_string(test.streams));
      parameters.emplace_back("sharers", std::to_string(test.sharers));
    }
  }
  const bench::Row row =
      DecodeRow("gpu", parameters, *test.code, iterations, blocks, times.median, times.spread);
  (test.along == "blocks" ? TimeRow(row, blocks * test.code->k(), "blocks") : row).Emit();
}

void Run(const Case& test, cudaStream_t stream) {
  const Code& code = *test.code;
  ldpc::DecodeParameters parameters;
  parameters.early_termination = test.early_termination;
  if (test.form == Form::kCrc) parameters.stop_crc = Crc::kCrc24B;
  if (test.form == Form::kFlooding) parameters.schedule = ldpc::Schedule::kFlooding;
  if (test.form == Form::kSumProduct) parameters.algorithm = ldpc::Algorithm::kSumProduct;
  if (test.form == Form::kBitFlipping) parameters.algorithm = ldpc::Algorithm::kBitFlipping;
  const size_t soft_bytes =
      test.form == Form::kSoft ? (static_cast<size_t>(code.n()) + 3) / 4 * 4 : 0;
  testing::Random random(1);
  const double variance = testing::NoiseVariance(test.ebn0_db, testing::SentRate(code));
  const auto num_sent = static_cast<size_t>(code.num_sent());
  const auto bytes = static_cast<size_t>(ldpc::DecodedBytes(code, 0));
  const size_t stride = (bytes + 3) / 4 * 4;
  std::vector<std::vector<int8_t>> words;
  std::vector<std::vector<uint8_t>> expected;
  std::vector<std::vector<int8_t>> expected_soft;
  std::vector<ldpc::DecodeResult> expected_results;
  for (int i = 0; i < kWords; ++i) {
    const std::vector<uint8_t> word = testing::RandomWord(code, 0, random);
    words.push_back(testing::QuantiseLlr(
        testing::SendOverAwgn(testing::SentBits(code, word), variance, random)));
    expected.emplace_back(bytes);
    expected_soft.emplace_back(soft_bytes == 0 ? 0 : static_cast<size_t>(code.n()));
    expected_results.push_back(ldpc::DecodeOnCpu(code, parameters, 0, words.back(),
                                                 absl::MakeSpan(expected.back()),
                                                 absl::MakeSpan(expected_soft.back())));
  }
  const auto count = static_cast<size_t>(test.num_blocks);
  std::vector<int8_t> llr;
  std::vector<ldpc::DecodeBlock> blocks(count);
  for (size_t i = 0; i < count; ++i) {
    blocks[i].llr_count = static_cast<uint32_t>(num_sent);
    blocks[i].bits_offset = static_cast<uint32_t>(i * stride);
    blocks[i].soft_offset = soft_bytes == 0 ? ldpc::kNoSoft : static_cast<uint32_t>(i * soft_bytes);
    blocks[i].result_index = static_cast<uint32_t>(i);
    llr.insert(llr.end(), words[i % kWords].begin(), words[i % kWords].end());
  }
  const auto device_llr = ToDevice(llr, 16);
  for (size_t i = 0; i < count; ++i) blocks[i].llr = device_llr.data() + i * num_sent;
  const auto device_blocks = ToDevice(blocks);
  const auto device_bits = ToDevice(std::vector<uint8_t>(count * stride, 0xa5));
  const auto device_soft = ToDevice(std::vector<int8_t>(count * soft_bytes + 1, 77));
  const auto device_workspace = ToDevice(
      std::vector<uint8_t>(static_cast<size_t>(DecodeWorkspaceBytes(code, parameters)) + 1));
  const auto device_results = Value(cuda::CreateDeviceBuffer<ldpc::DecodeResult>(count));
  ldpc::DecodeBatch batch;
  batch.code = &code;
  batch.parameters = parameters;
  batch.blocks = device_blocks.data();
  batch.num_blocks = test.num_blocks;
  batch.bits = device_bits.data();
  batch.results = device_results.data();
  batch.soft = soft_bytes > 0 ? device_soft.data() : nullptr;
  batch.workspace = device_workspace.data();
  batch.sharers = test.sharers;
  const auto launch = [&](cudaStream_t to) {
    const absl::Status status = ldpc::LaunchDecode(batch, to);
    Check(status.ok(), status.ToString().c_str());
  };

  launch(stream);
  Check(cudaStreamSynchronize(stream) == cudaSuccess, "decode");
  std::vector<uint8_t> bits(count * stride);
  std::vector<int8_t> soft(count * soft_bytes);
  std::vector<ldpc::DecodeResult> results(count);
  Check(cudaMemcpy(bits.data(), device_bits.data(), bits.size(), cudaMemcpyDeviceToHost) ==
                cudaSuccess &&
            cudaMemcpy(soft.data(), device_soft.data(), soft.size(), cudaMemcpyDeviceToHost) ==
                cudaSuccess &&
            cudaMemcpy(results.data(), device_results.data(), count * sizeof(ldpc::DecodeResult),
                       cudaMemcpyDeviceToHost) == cudaSuccess,
        "copy to the host");
  double iterations = 0;
  int undecoded = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t w = i % kWords;
    Check(std::memcmp(&bits[i * stride], expected[w].data(), bytes) == 0, "bits differ from CPU");
    Check(results[i].iterations == expected_results[w].iterations &&
              results[i].parity_ok == expected_results[w].parity_ok,
          "results differ from CPU");
    Check(soft_bytes == 0 || std::memcmp(&soft[i * soft_bytes], expected_soft[w].data(),
                                         expected_soft[w].size()) == 0,
          "soft values differ from CPU");
    iterations += results[i].iterations;
    undecoded += results[i].parity_ok == 0;
  }

  const auto begin = Value(cuda::Event::Create());
  const auto end = Value(cuda::Event::Create());
  std::vector<cuda::Stream> others;  // all write the same to the same places
  for (int i = 1; i < test.streams; ++i) others.push_back(Value(cuda::Stream::Create()));
  std::vector<double> seconds;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    cudaEventRecord(begin.get(), stream);
    for (const cuda::Stream& other : others) cudaStreamWaitEvent(other.get(), begin.get());
    for (int i = 0; i < kLaunches; ++i) {
      launch(stream);
      for (const cuda::Stream& other : others) launch(other.get());
    }
    for (const cuda::Stream& other : others) {
      cudaEventRecord(end.get(), other.get());
      cudaStreamWaitEvent(stream, end.get());
    }
    cudaEventRecord(end.get(), stream);
    Check(cudaEventSynchronize(end.get()) == cudaSuccess, "cudaEventSynchronize");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin.get(), end.get());
    seconds.push_back(ms * 1e-3 / kLaunches);
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[kRepeats / 2];
  EmitRow(test, iterations / test.num_blocks, bench::Times::Of(seconds));
  std::printf("%-32s %7d %5.2f %9d %10.1f %10.1f %9.2f   %s\n", test.name.c_str(), test.num_blocks,
              iterations / test.num_blocks, undecoded, median * 1e6, seconds.back() * 1e6,
              test.num_blocks * test.streams * static_cast<double>(code.k()) / median * 1e-9,
              test.peer);
  std::fflush(stdout);
}

// As much work for each size, a quarter of the table's.
void RunSizes(cudaStream_t stream) {
  for (const auto& [name, code] : ldpc::CodesOfEverySize()) {
    const int blocks = std::min(1320 * 384 / code->zc(), 1 << 16);
    Run({name, code, ldpc::EasyEbn0(*code), blocks, false, "", Form::kDefault, 1, 1, "zc"}, stream);
  }
}

// Batches of several streams at once, where the decoder knows of each other and where not.
void RunBeside(cudaStream_t stream) {
  constexpr int kStreams = 4;
  for (const int rows : {46, 4}) {
    const CodePtr code = Value(ldpc::NrCode(1, 384, rows));
    for (const int blocks : {25, 50, 100}) {
      for (const int sharers : {1, kStreams}) {
        const std::string name = code->name() + ", 4x, " + std::to_string(sharers);
        Run({name, code, ldpc::EasyEbn0(*code), blocks, false, "", Form::kDefault, kStreams,
             sharers},
            stream);
      }
    }
  }
}

void RunBatches(cudaStream_t stream) {
  for (const CodePtr& code : ldpc::CodesOfBatches()) {
    for (int blocks = 1; blocks <= 8192; blocks *= 2) {
      Run({code->name(), code, ldpc::EasyEbn0(*code), blocks, false, "", Form::kDefault, 1, 1,
           "blocks"},
          stream);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool early_alone = argc > 1 && std::strcmp(argv[1], "early") == 0;
  const bool few_alone = argc > 1 && std::strcmp(argv[1], "few") == 0;
  const ldpc::Parts parts(argc > 1 && !early_alone && !few_alone ? argv[1] : "table");
  Check(ldpc::PrepareDecodeKernels().ok(), "PrepareDecodeKernels");
  const auto stream = Value(cuda::Stream::Create());
  const auto nr = [](int base_graph, int zc, int rows) {
    return Value(ldpc::NrCode(base_graph, zc, rows));
  };
  const CodePtr wimax = Value(ldpc::WimaxCode("1/2", 2304));
  std::printf("%-32s %7s %5s %9s %10s %10s %9s   %s\n", "code", "words", "it", "undecoded",
              "median us", "slowest us", "Gb/s info", "open cuPHY");
  const Case cases[] = {
      {"NR BG1 Zc=384 46 rows", nr(1, 384, 46), 1.8, 1, false, "101 us"},
      {"NR BG1 Zc=384 46 rows", nr(1, 384, 46), 1.8, 2, false, ""},
      {"NR BG1 Zc=384 46 rows", nr(1, 384, 46), 1.8, 32, false, ""},
      {"NR BG1 Zc=384 46 rows", nr(1, 384, 46), 1.8, 132, false, "(264 words) 179 us"},
      {"NR BG1 Zc=384 46 rows", nr(1, 384, 46), 1.8, 133, false, ""},
      {"NR BG1 Zc=384 46 rows", nr(1, 384, 46), 1.8, 264, false, "12.5, 179 us"},
      {"NR BG1 Zc=384 46 rows", nr(1, 384, 46), 1.8, 5280, false, "12.5"},
      {"NR BG1 Zc=384 12 rows", nr(1, 384, 12), 3.5, 5280, false, "29.7"},
      {"NR BG1 Zc=384 8 rows", nr(1, 384, 8), 4.0, 5280, false, "39.4"},
      {"NR BG1 Zc=384 4 rows", nr(1, 384, 4), 5.0, 1, false, ""},
      {"NR BG1 Zc=384 4 rows", nr(1, 384, 4), 5.0, 2, false, ""},
      {"NR BG1 Zc=384 4 rows", nr(1, 384, 4), 5.0, 32, false, ""},
      {"NR BG1 Zc=384 4 rows", nr(1, 384, 4), 5.0, 132, false, ""},
      {"NR BG1 Zc=384 12 rows", nr(1, 384, 12), 3.5, 1, false, ""},
      {"NR BG1 Zc=384 22 rows", nr(1, 384, 22), 3.0, 1, false, ""},
      {"NR BG1 Zc=64 46 rows", nr(1, 64, 46), 2.2, 1, false, ""},
      {"NR BG2 Zc=384 42 rows", nr(2, 384, 42), 1.8, 1, false, ""},
      {"NR BG2 Zc=384 4 rows", nr(2, 384, 4), 4.5, 1, false, ""},
      {"NR BG1 Zc=384 4 rows", nr(1, 384, 4), 5.0, 5280, false, "54.1"},
      {"NR BG1 Zc=176 46 rows", nr(1, 176, 46), 2.0, 10560, false, ""},
      {"NR BG2 Zc=384 42 rows", nr(2, 384, 42), 1.8, 5280, false, ""},
      {"NR BG2 Zc=384 4 rows", nr(2, 384, 4), 4.5, 5280, false, ""},
      {"802.16e 1/2 (2304, 1152)", wimax, 2.7, 26400, false, ""},
      {"NR BG1 Zc=384 46 rows, ET", nr(1, 384, 46), 1.8, 1, true, "not offered"},
      {"NR BG1 Zc=384 46 rows, ET", nr(1, 384, 46), 1.8, 5280, true, "not offered"},
      {"NR BG1 Zc=384 46 rows, ET, CRC", nr(1, 384, 46), 1.8, 1, true, "", Form::kCrc},
      {"NR BG1 Zc=384 46 rows, ET, CRC", nr(1, 384, 46), 1.8, 5280, true, "", Form::kCrc},
      {"NR BG1 Zc=384 4 rows, ET", nr(1, 384, 4), 5.0, 1, true, ""},
      {"NR BG1 Zc=384 4 rows, ET", nr(1, 384, 4), 5.0, 5280, true, ""},
      {"NR BG1 Zc=384 4 rows, ET, CRC", nr(1, 384, 4), 5.0, 5280, true, "", Form::kCrc},
      {"NR BG2 Zc=30 42 rows, ET", nr(2, 30, 42), 1.8, 5280, true, ""},
      {"NR BG2 Zc=30 42 rows, ET, CRC", nr(2, 30, 42), 1.8, 5280, true, "", Form::kCrc},
      {"802.16e 1/2 (2304, 1152), ET", wimax, 2.7, 26400, true, ""},
      {"NR BG1 Zc=384 46 rows, soft", nr(1, 384, 46), 1.8, 5280, false, "", Form::kSoft},
      {"NR BG1 Zc=384 4 rows, soft", nr(1, 384, 4), 5.0, 5280, false, "", Form::kSoft},
      {"NR BG2 Zc=384 42 rows, soft", nr(2, 384, 42), 1.8, 5280, false, "", Form::kSoft},
      {"NR BG1 Zc=384 46 rows, ET, soft", nr(1, 384, 46), 1.8, 5280, true, "", Form::kSoft},
      {"802.16e 1/2 (2304, 1152), soft", wimax, 2.7, 26400, false, "", Form::kSoft},
      {"NR BG1 Zc=384 46 rows, flooding", nr(1, 384, 46), 2.6, 5280, false, "", Form::kFlooding},
      {"NR BG1 Zc=384 4 rows, flooding", nr(1, 384, 4), 6.0, 5280, false, "", Form::kFlooding},
      {"802.16e 1/2, flooding", wimax, 3.5, 26400, false, "", Form::kFlooding},
      {"NR BG1 Zc=384 46, sum-product", nr(1, 384, 46), 1.8, 5280, false, "", Form::kSumProduct},
      {"802.16e 1/2, sum-product", wimax, 2.7, 26400, false, "", Form::kSumProduct},
      {"NR BG1 Zc=384 46, bit flipping", nr(1, 384, 46), 9.0, 5280, false, "", Form::kBitFlipping},
  };
  const struct {
    const char* name;
    CodePtr code;
    double ebn0_db;
    Form form;
  } early[] = {
      {"NR BG1 Zc=384 46 rows, ET", nr(1, 384, 46), 1.4, Form::kDefault},
      {"NR BG1 Zc=384 46 rows, ET, CRC", nr(1, 384, 46), 1.4, Form::kCrc},
      {"NR BG1 Zc=384 12 rows, ET", nr(1, 384, 12), 3.5, Form::kDefault},
      {"NR BG1 Zc=384 8 rows, ET", nr(1, 384, 8), 4.0, Form::kDefault},
      {"NR BG1 Zc=384 4 rows, ET", nr(1, 384, 4), 4.3, Form::kDefault},
      {"NR BG2 Zc=384 42 rows, ET", nr(2, 384, 42), 1.8, Form::kDefault},
      {"NR BG1 Zc=208 46 rows, ET", nr(1, 208, 46), 1.8, Form::kDefault},
  };
  if (parts.Has("table")) {
    for (const Case& test : cases) {
      if (early_alone && !(test.num_blocks > 1000 && test.form <= Form::kCrc)) continue;
      if (few_alone && test.num_blocks > 1000) continue;
      Run(test, stream.get());
    }
    for (const auto& test : early) {
      if (few_alone) break;
      Run({test.name, test.code, test.ebn0_db, 5280, true, "", test.form, 1, 1, "ebn0"},
          stream.get());
    }
  }
  if (parts.Has("table") && !early_alone && !few_alone) {
    RunBeside(stream.get());
  }
  if (parts.Has("sizes")) RunSizes(stream.get());
  if (parts.Has("batches")) RunBatches(stream.get());
  return 0;
}
