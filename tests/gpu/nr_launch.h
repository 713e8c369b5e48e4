// Launches of the transport-block kernels with all that they need, random transport blocks for
// them, and what the CPU's version makes of these. For the tests of this folder.
#ifndef BASEBAND_TESTS_GPU_NR_LAUNCH_H_
#define BASEBAND_TESTS_GPU_NR_LAUNCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ldpc/code.h"
#include "kernels/nr/demap.h"
#include "kernels/nr/llr_format.h"
#include "kernels/nr/receive_gpu.h"
#include "kernels/nr/scrambling_math.h"
#include "kernels/nr/transmit_gpu.h"
#include "tests/support/channel.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"

namespace baseband::nr {

using ::baseband::testing::Random;

using Bytes = std::vector<uint8_t>;
using Llrs = std::vector<int8_t>;

inline constexpr uint8_t kGuard = 0xa5;  // fills all output before a launch
inline constexpr size_t kGuardBytes = 8;

// The kernels are loaded once a program.
class NrGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override;
};

// A transport block, or one code block alone, as both ends know it.
struct Shape {
  TransportBlockPlan plan;
  ldpc::CodePtr code;

  int qm() const { return static_cast<int>(plan.of_short.qm); }
  std::string Describe() const;
};

Shape MakeShape(const TransportBlock& block, int rows = 0);  // rows 0: those that are needed
Shape MakeShape(const CodeBlock& block);

// Any shape at all; `max_bytes` of payload at most.
Shape RandomShape(Random& random, int64_t max_bytes);
SymbolLayout RandomLayout(Random& random, SymbolFormat format, int64_t num_symbols);
Bytes RandomBytes(Random& random, size_t count);

// ---- sending ----

struct SendJob {
  Shape shape;
  Bytes payload;
  uint32_t c_init = kNoScrambling;
  bool as_symbols = false;
  SymbolLayout layout;
};

SendJob RandomSendJob(Random& random, int64_t max_bytes);

// What the CPU sends: packed bits in whole 32-bit words, or symbols.
Bytes SentByCpu(const SendJob& job);
// Its code blocks with all CRCs, K' bits each.
std::vector<Bytes> CodeBlocksOf(const Shape& shape, const Bytes& payload);

// All in one launch, payloads without gaps from byte `first_byte` on, and expects that nothing was
// written but what the header says.
class TransmitLaunch {
 public:
  explicit TransmitLaunch(const std::vector<SendJob>& jobs, size_t first_byte = 1);
  TransmitBatch& batch() { return batch_; }
  std::vector<Bytes> Run();
  std::vector<Bytes> Read();

 private:
  std::vector<SendJob> jobs_;
  std::vector<size_t> out_offsets_;
  std::vector<size_t> out_sizes_;
  cuda::DeviceBuffer<uint8_t> payload_;
  cuda::DeviceBuffer<uint8_t> out_;
  cuda::DeviceBuffer<uint32_t> tables_;
  cuda::DeviceBuffer<TransmitTb> tbs_;
  cuda::DeviceBuffer<TransmitBlock> blocks_;
  cuda::DeviceBuffer<uint8_t> workspace_;
  TransmitBatch batch_;
};

inline std::vector<Bytes> TransmitOnGpu(const std::vector<SendJob>& jobs) {
  return TransmitLaunch(jobs).Run();
}

// ---- receiving ----

struct ReceiveJob {
  Shape shape;
  Bytes received;  // LLRs in llr_format, or symbols
  Bytes noise;
  LlrFormat llr_format = LlrFormat::kInt8;
  float llr_format_scale = 1.0f;
  float mean_llr = 0.0f;
  bool as_symbols = false;
  DemapParameters demap;
  uint32_t c_init = kNoScrambling;
  std::vector<Llrs> old_soft;         // by block, [n_cb]; empty: there are none
  std::vector<uint32_t> soft_counts;  // by block
};

ReceiveJob RandomReceiveJob(Random& random, const Shape& shape);

struct Received {
  std::vector<Llrs> soft;          // by block, soft_counts of it
  std::vector<uint32_t> unusable;  // by block

  friend bool operator==(const Received& a, const Received& b) {
    return a.soft == b.soft && a.unusable == b.unusable;
  }
};

Received ReceivedByCpu(const ReceiveJob& job);

// All in one launch, as above, code blocks in any order.
class DematchLaunch {
 public:
  explicit DematchLaunch(const std::vector<ReceiveJob>& jobs, size_t first_byte = 1,
                         bool in_place = false);
  DematchBatch& batch() { return batch_; }
  std::vector<Received> Run();
  std::vector<Received> Read();
  // Where block r of job i has its soft bits.
  const int8_t* soft(size_t i, int r) const {
    return soft_.data() + soft_offsets_[i][static_cast<size_t>(r)];
  }
  // From one block of job i to the next; all of them have as many soft bits.
  uint32_t soft_stride(size_t i) const {
    return soft_offsets_[i].size() < 2
               ? 0
               : static_cast<uint32_t>(soft_offsets_[i][1] - soft_offsets_[i][0]);
  }

 private:
  std::vector<ReceiveJob> jobs_;
  std::vector<std::vector<size_t>> soft_offsets_;   // by job and block
  std::vector<std::vector<size_t>> block_indices_;  // in the launch
  cuda::DeviceBuffer<uint8_t> received_;
  cuda::DeviceBuffer<int8_t> old_soft_;
  cuda::DeviceBuffer<int8_t> soft_;
  cuda::DeviceBuffer<ReceiveTb> tbs_;
  cuda::DeviceBuffer<DematchBlock> blocks_;
  cuda::DeviceBuffer<uint32_t> unusable_;
  DematchBatch batch_;
  bool has_run_ = false;
};

// ---- checking ----

struct CheckJob {
  Shape shape;
  std::vector<Bytes> blocks;    // K' decided bits each
  std::vector<bool> parity_ok;  // by block
  std::vector<Llrs> soft;       // by block, all of the same length; empty: not given
};
struct Checked {
  Bytes payload;
  std::vector<bool> block_ok;
  bool tb_ok = false;

  friend bool operator==(const Checked& a, const Checked& b) {
    return a.payload == b.payload && a.block_ok == b.block_ok && a.tb_ok == b.tb_ok;
  }
};

// Of these blocks, which hold and whose soft bits are not given.
CheckJob MakeCheckJob(const Shape& shape, const std::vector<Bytes>& blocks);
Checked CheckedByCpu(const CheckJob& job);

class CheckLaunch {
 public:
  explicit CheckLaunch(const std::vector<CheckJob>& jobs);
  CheckBatch& batch() { return batch_; }
  std::vector<Checked> Run();
  std::vector<Checked> Read();

 private:
  std::vector<CheckJob> jobs_;
  std::vector<size_t> payload_offsets_;
  cuda::DeviceBuffer<uint8_t> bits_;
  cuda::DeviceBuffer<int8_t> soft_;
  cuda::DeviceBuffer<ldpc::DecodeResult> decode_results_;
  cuda::DeviceBuffer<uint8_t> payload_;
  cuda::DeviceBuffer<CheckTb> tbs_;
  cuda::DeviceBuffer<CheckBlock> blocks_;
  cuda::DeviceBuffer<CheckResult> results_;
  CheckBatch batch_;
};

}  // namespace baseband::nr

#endif  // BASEBAND_TESTS_GPU_NR_LAUNCH_H_
