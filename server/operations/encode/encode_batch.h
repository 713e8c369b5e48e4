// A batch of encode jobs. Internal to operations/.
#ifndef BASEBAND_SERVER_OPERATIONS_ENCODE_ENCODE_BATCH_H_
#define BASEBAND_SERVER_OPERATIONS_ENCODE_ENCODE_BATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/jobs/layout.h"
#include "server/operations/encode/encode.h"
#include "server/operations/ldpc/encode_tables.h"

namespace baseband::server {

// On the CPU every block is encoded straight into its reply. On a GPU, control memory holds one
// descriptor a block, then tables that do not stay on the lane; only parity comes back.
class EncodeBatch final : public Batch {
 public:
  explicit EncodeBatch(std::vector<JobPtr> jobs);

  int num_pieces() const override;
  void RunPiece(int piece) override;

  absl::Status CudaCopyIn(const CudaLaneView& lane) override;
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override;
  bool is_in_place() const override { return in_place_; }
  absl::Status Finish() override;

 private:
  struct Block {
    const EncodeGroup* group = nullptr;
    uint32_t job = 0;
    const uint8_t* info = nullptr;
    uint8_t* reply = nullptr;
  };
  // A block whose parity staged and has yet to be joined or packed.
  struct Staged {
    const Block* block = nullptr;
    int64_t parity_offset = 0;  // in output staging memory
  };

  EncodeJob& job(size_t i) const { return static_cast<EncodeJob&>(*jobs_[i]); }

  void Run(const Block& block);
  // GPU only, of encode_cuda.cc.
  bool MakesTiles() const;
  std::pair<int, uint32_t> KeyOf(const EncodeGroup& group) const;
  std::map<std::pair<int, uint32_t>, size_t> DescriptorPlaces() const;

  std::vector<Block> blocks_;  // of all jobs, in order

  // GPU only.
  const bool in_place_ = FitsInPlace(jobs_);
  InputLayout input_;
  OutputLayout output_;
  EncodeTables tables_;
  int shared_bytes_ = 0;
  int tile_bytes_ = 0;
  std::vector<Staged> staged_;
  const uint8_t* output_staging_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_ENCODE_ENCODE_BATCH_H_
