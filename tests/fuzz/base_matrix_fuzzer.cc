// Any base matrix: created or refused; if it encodes, a word of it satisfies all parity checks and
// decodes to what was encoded; if not, it still decodes something without harm.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/encode.h"
#include "kernels/ldpc/reference.h"

namespace baseband::ldpc {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

// Random numbers rarely make a matrix that can be encoded, so some shapes of parity part are built.
enum class Parity { kAnything, kDualDiagonal, kTriangular };

BaseMatrix Matrix(FuzzedDataProvider& data) {
  BaseMatrix matrix;
  const auto parity = static_cast<Parity>(data.ConsumeIntegralInRange<int>(0, 2));
  matrix.rows = data.ConsumeIntegralInRange<int>(-1, 66);
  matrix.columns = data.ConsumeIntegralInRange<int>(-1, 130);
  matrix.zc = data.ConsumeIntegralInRange<int>(-1, 514);
  matrix.punctured_columns = data.ConsumeIntegralInRange<int>(-1, 8);
  const int density = data.ConsumeIntegralInRange<int>(1, 40);
  const int64_t kb = matrix.columns - matrix.rows;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    for (int64_t column = 0; column < matrix.columns; ++column) {
      const int64_t p = column - kb;  // of the parity part
      bool block = (row + 3 * column) % density == 0 || column == row % std::max<int64_t>(kb, 1);
      if (p >= 0 && parity == Parity::kDualDiagonal) block = p == row || p == row + 1;
      if (p >= 0 && parity == Parity::kTriangular) block = p == row || (block && p < row);
      const int wrong = data.ConsumeBool() ? 0 : data.ConsumeIntegralInRange<int>(-3, 3);
      const int shift = data.ConsumeIntegralInRange<int>(
          0, static_cast<int>(std::max<int64_t>(matrix.zc - 1, 0)));
      matrix.shifts.push_back((block ? shift : -1) + (data.remaining_bytes() > 0 ? wrong / 3 : 0));
    }
  }
  return matrix;
}

void Decode(const Code& code, FuzzedDataProvider& data, const std::vector<int8_t>& llr,
            std::vector<uint8_t>* bits, DecodeResult* result) {
  DecodeParameters parameters;
  parameters.algorithm = static_cast<Algorithm>(data.ConsumeIntegralInRange<int>(0, 2));
  parameters.schedule = static_cast<Schedule>(data.ConsumeIntegralInRange<int>(0, 1));
  parameters.max_iterations = data.ConsumeIntegralInRange<int>(1, 4);
  parameters.early_termination = data.ConsumeBool();
  std::vector<int8_t> soft(data.ConsumeBool() ? static_cast<size_t>(code.n()) : 0);
  bits->assign(static_cast<size_t>(DecodedBytes(code, 0)), 0);
  *result = DecodeOnCpu(code, parameters, 0, llr, absl::MakeSpan(*bits), absl::MakeSpan(soft));
  Check(result->iterations >= 1 && result->iterations <= parameters.max_iterations);
}

void Try(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  const absl::StatusOr<CodePtr> created = Code::Create(Matrix(data), Family::kCustom, "fuzzed");
  if (!created.ok()) {
    Check(created.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  const Code& code = **created;
  DecodeResult result;
  std::vector<uint8_t> decoded;
  if (!code.encode_plan().ok()) {
    Check(code.encode_plan().status().code() == absl::StatusCode::kFailedPrecondition);
    std::vector<int8_t> llr(static_cast<size_t>(code.num_sent()));
    for (int8_t& value : llr) value = data.ConsumeIntegral<int8_t>();
    Decode(code, data, llr, &decoded, &result);
    return;
  }

  std::vector<uint8_t> info(static_cast<size_t>((code.k() + 7) / 8));
  for (size_t i = 0; i < info.size(); ++i) info[i] = static_cast<uint8_t>(37 * i + 11);
  if (code.k() % 8 != 0)
    info.back() = static_cast<uint8_t>(info.back() & (0xff00 >> (code.k() % 8)));
  std::vector<uint8_t> parity(static_cast<size_t>((code.parity_bits() + 7) / 8));
  EncodeOnCpu(code, info, code.k(), absl::MakeSpan(parity));

  Bits word = UnpackBits(info, code.k());
  const Bits tail = UnpackBits(parity, code.parity_bits());
  word.insert(word.end(), tail.begin(), tail.end());
  Check(CheckParity(code, word));

  // Without noise: nothing that was sent may be decided otherwise.
  std::vector<int8_t> llr;
  for (int bit = code.punctured_columns() * code.zc(); bit < code.n(); ++bit) {
    llr.push_back(word[static_cast<size_t>(bit)] != 0 ? int8_t{-60} : int8_t{60});
  }
  Decode(code, data, llr, &decoded, &result);
  if (code.punctured_columns() == 0) Check(decoded == info);
}

}  // namespace
}  // namespace baseband::ldpc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::ldpc::Try(data, size);
  return 0;
}
