// What the benchmark of transport blocks on a GPU is made of: copies, times, and transport blocks
// with what the CPU sends of them.
#ifndef BASEBAND_TESTS_BENCH_NR_GPU_RIG_H_
#define BASEBAND_TESTS_BENCH_NR_GPU_RIG_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/resources.h"
#include "kernels/ldpc/code.h"
#include "kernels/nr/block_chain.h"
#include "kernels/nr/transport_block.h"
#include "tests/bench/device_memory.h"
#include "tests/bench/rows.h"

namespace baseband::nr {

using cuda::DeviceBuffer;
using ldpc::CodePtr;
using Bytes = std::vector<uint8_t>;

inline constexpr int kLaunches = 10;  // that one measurement is the mean of
inline constexpr int kRepeats = 15;

inline void Check(bool ok, const char* what) {
  if (!ok) {
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
  }
}
inline void Check(const absl::Status& status) { Check(status.ok(), status.ToString().c_str()); }
template <typename T>
T Value(absl::StatusOr<T> result) {
  Check(result.status());
  return *std::move(result);
}

template <typename T>
DeviceBuffer<T> Upload(const std::vector<T>& host, size_t slack = 0) {
  auto buffer = Value(cuda::CreateDeviceBuffer<T>(host.size() + slack));
  Check(cudaMemcpy(buffer.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice) ==
                cudaSuccess &&
            cudaDeviceSynchronize() == cudaSuccess,
        "cudaMemcpy");
  return buffer;
}
template <typename T>
std::vector<T> Download(const DeviceBuffer<T>& buffer) {
  std::vector<T> host(buffer.size());
  Check(cudaDeviceSynchronize() == cudaSuccess, "the launches ran");
  Check(cudaMemcpy(host.data(), buffer.data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost) ==
            cudaSuccess,
        "cudaMemcpy");
  return host;
}

template <typename Enqueue>
bench::Times TimesOf(cudaStream_t stream, const Enqueue& enqueue) {
  return bench::TimesOf(stream, kRepeats, kLaunches, enqueue);
}
// Microseconds of one call: the best of all measurements.
template <typename Enqueue>
double Time(cudaStream_t stream, const Enqueue& enqueue) {
  return 1e6 * TimesOf(stream, enqueue).best;
}

inline size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Transport blocks of one code, and what is sent of them.
class Slot {
 public:
  // Of `blocks_of_tb` code blocks of 8448 bits each, which send `e` bits each.
  Slot(const std::vector<int>& blocks_of_tb, int e, int qm) {
    std::mt19937_64 random(1);
    for (const int num_blocks : blocks_of_tb) {
      TransportBlock block;
      block.tb_bytes = (8424 * int64_t{num_blocks} - 24) / 8;
      block.qm = qm;
      block.g = int64_t{num_blocks} * e;
      plans_.push_back(Value(MakePlan(block)));
      const TransportBlockPlan& plan = plans_.back();
      if (code_ == nullptr) {
        code_ = Value(ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows));
      }
      payload_at_.push_back(payload_.size());
      for (int64_t i = 0; i < block.tb_bytes; ++i) {
        payload_.push_back(static_cast<uint8_t>(random() >> 56));
      }
      coded_at_.push_back(coded_bytes_);
      coded_bytes_ += RoundUp(static_cast<size_t>(plan.g() + 7) / 8, 16);
      num_blocks_ += num_blocks;
    }
    device_payload_ = Upload(payload_, 16);
    MakeCoded();
  }

  const std::vector<TransportBlockPlan>& plans() const { return plans_; }
  const ldpc::Code& code() const { return *code_; }
  int num_blocks() const { return num_blocks_; }
  double info_bits() const { return 8.0 * static_cast<double>(payload_.size()); }
  const Bytes& payload() const { return payload_; }
  size_t payload_at(size_t i) const { return payload_at_[i]; }
  const uint8_t* device_payload(size_t i) const { return device_payload_.data() + payload_at_[i]; }
  const Bytes& coded() const { return coded_; }
  size_t coded_at(size_t i) const { return coded_at_[i]; }

 private:
  // What the CPU sends.
  void MakeCoded() {
    coded_.assign(coded_bytes_, 0);
    for (size_t i = 0; i < plans_.size(); ++i) {
      const TransportBlockPlan& plan = plans_[i];
      const auto tb = absl::MakeConstSpan(payload_).subspan(payload_at_[i],
                                                            static_cast<size_t>(plan.tb_bits / 8));
      const auto out =
          absl::MakeSpan(coded_).subspan(coded_at_[i], static_cast<size_t>(plan.g() + 7) / 8);
      const uint32_t crc = TransportBlockCrcOnCpu(plan, tb);
      std::vector<EdgeBits> edges;
      for (int r = 0; r < plan.num_blocks; ++r) {
        edges.push_back(EncodeBlockOnCpu(plan, *code_, tb, crc, r, out));
      }
      JoinCodedBits(plan, edges, out);
    }
  }

  std::vector<TransportBlockPlan> plans_;
  CodePtr code_;
  int num_blocks_ = 0;
  Bytes payload_;
  std::vector<size_t> payload_at_;
  DeviceBuffer<uint8_t> device_payload_;
  Bytes coded_;
  std::vector<size_t> coded_at_;
  size_t coded_bytes_ = 0;
};

}  // namespace baseband::nr

#endif  // BASEBAND_TESTS_BENCH_NR_GPU_RIG_H_
