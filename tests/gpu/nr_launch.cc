#include "tests/gpu/nr_launch.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "kernels/base/bits.h"
#include "kernels/ldpc/decode_gpu.h"
#include "kernels/ldpc/encode.h"

namespace baseband::nr {

using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;

namespace {

size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

template <typename T>
void ExpectGuard(const std::vector<T>& out, size_t begin, size_t end) {
  const auto is_guard = [](T value) { return static_cast<uint8_t>(value) == kGuard; };
  EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(begin),
                          out.begin() + static_cast<std::ptrdiff_t>(end), is_guard))
      << "written outside of a block's output";
}

}  // namespace

void NrGpuTest::SetUp() {
  GpuTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_THAT(PrepareTransmitKernels(), IsOk());
  ASSERT_THAT(PrepareReceiveKernels(), IsOk());
  ASSERT_THAT(ldpc::PrepareDecodeKernels(), IsOk());
}

// ---- sending ----

TransmitLaunch::TransmitLaunch(const std::vector<SendJob>& jobs, size_t first_byte) : jobs_(jobs) {
  Bytes payload(first_byte, 0xff);
  std::vector<size_t> payload_offsets;
  std::map<const ldpc::Code*, uint32_t> table_of;
  std::vector<uint32_t> tables;
  std::vector<TransmitTb> tbs;
  std::vector<TransmitBlock> blocks;
  size_t out_bytes = kGuardBytes;
  for (const SendJob& job : jobs) {
    const Shape& shape = job.shape;
    TransmitTb tb = MakeTransmitTb(shape.plan);
    const auto [table, is_new] =
        table_of.emplace(shape.code.get(), static_cast<uint32_t>(4 * tables.size()));
    if (is_new) {
      const absl::Span<const uint32_t> words = (*shape.code->encode_plan())->table();
      tables.insert(tables.end(), words.begin(), words.end());
      batch_.shared_bytes = std::max(batch_.shared_bytes, TransmitSharedBytes(*shape.code));
    }
    tb.table_offset = table->second;
    tb.c_init = job.c_init;
    tb.as_symbols = job.as_symbols ? 1 : 0;
    tb.layout = job.layout;
    payload_offsets.push_back(payload.size());
    payload.insert(payload.end(), job.payload.begin(), job.payload.end());
    for (int r = 0; r < shape.plan.num_blocks; r += kTransmitBlocks) {
      blocks.push_back({static_cast<uint32_t>(tbs.size()), static_cast<uint32_t>(r)});
    }
    const auto g = static_cast<size_t>(shape.plan.g());
    out_sizes_.push_back(job.as_symbols ? g / static_cast<size_t>(shape.qm()) *
                                              static_cast<size_t>(BytesPerSymbol(job.layout.format))
                                        : (g + 31) / 32 * 4);
    out_offsets_.push_back(out_bytes);
    // As unaligned as it may be.
    out_bytes = RoundUp(out_bytes + out_sizes_.back() + kGuardBytes, 8);
    tbs.push_back(tb);
  }
  payload_ = ToDevice(payload, 16);
  out_ = ToDevice(Bytes(out_bytes, kGuard));
  for (size_t i = 0; i < tbs.size(); ++i) {
    tbs[i].payload = payload_.data() + payload_offsets[i];
    tbs[i].out = out_.data() + out_offsets_[i];
  }
  tables_ = ToDevice(tables);
  tbs_ = ToDevice(tbs);
  blocks_ = ToDevice(blocks);
  workspace_ = ToDevice(
      Bytes(static_cast<size_t>(TransmitWorkspaceBytes(static_cast<int>(blocks.size()))), 0));
  batch_.tbs = tbs_.data();
  batch_.blocks = blocks_.data();
  batch_.num_blocks = static_cast<int>(blocks.size());
  batch_.tables = reinterpret_cast<const uint8_t*>(tables_.data());
  batch_.workspace = workspace_.data();
}

std::vector<Bytes> TransmitLaunch::Run() {
  EXPECT_THAT(LaunchTransmit(batch_, cudaStreamPerThread), IsOk());
  return Read();
}

std::vector<Bytes> TransmitLaunch::Read() {
  EXPECT_THAT(ToHost(workspace_), Each(0)) << "the workspace is not left behind as it was";
  const Bytes out = ToHost(out_);
  std::vector<Bytes> sent;
  size_t end = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    ExpectGuard(out, end, out_offsets_[i]);
    end = out_offsets_[i] + out_sizes_[i];
    sent.emplace_back(out.begin() + static_cast<std::ptrdiff_t>(out_offsets_[i]),
                      out.begin() + static_cast<std::ptrdiff_t>(end));
  }
  ExpectGuard(out, end, out.size());
  return sent;
}

// ---- receiving ----

DematchLaunch::DematchLaunch(const std::vector<ReceiveJob>& jobs, size_t first_byte, bool in_place)
    : jobs_(jobs) {
  Bytes received(first_byte, 0xff);
  std::vector<size_t> received_offsets;
  std::vector<size_t> noise_offsets;
  Llrs old_soft(first_byte, 77);
  std::vector<std::vector<size_t>> old_offsets;
  std::vector<ReceiveTb> tbs;
  size_t soft_bytes = 16;  // a guard
  size_t num_blocks = 0;
  for (const ReceiveJob& job : jobs) {
    const Shape& shape = job.shape;
    ReceiveTb tb = MakeReceiveTb(shape.plan);
    tb.as_symbols = job.as_symbols ? 1 : 0;
    tb.llr_format = job.llr_format;
    tb.llr_format_scale = job.llr_format_scale;
    tb.mean_llr = job.mean_llr;
    tb.noise_format = job.demap.noise_format;
    tb.noise_variance = job.demap.noise_variance;
    tb.log_sum = job.demap.log_sum ? 1 : 0;
    tb.demap = MakeDemapScale(job.demap);
    tb.layout = job.demap.layout;
    tb.c_init = job.c_init;
    tbs.push_back(tb);
    received_offsets.push_back(received.size());
    received.insert(received.end(), job.received.begin(), job.received.end());
    noise_offsets.push_back(received.size());
    received.insert(received.end(), job.noise.begin(), job.noise.end());
    soft_offsets_.emplace_back();
    old_offsets.emplace_back();
    for (int r = 0; r < shape.plan.num_blocks; ++r) {
      const auto index = static_cast<size_t>(r);
      soft_offsets_.back().push_back(soft_bytes);
      soft_bytes += RoundUp(job.soft_counts[index], 16) + 16;
      old_offsets.back().push_back(old_soft.size());
      if (!job.old_soft.empty()) {
        old_soft.insert(old_soft.end(), job.old_soft[index].begin(),
                        job.old_soft[index].begin() + job.soft_counts[index]);
      }
      ++num_blocks;
    }
  }
  received_ = ToDevice(received, 16);
  old_soft_ = ToDevice(old_soft, 32);
  Llrs soft(soft_bytes, static_cast<int8_t>(kGuard));
  std::vector<DematchBlock> blocks(num_blocks);
  // Not in their order.
  size_t next = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    block_indices_.emplace_back();
    for (size_t r = 0; r < soft_offsets_[i].size(); ++r, ++next) {
      block_indices_[i].push_back(num_blocks - 1 - next);
      if (in_place && !jobs[i].old_soft.empty()) {
        std::copy_n(jobs[i].old_soft[r].begin(), jobs[i].soft_counts[r],
                    soft.begin() + static_cast<std::ptrdiff_t>(soft_offsets_[i][r]));
      }
    }
  }
  soft_ = ToDevice(soft);
  for (size_t i = 0; i < jobs.size(); ++i) {
    tbs[i].received = received_.data() + received_offsets[i];
    tbs[i].noise = jobs[i].noise.empty() ? nullptr : received_.data() + noise_offsets[i];
    for (size_t r = 0; r < soft_offsets_[i].size(); ++r) {
      DematchBlock& block = blocks[block_indices_[i][r]];
      block.tb = static_cast<uint32_t>(i);
      block.r = static_cast<uint32_t>(r);
      block.soft = soft_.data() + soft_offsets_[i][r];
      block.soft_count = jobs[i].soft_counts[r];
      if (!jobs[i].old_soft.empty()) {
        block.old_soft = in_place ? block.soft : old_soft_.data() + old_offsets[i][r];
      }
      batch_.shared_bytes = std::max(
          batch_.shared_bytes,
          DematchSharedBytes(jobs[i].shape.plan.rate_match(static_cast<int>(r)), block.soft_count));
    }
  }
  tbs_ = ToDevice(tbs);
  blocks_ = ToDevice(blocks);
  unusable_ = ToDevice(std::vector<uint32_t>(num_blocks, kGuard));
  batch_.tbs = tbs_.data();
  batch_.blocks = blocks_.data();
  batch_.num_blocks = static_cast<int>(num_blocks);
  batch_.unusable = unusable_.data();
}

std::vector<Received> DematchLaunch::Run() {
  EXPECT_THAT(LaunchRateDematch(batch_, cudaStreamPerThread), IsOk());
  has_run_ = true;
  return Read();
}

std::vector<Received> DematchLaunch::Read() {
  const Llrs soft = ToHost(soft_);
  const std::vector<uint32_t> unusable = ToHost(unusable_);
  std::vector<Received> out;
  size_t end = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    out.emplace_back();
    for (size_t r = 0; r < soft_offsets_[i].size(); ++r) {
      const size_t begin = soft_offsets_[i][r];
      const size_t filled = begin + jobs_[i].soft_counts[r];
      ExpectGuard(soft, end, begin);
      end = begin + RoundUp(jobs_[i].soft_counts[r], 16);
      const auto at = [&](size_t n) { return soft.begin() + static_cast<std::ptrdiff_t>(n); };
      out.back().soft.emplace_back(at(begin), at(filled));
      if (has_run_) {
        EXPECT_TRUE(std::all_of(at(filled), at(end), [](int8_t value) { return value == 0; }))
            << "the soft bits are not filled up";
      }
      out.back().unusable.push_back(unusable[block_indices_[i][r]]);
    }
  }
  ExpectGuard(soft, end, soft.size());
  return out;
}

// ---- checking ----

CheckLaunch::CheckLaunch(const std::vector<CheckJob>& jobs) : jobs_(jobs) {
  Bytes bits;
  std::vector<CheckTb> tbs;
  std::vector<CheckBlock> blocks;
  std::vector<size_t> bits_offsets;
  Llrs soft(16, 0);
  std::vector<size_t> soft_offsets;
  std::vector<ldpc::DecodeResult> decode_results;
  size_t payload_bytes = kGuardBytes;
  for (const CheckJob& job : jobs) {
    const Shape& shape = job.shape;
    tbs.push_back(MakeCheckTb(shape.plan));
    for (size_t r = 0; r < job.blocks.size(); ++r) {
      bits_offsets.push_back(bits.size());
      bits.insert(bits.end(), job.blocks[r].begin(), job.blocks[r].end());
      bits.resize(RoundUp(bits.size(), 4), 0);
      CheckBlock block;
      block.tb = static_cast<uint32_t>(tbs.size() - 1);
      block.r = static_cast<uint32_t>(r);
      blocks.push_back(block);
      decode_results.emplace_back();
      decode_results.back().parity_ok = job.parity_ok[r] ? 1 : 0;
    }
    soft_offsets.push_back(soft.size());
    if (!job.soft.empty()) {
      tbs.back().soft_count = static_cast<uint32_t>(job.soft[0].size());
      tbs.back().soft_stride = static_cast<uint32_t>(RoundUp(job.soft[0].size(), 16));
      for (const Llrs& one : job.soft) {
        soft.insert(soft.end(), one.begin(), one.end());
        soft.resize(RoundUp(soft.size(), 16), 0);
      }
    }
    payload_offsets_.push_back(payload_bytes);
    payload_bytes =
        RoundUp(payload_bytes + static_cast<size_t>(BytesForBits(shape.plan.tb_bits)), 4);
  }
  payload_bytes += kGuardBytes;
  bits_ = ToDevice(bits);
  payload_ = ToDevice(Bytes(payload_bytes, kGuard));
  soft_ = ToDevice(soft);
  decode_results_ = ToDevice(decode_results);
  for (size_t i = 0; i < tbs.size(); ++i) {
    tbs[i].payload = payload_.data() + payload_offsets_[i];
    if (!jobs[i].soft.empty()) tbs[i].soft = soft_.data() + soft_offsets[i];
  }
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].bits = bits_.data() + bits_offsets[i];
  tbs_ = ToDevice(tbs);
  blocks_ = ToDevice(blocks);
  results_ = ToDevice(std::vector<CheckResult>(blocks.size(), CheckResult{kGuard, kGuard}));
  batch_.tbs = tbs_.data();
  batch_.blocks = blocks_.data();
  batch_.num_blocks = static_cast<int>(blocks.size());
  batch_.decode_results = decode_results_.data();
  batch_.results = results_.data();
}

std::vector<Checked> CheckLaunch::Run() {
  EXPECT_THAT(LaunchCheckCrc(batch_, cudaStreamPerThread), IsOk());
  return Read();
}

std::vector<Checked> CheckLaunch::Read() {
  const Bytes payload = ToHost(payload_);
  const std::vector<CheckResult> results = ToHost(results_);
  std::vector<Checked> out;
  size_t end = 0;
  size_t next = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    ExpectGuard(payload, end, payload_offsets_[i]);
    end = payload_offsets_[i] + static_cast<size_t>(BytesForBits(jobs_[i].shape.plan.tb_bits));
    Checked checked;
    checked.payload.assign(payload.begin() + static_cast<std::ptrdiff_t>(payload_offsets_[i]),
                           payload.begin() + static_cast<std::ptrdiff_t>(end));
    checked.tb_ok = TbCrcHolds(results.data() + next, static_cast<int>(jobs_[i].blocks.size()));
    for (size_t r = 0; r < jobs_[i].blocks.size(); ++r, ++next) {
      EXPECT_LE(results[next].crc_ok, 1u);
      checked.block_ok.push_back(results[next].crc_ok == 1);
    }
    out.push_back(checked);
  }
  ExpectGuard(payload, end, payload.size());
  return out;
}

}  // namespace baseband::nr
