#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/ldpc/code.h"
#include "server/operations/ldpc/ldpc_codes.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_words.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

constexpr int kMaxGroups = 4;
constexpr int kMaxBlocks = 6;

void SetCustomCode(bool for_encode, Random& random, v1::CustomCode* message) {
  std::mt19937 generator(static_cast<uint32_t>(random.Next()));
  const int zc = SomeCount(ldpc::kMaxZc, random);
  const int rows = 2 + random.Below(9);
  const int columns = rows + 1 + random.Below(12);
  const ldpc::BaseMatrix matrix = for_encode || OneIn(2, random)
                                      ? TriangularMatrix(rows, columns, zc, &generator)
                                      : FullMatrix(rows, columns, zc, false, &generator);
  message->set_rows(static_cast<uint32_t>(rows));
  message->set_columns(static_cast<uint32_t>(columns));
  message->set_zc(static_cast<uint32_t>(zc));
  message->set_punctured_columns(static_cast<uint32_t>(random.Below(columns - rows + 1)));
  message->mutable_shifts()->Add(matrix.shifts.begin(), matrix.shifts.end());
}

v1::LdpcCode RandomCode(bool for_encode, Random& random) {
  v1::LdpcCode code;
  switch (random.Below(5)) {
    case 0: {
      constexpr uint32_t kLengths[] = {648, 1296, 1944};
      code.mutable_wifi()->set_rate(static_cast<v1::WifiCode::Rate>(1 + random.Below(4)));
      code.mutable_wifi()->set_n(kLengths[random.Below(3)]);
      break;
    }
    case 1:
      code.mutable_wimax()->set_rate(static_cast<v1::WimaxCode::Rate>(1 + random.Below(6)));
      code.mutable_wimax()->set_n(static_cast<uint32_t>(576 + 96 * random.Below(19)));
      break;
    case 2:
      SetCustomCode(for_encode, random, code.mutable_custom());
      break;
    default: {
      const auto sizes = ldpc::NrLiftingSizes();
      const int graph = 1 + random.Below(2);
      code.mutable_nr()->set_base_graph(static_cast<uint32_t>(graph));
      code.mutable_nr()->set_zc(
          static_cast<uint32_t>(sizes[static_cast<size_t>(random.Below(51))]));
      if (OneIn(2, random)) {
        code.set_parity_rows(static_cast<uint32_t>(4 + random.Below(graph == 1 ? 43 : 39)));
      }
    }
  }
  return code;
}

int RandomFiller(const ldpc::Code& code, Random& random) {
  return OneIn(2, random) ? 0 : OneIn(4, random) ? code.k() - 1 : random.Below(code.k());
}

server::LdpcCodes& Codes() {
  static auto& codes = *new server::LdpcCodes();
  return codes;
}

// The LLRs of one block, `count` of them.
std::string RandomLlrs(const ldpc::Code& code, int num_filler, int count, double llr_scale,
                       Random& random) {
  std::string llrs;
  const int kind = random.Below(4);
  if (kind == 0 || !code.encode_plan().ok()) {
    llrs = RandomBytes(count, random);  // nonsense, -128 included
    return llrs;
  }
  const std::vector<uint8_t> word = RandomWord(code, num_filler, random);
  // 0 dB is hopeless for most codes here, 6 dB easy for all.
  const double ebn0_db = kind == 1 ? Between(-2.0, 2.0, random) : Between(2.0, 6.0, random);
  const double variance = NoiseVariance(ebn0_db, std::min(SentRate(code), 0.95));
  const std::vector<int8_t> all =
      QuantiseLlr(SendOverAwgn(SentBits(code, word), variance, random), llr_scale);
  for (int i = 0; i < count; ++i) llrs.push_back(static_cast<char>(all[static_cast<size_t>(i)]));
  return llrs;
}

}  // namespace

v1::EncodeRequest RandomEncodeRequest(Random& random) {
  v1::EncodeRequest request;
  int64_t bytes = 0;
  for (int g = 1 + random.Below(kMaxGroups); g > 0; --g) {
    v1::EncodeGroup& group = *request.add_groups();
    *group.mutable_code() = RandomCode(/*for_encode=*/true, random);
    const ldpc::CodePtr code = *Codes().FromProto(group.code());
    group.set_count(static_cast<uint32_t>(1 + random.Below(kMaxBlocks)));
    group.set_n_filler(static_cast<uint32_t>(RandomFiller(*code, random)));
    group.set_output(static_cast<v1::EncodeOutput>(random.Below(4)));
    bytes += int64_t{group.count()} * ((code->k() - static_cast<int>(group.n_filler()) + 7) / 8);
  }
  request.set_payload(RandomBytes(bytes, random));
  return request;
}

v1::DecodeRequest RandomDecodeRequest(Random& random) {
  v1::DecodeRequest request;
  for (int g = 1 + random.Below(kMaxGroups); g > 0; --g) {
    v1::DecodeGroup& group = *request.add_groups();
    *group.mutable_code() = RandomCode(/*for_encode=*/false, random);
    const ldpc::CodePtr code = *Codes().FromProto(group.code());
    group.set_count(static_cast<uint32_t>(1 + random.Below(kMaxBlocks)));
    const int filler = RandomFiller(*code, random);
    int count = code->num_sent();
    if (OneIn(2, random)) {
      count = OneIn(3, random) ? SomeCount(code->num_sent(), random)
                               : code->num_sent() - random.Below(code->num_sent() / 2 + 1);
      group.set_llr_count(static_cast<uint32_t>(count));
    }
    group.set_algorithm(static_cast<v1::DecodeAlgorithm>(random.Below(4)));
    group.set_schedule(static_cast<v1::DecodeSchedule>(random.Below(3)));
    group.set_max_iterations(static_cast<uint32_t>(OneIn(4, random)    ? 0
                                                   : OneIn(20, random) ? 100
                                                                       : 1 + random.Below(20)));
    group.set_fixed_iterations(OneIn(3, random));
    if (OneIn(3, random)) group.set_scale_factor(static_cast<float>(random.Uniform()));
    if (OneIn(3, random)) group.set_llr_scale(static_cast<float>(LogBetween(0.0011, 127, random)));
    group.set_soft_output(OneIn(2, random));
    // The matrix that llr_count leaves, whose fillers are what the contract bounds.
    const ldpc::CodePtr used = *Codes().FromProto(group.code(), group.llr_count());
    group.set_n_filler(static_cast<uint32_t>(std::min(filler, used->k() - 1)));
    const double scale = group.llr_scale() == 0.0F ? 4.0 : static_cast<double>(group.llr_scale());
    for (uint32_t b = 0; b < group.count(); ++b) {
      request.mutable_payload()->append(
          RandomLlrs(*code, static_cast<int>(group.n_filler()), count, scale, random));
    }
  }
  return request;
}

}  // namespace baseband::testing
