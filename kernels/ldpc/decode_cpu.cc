#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/crc/crc.h"
#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/decode_math.h"
#include "kernels/ldpc/decode_workspace_cpu.h"

namespace baseband::ldpc {

DecodeWorkspace& DecodeWorkspace::OfThisThread() {
  static thread_local DecodeWorkspace workspace;
  return workspace;
}

DecodePlan& DecodeWorkspace::PlanOf(const Code& code) {
  DecodePlan& plan = plans_[code.fingerprint() % kPlans];
  if (!plan.IsFor(code)) plan.Assign(code);
  return plan;
}

bool StopsByCrc(const DecodeTask& task) {
  return std::any_of(task.bits.begin(), task.bits.end(), [](uint8_t byte) { return byte != 0; }) &&
         CrcOfBits(*task.parameters->stop_crc, task.bits.data(), 0, task.num_bits) == 0;
}

namespace {

// The channel values of all code bits: punctured, received, not received; fillers.
void Stage(const Code& code, bool hard_input, int num_filler, absl::Span<const int8_t> llr,
           int8_t* staged) {
  const int first_sent = code.punctured_columns() * code.zc();
  int8_t* const sent = staged + first_sent;
  std::memset(staged, 0, static_cast<size_t>(first_sent));
  if (hard_input) {
    for (size_t i = 0; i < llr.size(); ++i) {
      sent[i] = static_cast<int8_t>(ChannelValue(llr[i], hard_input));
    }
  } else {
    std::memcpy(sent, llr.data(), llr.size());
  }
  std::memset(sent + llr.size(), 0, static_cast<size_t>(code.num_sent()) - llr.size());
  std::memset(staged + code.k() - num_filler, kLlrMax, static_cast<size_t>(num_filler));
}

}  // namespace

DecodeResult DecodeOnCpu(const Code& code, const DecodeParameters& parameters, int num_filler,
                         absl::Span<const int8_t> llr, absl::Span<uint8_t> bits,
                         absl::Span<int8_t> soft) {
  // On the heap: static thread storage of this size would come out of every thread's stack.
  static thread_local const auto memory =
      std::make_unique<int8_t[]>(kMaxColumns * kMaxZc + kLlrPadding);
  int8_t* const staged = memory.get();
  const bool sum_product = parameters.algorithm == Algorithm::kSumProduct;
  DecodeTask task;
  task.plan = &DecodeWorkspace::OfThisThread().PlanOf(code);
  task.parameters = &parameters;
  if (!sum_product) task.engine = MakeEngine(code, parameters);
  Stage(code, task.engine.hard_input, num_filler, llr, staged);
  task.llr = staged;
  task.first_filler = code.k() - num_filler;
  task.end_filler = code.k();
  task.num_bits = code.k() - num_filler;
  task.bits = bits;
  task.soft = soft;
  return sum_product ? DecodeSumProduct(task) : DecodeMinSum(task);
}

}  // namespace baseband::ldpc
