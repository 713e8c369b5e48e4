// Inside of the GPU's down-conversion: what a launch is to compute, as tables that its kernels
// read. Host header without CUDA: the tables are made, and tested, without a GPU.
//
// A launch is a sequence of steps:
//   prepare   taps are laid out as the product walks them, turned by the channel's frequency where
//             samples are taken as they came; the oscillators' anchors are computed; of float32
//             samples those that no product looks at are looked at: whether they are finite
//   mix       samples of windows that hold a retune, and all samples of a study's channel, are
//             mixed one by one into the workspace
//   products  level l computes stage l of all channels: outputs x columns x taps, see product.cuh
// Each step is one launch for all that is alike in kind, whatever the number of channels. Its
// thread blocks are dealt to tasks: task i has blocks [first_block of i, first_block of i + 1).
#ifndef BASEBAND_KERNELS_DOWNCONVERT_GPU_PLAN_H_
#define BASEBAND_KERNELS_DOWNCONVERT_GPU_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/fixed_shape.h"
#include "kernels/downconvert/fixed_taps.h"
#include "kernels/downconvert/nco_math.h"

namespace baseband::downconvert::gpu {

inline constexpr uint32_t kBlockThreads = 128;  // of every kernel
inline constexpr uint32_t kBlockWarps = kBlockThreads / 32;
inline constexpr uint32_t kThreadOutputs = 8;  // consecutive ones, of each column of a thread
inline constexpr uint32_t kWarpOutputs = 32 * kThreadOutputs;
inline constexpr uint32_t kQuad = 4;  // columns of a thread, where there are as many
inline constexpr uint32_t kMixSamples = 16 * kBlockThreads;   // of a thread block
inline constexpr uint32_t kCheckFloats = 32 * kBlockThreads;  // likewise

// The order in which the taps of a stage are summed up. Output m sees, of its `up` sets of taps,
// set m * down mod up: the taps h[set + k up]. k = depth * down + branch: the samples of a branch
// are `down` apart, so that consecutive outputs (of one set) see consecutive samples of it. Slots
// are walked branch by branch, and in steps small enough for shared memory, of at most kMaxStepTaps
// taps; each step has a sum of its own, and those are added up in turn. An example, 20 taps, up =
// 1, down = 8, though with at most 4 branches and 2 taps of each in a step (`depth`):
//
//   step          0                          1            2                  3
//   branch        0     1     2     3        0 1 2 3      4     5    6    7  4 5 6 7
//   k             0 8   1 9   2 10  3 11     16 17 18 19  4 12  5 13 6 14 7 15  none
struct TapWalk {
  uint32_t num_taps = 0;  // of all sets
  uint32_t up = 1;
  uint32_t down = 1;
  uint32_t branches = 1;      // of a step; the last ones may have fewer
  uint32_t depth = 1;         // taps of a branch in a step, likewise
  uint32_t branch_steps = 1;  // steps = branch_steps * depth_steps, the latter inside
  uint32_t depth_steps = 1;
  uint32_t step_slots = 4;  // branches * depth, rounded up to a multiple of 4

  BASEBAND_HOST_DEVICE uint32_t steps() const { return branch_steps * depth_steps; }
  BASEBAND_HOST_DEVICE uint32_t set_slots() const { return steps() * step_slots; }
};
TapWalk WalkOf(const Stage& stage);
// That of integers: in ascending order, in one step. Takes no more slots.
TapWalk FixedWalkOf(const Stage& stage);

// With so many channels whose first stages have as many taps and the same decimation, and complex
// integers for samples, those stages are computed exactly, as far as FixedTapsOf, shared memory
// (kMaxFixedBytes) and float32's range for gain times scale allow. Which channels are, depends on
// the list of channels, the format and the scale alone: the pieces of a stream are alike.
inline constexpr size_t kMinFixedChannels = 8;

// Outputs of one stage for channels that have the same samples, the same walk and the same range:
// its columns. Output t is t mod up + (t / up) * up: each set of taps is a filter that only
// decimates, from its own sample on.
struct ProductTask {
  uint32_t first_block = 0;
  uint32_t first_column = 0;
  uint32_t num_columns = 0;
  uint32_t warps_across = 1;  // 1, 2, 4: warps of a block with columns of their own
  TapWalk walk;
  uint32_t first_remainder = 0;  // of the first output's index * down, by up
  uint32_t history = 0;          // samples of a branch before the first output's: a multiple of 8
  uint32_t branch_lanes = 1;     // walk.branches, rounded up to a power of 2
  uint32_t row = 0;              // the window's layout: see product.cuh
  uint32_t pitch = 0;
  uint32_t window_bytes = 0;
  uint32_t shared_bytes = 0;
  InputFormat format = InputFormat::kFloat32;
  bool is_in_workspace = false;  // the samples are; else they are the block's
  // Whether a sample that is not finite is to be looked for: by the first column, in its sums.
  bool looks = false;
  uint64_t input = 0;         // byte in there, of sample 0
  int64_t input_samples = 0;  // others are zero
  int64_t newest_sample = 0;  // of the first output: in the input,
  int64_t newest_index = 0;   // and absolute: where the oscillator is, of turned taps
  int64_t num_outputs = 0;
};

// What is a column's own.
struct Column {
  uint64_t taps = 0;         // byte in the workspace; of a quad its first column's is read
  uint64_t output = 0;       // byte in the output, or in the workspace, of the first output
  uint64_t anchors = 0;      // byte in the workspace
  int64_t first_anchor = 0;  // absolute index / kAnchorSpacing of the first
  uint64_t step = 0;         // phase word per sample
  float amplitude = 1.0F;    // of sums of integers, the unit is in it
  uint32_t channel = 0;
  OutputFormat format = OutputFormat::kFloat32;
  bool is_last = true;  // else the output goes to the workspace
};

// Slots of a column's sets of taps: slot s of column c of a group of `group` lies at s * group + c.
struct TapTask {
  uint64_t taps = 0;    // byte in the plan: float[walk.num_taps]
  uint64_t target = 0;  // byte in the workspace, of slot 0 and column 0 of the group
  uint64_t step = 0;    // phase word per sample
  uint32_t first_slot = 0;
  uint32_t num_slots = 0;
  uint32_t group = 1;
  uint32_t column = 0;
  TapWalk walk;
  bool is_turned = false;  // slots are complex, else real
  bool is_fixed = false;   // slots are integers: FixedTap (fixed_taps.h)
  int16_t exponent = 0;    // theirs
};

// An anchor of an oscillator: the phase's word at a sample. The next ones are at the multiples of
// kAnchorSpacing.
struct Anchor {
  int64_t index = 0;
  uint64_t word = 0;
};

// Anchors of one frequency: nco.h says what is computed.
struct AnchorTask {
  uint64_t target = 0;  // byte in the workspace
  uint64_t num = 0;     // |numerator|
  uint64_t den = 1;
  int64_t origin = 0;
  uint64_t origin_word = 0;
  int64_t first_index = 0;  // of the first anchor
  uint32_t num_anchors = 0;
  bool is_negative = false;
};

// Floats [begin, end) of the block's samples, which have to be finite; `begin` is a multiple of 4,
// and so is `end`, unless the block ends there.
struct CheckTask {
  uint32_t first_block = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Samples of one frequency that are mixed one by one.
struct MixTask {
  uint32_t first_block = 0;
  InputFormat format = InputFormat::kInt16;
  NcoMethod nco = NcoMethod::kExact;
  uint64_t target = 0;  // byte in the workspace
  uint64_t phases = 0;  // byte in the workspace: Anchor[], or a study's words, from sample 0 on
  int64_t first_anchor = 0;        // as a Column's
  uint64_t step = 0;               // phase word per sample
  double cycles_per_sample = 0.0;  // kFloat; so is
  uint64_t initial_word = 0;       // the phase word of sample 0
  int64_t first_sample = 0;        // in the block
  int64_t first_index = 0;         // the same sample, absolute
  int64_t num_samples = 0;
  float amplitude = 1.0F;
};

// The phases of a study's channel, from sample 0 on: study_math.h.
struct StudyTask {
  NcoMethod nco = NcoMethod::kSegmented;
  int32_t segment = 1;
  double cycles_per_sample = 0.0;
  uint64_t initial_word = 0;
  int64_t num_samples = 0;
  uint64_t target = 0;  // byte in the workspace, uint64_t[num_samples]
};

// Kinds of products, each a kernel of its own: what a sample and a tap are, columns of a thread,
// and whether there is more than one step. kComplexFixed: complex integers with turned taps, summed
// up exactly (product_fixed.cu).
enum class Samples : uint8_t { kComplexTurned, kRealTurned, kComplexPlain, kComplexFixed };
struct ProductKind {
  Samples samples = Samples::kComplexTurned;
  bool is_quad = false;  // never for kComplexPlain: there no two columns share samples
  bool is_long = false;  // kComplexFixed, never a quad: taps do not fit in registers
};
inline constexpr int kNumProductKinds = 12;  // kComplexFixed aside
constexpr int IndexOf(const ProductKind& kind) {
  return static_cast<int>(kind.samples) * 4 + (kind.is_quad ? 2 : 0) + (kind.is_long ? 1 : 0);
}

// One launch of a product kernel: tasks [first_task, first_task + num_tasks).
struct ProductLaunch {
  ProductKind kind;
  uint32_t first_task = 0;
  uint32_t num_tasks = 0;
  uint64_t num_blocks = 0;
  uint32_t shared_bytes = 0;
};

// Where the tables lie in the plan's memory: bytes.
struct PlanLayout {
  uint64_t taps = 0;
  uint64_t products = 0;
  uint64_t columns = 0;
  uint64_t tap_tasks = 0;
  uint64_t anchor_tasks = 0;
  uint64_t checks = 0;
  uint64_t mixes = 0;
  uint64_t studies = 0;
  uint64_t bytes = 0;
};

// Keeps the channels' filters alive, and nothing else of the channels. Not thread-safe.
class GpuPlan {
 public:
  // Plans the conversion of a checked block. `output_offsets` by channel: where in the output its
  // outputs begin, bytes.
  void Build(absl::Span<const Channel> channels, const Block& block,
             absl::Span<const int64_t> output_offsets);
  // Makes it what Build would have made it for a later block of the same channels and offsets, in a
  // small part of the time: for a signal without end. Only if that is as long, has as much history
  // and lies where every stage of every filter is in step with this one, all in one frequency; else
  // returns false, and the plan is what it was.
  bool MoveTo(const Block& block);

  absl::Span<const int64_t> output_offsets() const { return output_offsets_; }  // by channel
  const Block& block() const { return block_; }

  const PlanLayout& layout() const { return layout_; }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  // Writes the tables: layout().bytes.
  void CopyTo(uint8_t* memory) const;

  absl::Span<const ProductTask> products() const { return products_; }
  absl::Span<const Column> columns() const { return columns_; }
  absl::Span<const TapTask> tap_tasks() const { return tap_tasks_; }
  absl::Span<const AnchorTask> anchor_tasks() const { return anchor_tasks_; }
  absl::Span<const MixTask> mixes() const { return mixes_; }
  absl::Span<const StudyTask> studies() const { return studies_; }
  uint32_t mix_blocks() const { return mix_blocks_; }
  // Of float32 samples those that no product looks at; integers are finite whatever they are.
  absl::Span<const CheckTask> checks() const { return checks_; }
  uint64_t check_blocks() const { return check_blocks_; }
  // In the order in which they have to run.
  absl::Span<const ProductLaunch> launches() const { return launches_; }
  // Whether the block's samples may be no numbers.
  bool is_float() const;

 private:
  // Outputs of one stage of one channel: what becomes a column, and what has to be equal for
  // columns to share a task.
  struct Piece {
    int level = 0;  // of the stage
    Samples samples = Samples::kComplexTurned;
    bool is_long = false;
    const Stage* stage = nullptr;
    OutputRange outputs;
    bool is_in_workspace = false;  // where the samples are,
    uint64_t input = 0;            // from which byte on,
    OutputRange inputs;            // and which they are
    uint64_t taps = 0;             // in the plan's taps: bytes
    int exponent = 0;              // of integer taps
    Column column;

    bool SharesTaskWith(const Piece& other) const;
    bool operator<(const Piece& other) const;
  };
  // Taps of the filter whose channels are being planned.
  struct FilterTaps {
    uint64_t id = 0;
    uint64_t taps[kMaxStages] = {};   // in the plan's taps: bytes
    uint64_t plain[kMaxStages] = {};  // in the workspace, laid out for mixed samples, or kNone
    FixedTaps fixed;                  // of the first stage, if it is to be computed exactly
  };
  // The anchors of samples [first, last], by one or more tasks.
  struct Anchors {
    uint64_t at = 0;  // byte in the workspace
    int64_t first = 0;
    int64_t last = 0;
    int64_t segment_begin = 0;
    size_t first_task = 0;
    size_t num_tasks = 0;
    int64_t first_anchor() const { return first / kAnchorSpacing; }
  };
  struct FilterTap {
    const Stage* stage = nullptr;
    uint64_t at = 0;  // byte in the plan's taps
  };
  // Samples [begin, end) of the block, all of which go into a task's sums.
  struct Seen {
    int64_t begin = 0;
    int64_t end = 0;
    size_t task = 0;
  };
  // What only Build needs; kept by each thread that plans.
  struct Draft {
    std::vector<Piece> pieces;
    std::vector<uint32_t> order;
    FilterTaps filter;
    std::vector<FirstStages> first_stages;
    std::vector<Seen> seen;
  };
  static Draft& DraftOfThisThread();

  uint64_t Reserve(uint64_t bytes);  // of the workspace
  void PlanChannel(const Channel& channel, const Column& column, const Block& block);
  void CountFirstStages(absl::Span<const Channel> channels);
  FixedTaps FixedTapsFor(const Stage& stage) const;
  void MakeFixed(Piece* piece) const;
  void NoteMoves(absl::Span<const Channel> channels);
  void SetAnchors(const Anchors& anchors);
  void PlanExactStage(const Channel& channel, const Piece& whole, const Block& block);
  void AddTurned(const PhaseTrack::Segment& segment, Piece piece, const Block& block);
  void AddMixed(const Channel& channel, Piece piece, const Block& block);
  void AddPlain(Piece piece);
  Anchors AddAnchors(const PhaseTrack::Segment& segment, int64_t first, int64_t last);
  uint64_t AddStudy(const Channel& channel, int64_t num_samples);
  void AddTapTasks(TapTask task);
  void GroupPieces(InputFormat format);
  void AddLaunch(const ProductKind& kind, size_t first, size_t end, InputFormat format);
  ProductTask AddTask(const ProductKind& kind, size_t first, size_t end, InputFormat format);
  void PlanChecks();
  void AddCheck(int64_t begin, int64_t end);

  Block block_;
  std::vector<int64_t> output_offsets_;
  Draft* draft_ = nullptr;  // while it is built
  std::vector<ProductTask> products_;
  std::vector<Column> columns_;
  std::vector<TapTask> tap_tasks_;
  std::vector<AnchorTask> anchor_tasks_;
  std::vector<CheckTask> checks_;
  std::vector<MixTask> mixes_;
  std::vector<StudyTask> studies_;
  std::vector<FilterPtr> filters_;
  std::vector<FilterTap> taps_;
  uint64_t tap_bytes_ = 0;
  std::vector<Anchors> anchors_;
  std::vector<ProductLaunch> launches_;
  PlanLayout layout_;
  uint64_t workspace_bytes_ = 0;
  uint32_t mix_blocks_ = 0;
  uint64_t check_blocks_ = 0;
  int64_t move_period_ = 0;  // MoveTo goes by multiples of it; 0: cannot
  int64_t move_end_ = 0;     // of the samples of this frequency
};

}  // namespace baseband::downconvert::gpu

#endif  // BASEBAND_KERNELS_DOWNCONVERT_GPU_PLAN_H_
