#include "server/operations/recover_carrier/recover_carrier.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "kernels/carrier/math/frame_plan.h"
#include "server/operations/recover_carrier/recover_carrier_batch.h"

namespace baseband::server {
namespace {

// What a descriptor of a frame takes on a GPU (carrier::RecoverFrame; checked where that is known).
constexpr int64_t kFrameDescriptorBytes = 32;
// A symbol, on one core.
constexpr double kGuessedSymbolS = 2e-8;

// Of a frame: each symbol, by each candidate of a sweep.
double SymbolsJudged(const RecoverCarrierGroup& group) {
  return static_cast<double>(group.frame_symbols) *
         carrier::NumCandidates(group.parameters, group.frame_symbols);
}

}  // namespace

RecoverCarrierJob::RecoverCarrierJob(const Operation& operation,
                                     std::vector<RecoverCarrierGroup> groups)
    : Job(operation), groups_(std::move(groups)) {
  work.guessed_unit_s = kGuessedSymbolS;
  int64_t known_bytes = 0;
  for (const RecoverCarrierGroup& group : groups_) {
    footprint.blocks += group.count;
    payload_bytes += group.count * group.frame_bytes();
    corrected_bytes_ += group.count * group.corrected_bytes();
    curves_bytes_ += group.count * group.curve_bytes();
    work.units += static_cast<double>(group.count) * SymbolsJudged(group);
    work.shape = static_cast<int>(group.parameters.fine) * 2 + (group.known.empty() ? 0 : 1);
    known_bytes += AlignUp(static_cast<int64_t>(group.known.size() * sizeof(carrier::Iq)));
  }
  reply_bytes = curves_bytes_ > 0 ? curves_offset() + curves_bytes_ : corrected_bytes_;
  reply_has_gaps = curves_bytes_ > 0;
  results.resize(static_cast<size_t>(footprint.blocks));
  const auto result_bytes = static_cast<int64_t>(sizeof(carrier::Result));
  footprint.input_bytes = AlignUp(payload_bytes);
  footprint.output_bytes =
      AlignUp(reply_bytes) + AlignUp(footprint.blocks * result_bytes) + kLaneAlignment;
  footprint.control_bytes = AlignUp(footprint.blocks * kFrameDescriptorBytes) + known_bytes;
}

int64_t RecoverCarrierJob::curves_offset() const { return AlignUp(corrected_bytes_); }

std::unique_ptr<Batch> MakeRecoverCarrierBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<RecoverCarrierBatch>(std::move(jobs));
}

RecoverCarrierBatch::RecoverCarrierBatch(std::vector<JobPtr> jobs) : Batch(std::move(jobs)) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const uint8_t* symbols = job(i).input.data();
    uint8_t* corrected = job(i).reply.data();
    uint8_t* curve = corrected + job(i).curves_offset();
    carrier::Result* result = job(i).results.data();
    for (const RecoverCarrierGroup& group : job(i).groups()) {
      for (int64_t f = 0; f < group.count; ++f) {
        frames_.push_back({&group, static_cast<uint32_t>(i), static_cast<uint32_t>(num_groups_),
                           symbols, corrected, curve, result});
        symbols += group.frame_bytes();
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
  RunIfWanted(job(frame.job), [&] {
    *frame.result = carrier::RecoverOnCpu(
        *group.model, group.parameters, {frame.symbols, static_cast<size_t>(group.frame_bytes())},
        group.known, {frame.corrected, static_cast<size_t>(group.corrected_bytes())},
        {reinterpret_cast<float*>(frame.curve), static_cast<size_t>(group.curve.num_points)});
  });
}

std::vector<uint32_t> RecoverCarrierBatch::GroupByModel() {
  std::vector<uint32_t> order(frames_.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto kind = [this](uint32_t i) {
    const RecoverCarrierGroup& group = *frames_[i].group;
    return std::make_pair(group.model->id(), &group.parameters);
  };
  const auto less = [&](uint32_t a, uint32_t b) {
    const auto [model_a, parameters_a] = kind(a);
    const auto [model_b, parameters_b] = kind(b);
    return model_a != model_b ? model_a < model_b : *parameters_a < *parameters_b;
  };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return less(a, b) ||
           (!less(b, a) && frames_[a].group->frame_symbols < frames_[b].group->frame_symbols);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || less(order[i - 1], order[i])) {
      launches_.push_back({frames_[order[i]].group, i, 0});
    }
    ++launches_.back().count;
    lengths_.push_back(static_cast<uint32_t>(frames_[order[i]].group->frame_symbols));
  }
  return order;
}

absl::Status RecoverCarrierBatch::Finish() {
  if (output_staging_ != nullptr) {  // a GPU ran: the results of all frames, in order
    const uint8_t* results = output_staging_ + results_offset_;
    for (const Frame& frame : frames_) {
      std::memcpy(frame.result, results, sizeof(carrier::Result));
      results += sizeof(carrier::Result);
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
