#include "server/operations/recover_carrier/recover_carrier.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "kernels/carrier/math/frame_plan.h"
#include "kernels/timing/math/line_math.h"
#include "kernels/timing/timing_cpu.h"
#include "server/operations/recover_carrier/recover_carrier_batch.h"

namespace baseband::server {
namespace {

// A symbol, on one core.
constexpr double kGuessedSymbolS = 2e-8;
// Of that: a tap of the matched filter, a sample on its way to the line, and a piece of the line
// turned back by one of the drifts that are compared: the product of their numbers, and so of a
// frame's length with itself.
constexpr double kTapShare = 0.05;
constexpr double kSampleShare = 0.5;
constexpr double kTurnShare = 0.05;

// Of a frame, in symbols: each one, by each candidate of a sweep, and before that its timing.
double SymbolsJudged(const RecoverCarrierGroup& group) {
  const double symbols = group.frame_symbols;
  double units = symbols * carrier::NumCandidates(group.parameters, group.frame_symbols);
  if (group.has_timing()) {
    units += kTapShare * symbols * group.pulse->view().taps + kSampleShare * group.frame_samples;
    const timing::PulseShape& shape = group.pulse->shape();
    const timing::LinePlan plan =
        timing::PlanLine(shape.rolloff, shape.samples, shape.symbols, group.timing.max_clock_error,
                         group.reach.frequency, group.frame_samples);
    units += kTurnShare * plan.num_drifts() * plan.num_pieces;
  }
  return units;
}

int ShapeOf(const RecoverCarrierGroup& group) {
  constexpr int kNumFine = static_cast<int>(carrier::Fine::kPll) + 1;
  static_assert(4 * kNumFine <= kNumShapes);
  return ((group.has_timing() ? kNumFine : 0) + static_cast<int>(group.parameters.fine)) * 2 +
         (group.known.empty() ? 0 : 1);
}

}  // namespace

RecoverCarrierJob::RecoverCarrierJob(const Operation& operation,
                                     std::vector<RecoverCarrierGroup> groups)
    : Job(operation), groups_(std::move(groups)) {
  work.guessed_unit_s = kGuessedSymbolS;
  int64_t known_bytes = 0;
  int64_t num_timings = 0;
  for (const RecoverCarrierGroup& group : groups_) {
    footprint.blocks += group.count;
    payload_bytes += group.count * group.frame_bytes();
    corrected_bytes_ += group.count * group.corrected_bytes();
    curves_bytes_ += group.count * group.curve_bytes();
    work.units += static_cast<double>(group.count) * SymbolsJudged(group);
    work.shape = ShapeOf(group);
    num_timings += group.has_timing() ? group.count : 0;
    known_bytes += AlignUp(static_cast<int64_t>(group.known.size() * sizeof(carrier::Iq)));
  }
  reply_bytes = curves_bytes_ > 0 ? curves_offset() + curves_bytes_ : corrected_bytes_;
  reply_has_gaps = curves_bytes_ > 0;
  results.resize(static_cast<size_t>(footprint.blocks));
  timings.resize(static_cast<size_t>(num_timings));
  const auto result_bytes = static_cast<int64_t>(sizeof(carrier::Result));
  const auto timing_bytes = static_cast<int64_t>(sizeof(timing::Result));
  footprint.input_bytes = AlignUp(payload_bytes);
  footprint.output_bytes = AlignUp(reply_bytes) + AlignUp(footprint.blocks * result_bytes) +
                           AlignUp(num_timings * timing_bytes) + kLaneAlignment;
  footprint.control_bytes = AlignUp(footprint.blocks * kFrameDescriptorBytes) + known_bytes;
}

int64_t RecoverCarrierJob::curves_offset() const { return AlignUp(corrected_bytes_); }

std::unique_ptr<Batch> MakeRecoverCarrierBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<RecoverCarrierBatch>(std::move(jobs));
}

RecoverCarrierBatch::RecoverCarrierBatch(std::vector<JobPtr> jobs) : Batch(std::move(jobs)) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const uint8_t* received = job(i).input.data();
    uint8_t* corrected = job(i).reply.data();
    uint8_t* curve = corrected + job(i).curves_offset();
    carrier::Result* result = job(i).results.data();
    timing::Result* timing = job(i).timings.data();
    for (const RecoverCarrierGroup& group : job(i).groups()) {
      for (int64_t f = 0; f < group.count; ++f) {
        frames_.push_back({&group, static_cast<uint32_t>(i), static_cast<uint32_t>(num_groups_),
                           received, corrected, curve, result,
                           group.has_timing() ? timing++ : nullptr});
        received += group.frame_bytes();
        corrected += group.corrected_bytes();
        curve += group.curve_bytes();
        ++result;
      }
      ++num_groups_;
    }
    job(i).pieces = job(i).footprint.blocks;
  }
}

void RecoverCarrierBatch::RunPiece(int piece) {
  const Frame& frame = frames_[static_cast<size_t>(piece)];
  const RecoverCarrierGroup& group = *frame.group;
  const absl::Span<const uint8_t> received = {frame.received,
                                              static_cast<size_t>(group.frame_bytes())};
  const absl::Span<uint8_t> corrected = {frame.corrected,
                                         static_cast<size_t>(group.corrected_bytes())};
  const absl::Span<float> curve = {reinterpret_cast<float*>(frame.curve),
                                   static_cast<size_t>(group.curve.num_points)};
  RunIfWanted(job(frame.job), [&] {
    if (!group.has_timing()) {
      *frame.result = carrier::RecoverOnCpu(*group.model, group.parameters, received, group.known,
                                            corrected, curve);
      return;
    }
    const timing::Recovered recovered =
        timing::RecoverOnCpu(*group.model, group.parameters, *group.pulse, group.timing, received,
                             group.known, corrected, curve);
    *frame.result = recovered.carrier;
    *frame.timing = recovered.timing;
  });
}

std::vector<uint32_t> RecoverCarrierBatch::GroupByLaunch() {
  std::vector<uint32_t> order(frames_.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto kind = [this](uint32_t i) {
    const RecoverCarrierGroup& group = *frames_[i].group;
    return std::make_tuple(group.has_timing() ? group.pulse->id() + 1 : 0, group.model->id(),
                           std::cref(group.parameters), std::cref(group.timing));
  };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::make_tuple(kind(a), frames_[a].group->received()) <
           std::make_tuple(kind(b), frames_[b].group->received());
  });
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || kind(order[i - 1]) < kind(order[i])) {
      launches_.push_back({frames_[order[i]].group, i, 0});
    }
    ++launches_.back().count;
    lengths_.push_back(static_cast<uint32_t>(frames_[order[i]].group->received()));
  }
  return order;
}

uint32_t RecoverCarrierBatch::AssignSlots() {
  uint32_t next = 0;
  for (Frame& frame : frames_) {
    if (frame.timing != nullptr) frame.slot = next++;
  }
  const uint32_t num_timings = next;
  for (Frame& frame : frames_) {
    if (frame.timing == nullptr) frame.slot = next++;
  }
  return num_timings;
}

absl::Status RecoverCarrierBatch::Finish() {
  if (output_staging_ != nullptr) {  // a GPU ran
    const uint8_t* results = output_staging_ + results_offset_;
    const uint8_t* timings = output_staging_ + timings_offset_;
    for (const Frame& frame : frames_) {
      std::memcpy(frame.result, results + frame.slot * sizeof(carrier::Result),
                  sizeof(carrier::Result));
      if (frame.timing != nullptr) {
        std::memcpy(frame.timing, timings + frame.slot * sizeof(timing::Result),
                    sizeof(timing::Result));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
