// The integer engine of decode.h on the CPU device: from LLRs to bits around the rows' update.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/base/bits.h"
#include "kernels/base/simd_targets.h"
#include "kernels/ldpc/decode_math.h"
#include "kernels/ldpc/decode_workspace_cpu.h"

#define HWY_WANT_AVX3_DL  // looks bytes up
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/decode_minsum_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ldpc/decode_minsum_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::ldpc::HWY_NAMESPACE {
namespace {

void Iterate(Frame& frame, Schedule schedule) {
  const DecodePlan& plan = *frame.plan;
  if (schedule == Schedule::kLayered) {
    for (const PlanRow& row : plan.rows()) kLayeredUpdates[row.shared_count](frame, row);
    return;
  }
  for (int c = 0; c < plan.num_shared(); ++c) {
    std::memcpy(frame.sums[c], frame.channel + c * frame.stride, frame.stride * sizeof(int16_t));
  }
  for (const PlanRow& row : plan.rows()) UpdateRow<true, 0>(frame, row);
  for (int c = 0; c < plan.num_shared(); ++c) std::swap(frame.sums[c], frame.columns[c]);
}

// Whether all parity checks hold for the signs of app. Stops at the first that does not.
bool ParityHolds(const Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const size_t group = GroupRows();
  const auto bias = hn::Set(d16, kBias);
  const SharedEdge* edges = frame.plan->edges().data();
  for (const PlanRow& row : frame.plan->rows()) {
    for (size_t t = 0; t < frame.zc; t += group) {
      auto low = hn::Zero(d16);
      auto high = hn::Zero(d16);
      for (size_t j = 0; j < row.shared_count; ++j) {
        const int16_t* const app =
            frame.columns[edges[j].column] + RunStart(t, edges[j].check, frame.zc);
        low = hn::Xor(low, hn::Sub(hn::LoadU(d16, app), bias));
        high = hn::Xor(high, hn::Sub(hn::LoadU(d16, app + lanes), bias));
      }
      auto parity = Narrow(low, high);
      for (size_t j = 0; j < row.private_count; ++j) {
        const size_t at = (row.private_begin + j) * frame.groups * group + t;
        parity = hn::Xor(parity, hn::Load(d8, frame.private_app + at));
      }
      if (t + group > frame.zc) parity = hn::And(parity, hn::Load(d8, frame.valid));
      if (!hn::AllFalse(d8, hn::Lt(parity, hn::Zero(d8)))) return false;
    }
    edges += row.shared_count;
  }
  return true;
}

// column[i] = llr[(i + rotation) mod zc] + 128, with the mirrored tail. Writes up to L elements and
// reads up to L bytes further than it needs.
void LoadColumn(const int8_t* llr, size_t rotation, size_t zc, int16_t* column) {
  const size_t lanes = hn::Lanes(d16);
  const auto bias = hn::Set(d16, kBias);
  const auto copy = [&](const int8_t* from, size_t count, int16_t* to) {
    for (size_t i = 0; i < count; i += lanes) {
      const auto wide =
          hn::Max(hn::PromoteTo(d16, hn::LoadU(d8_half, from + i)), hn::Set(d16, -kLlrMax));
      hn::StoreU(hn::Add(wide, bias), d16, to + i);
    }
  };
  copy(llr + rotation, zc - rotation, column);
  copy(llr, rotation, column + zc - rotation);
  Mirror(column, zc);
}

void LoadChannel(const DecodeTask& task, Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const size_t group = GroupRows();
  const auto bias = hn::Set(d16, kBias);
  for (size_t c = 0; c < task.plan->columns().size(); ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    int16_t* const target = column.is_private ? frame.scratch[0] : frame.columns[column.index];
    LoadColumn(task.llr + c * frame.zc, column.rotation, frame.zc, target);
    if (!column.is_private) continue;
    int8_t* const packed = frame.private_channel + column.index * frame.groups * group;
    for (size_t t = 0; t < frame.zc; t += group) {
      const auto low = hn::Sub(hn::Load(d16, target + t), bias);
      const auto high = hn::Sub(hn::Load(d16, target + t + lanes), bias);
      hn::Store(Narrow(low, high), d8, packed + t);
    }
  }
}

// Block column `c` as a mirrored column of app + 128.
const int16_t* ColumnOf(const Frame& frame, const PlanColumn& column) {
  if (!column.is_private) return frame.columns[column.index];
  const size_t group = GroupRows();
  int16_t* const target = frame.scratch[0];
  const int8_t* const packed = frame.private_app + column.index * frame.groups * group;
  for (size_t t = 0; t < frame.zc; t += group) {
    const auto biased = hn::Xor(hn::Load(d8, packed + t), hn::Set(d8, -kBias));
    hn::Store(WidenLow(hn::BitCast(du8, biased)), d16, target + t);
    hn::Store(WidenHigh(hn::BitCast(du8, biased)), d16, target + t + hn::Lanes(d16));
  }
  Mirror(target, frame.zc);
  return target;
}

// Whether a filler was decided 1.
bool AnyFillerIsOne(const DecodeTask& task, const Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const auto bias = hn::Set(d16, kBias);
  const int zc = task.plan->zc();
  for (int c = task.first_filler / zc; c * zc < task.end_filler; ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    const int16_t* const app = ColumnOf(frame, column);
    const size_t start = column.rotation == 0 ? 0 : frame.zc - column.rotation;
    for (auto t = static_cast<size_t>(std::max(0, task.first_filler - c * zc)); t < frame.zc;
         t += lanes) {
      const auto value = hn::LoadU(d16, app + RunStart(t, start, frame.zc));
      const auto is_one = hn::And(hn::FirstN(d16, frame.zc - t), hn::Lt(value, bias));
      if (!hn::AllFalse(d16, is_one)) return true;
    }
  }
  return false;
}

uint8_t ReverseBits(uint8_t byte) {
  return static_cast<uint8_t>(((byte * 0x0202020202ull) & 0x010884422010ull) % 1023);
}

void StoreBits(const DecodeTask& task, const Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const auto bias = hn::Set(d16, kBias);
  const int zc = task.plan->zc();
  uint8_t packed[(kMaxZc + 2 * HWY_MAX_BYTES) / 8];
  task.bits.back() = 0;
  for (int c = 0; c * zc < task.num_bits; ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    const int16_t* const app = ColumnOf(frame, column);
    const size_t start = column.rotation == 0 ? 0 : frame.zc - column.rotation;
    for (size_t t = 0; t < frame.zc; t += lanes) {
      const auto value = hn::LoadU(d16, app + RunStart(t, start, frame.zc));
      hn::StoreMaskBits(d16, hn::Lt(value, bias), packed + t / 8);
    }
    for (int i = 0; i < (zc + 7) / 8; ++i) packed[i] = ReverseBits(packed[i]);
    CopyBits(task.bits.data(), int64_t{c} * zc, packed, 0, std::min(zc, task.num_bits - c * zc));
  }
}

void StoreSoft(const DecodeTask& task, const Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const auto bias = hn::Set(d16, kBias);
  HWY_ALIGN int8_t natural[kMaxZc + HWY_MAX_BYTES];
  for (size_t c = 0; c < task.plan->columns().size(); ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    const int16_t* const app = ColumnOf(frame, column);
    const size_t start = column.rotation == 0 ? 0 : frame.zc - column.rotation;
    for (size_t t = 0; t < frame.zc; t += lanes) {
      const auto value = hn::LoadU(d16, app + RunStart(t, start, frame.zc));
      const auto clipped =
          hn::Max(hn::DemoteTo(d8_half, hn::Sub(value, bias)), hn::Set(d8_half, -kLlrMax));
      hn::StoreU(clipped, d8_half, natural + t);
    }
    std::memcpy(task.soft.data() + c * frame.zc, natural, frame.zc);
  }
}

// Lays the frame out in memory; with a null base, only counts the bytes.
size_t LayOut(const DecodeTask& task, uint8_t* base, Frame& frame) {
  DecodePlan& plan = *task.plan;
  const size_t group = GroupRows();
  const bool flooding = task.parameters->schedule == Schedule::kFlooding;
  frame.plan = &plan;
  frame.runs = plan.Runs(group);
  frame.zc = static_cast<size_t>(plan.zc());
  frame.groups = (frame.zc + group - 1) / group;
  frame.stride = (frame.groups + 1) * group;
  frame.magnitude_limit = static_cast<uint8_t>(task.engine.magnitude_limit);

  MemoryCutter cut(base);
  const auto num_shared = static_cast<size_t>(plan.num_shared());
  for (size_t c = 0; c < num_shared; ++c) frame.columns[c] = cut.Take<int16_t>(frame.stride);
  for (int j = 0; j < plan.max_row_degree(); ++j) {
    frame.scratch[j] = cut.Take<int16_t>(frame.stride);
  }
  if (flooding) {
    for (size_t c = 0; c < num_shared; ++c) frame.sums[c] = cut.Take<int16_t>(frame.stride);
    frame.channel = cut.Take<int16_t>(num_shared * frame.stride);
  }
  const size_t rows = frame.groups * group;
  frame.messages = cut.Take<uint8_t>(plan.edges().size() * rows);
  frame.private_channel = cut.Take<int8_t>(static_cast<size_t>(plan.num_private()) * rows);
  frame.private_app = cut.Take<int8_t>(static_cast<size_t>(plan.num_private()) * rows);
  frame.valid = cut.Take<int8_t>(group);
  return cut.used();
}

DecodeResult Decode(const DecodeTask& task) {
  const DecodePlan& plan = *task.plan;
  Frame frame;
  LayOut(task, DecodeWorkspace::OfThisThread().Memory(LayOut(task, nullptr, frame)), frame);
  Scaler::Keep(task.engine.factor, /*offset=*/0, &frame.scaler);
  Scaler::Keep(task.engine.heavy_factor, task.engine.offset, &frame.heavy_scaler);
  LoadChannel(task, frame);
  const size_t group = GroupRows();
  std::memset(frame.messages, kBias, plan.edges().size() * frame.groups * group);
  if (task.parameters->schedule == Schedule::kFlooding) {
    for (int c = 0; c < plan.num_shared(); ++c) {
      std::memcpy(frame.channel + c * frame.stride, frame.columns[c],
                  frame.stride * sizeof(int16_t));
    }
  }
  // The rows of the last group, in natural order, then in packed order.
  const size_t lanes = hn::Lanes(d16);
  HWY_ALIGN int16_t natural[HWY_MAX_BYTES];
  for (size_t i = 0; i < group; ++i) {
    natural[i] = (frame.groups - 1) * group + i < frame.zc ? -1 : 0;
  }
  hn::Store(Narrow(hn::Load(d16, natural), hn::Load(d16, natural + lanes)), d8, frame.valid);

  DecodeResult result;
  bool holds = false;  // checks and fillers
  bool crc_stops = false;
  do {
    ++result.iterations;
    const bool last = result.iterations == task.parameters->max_iterations;
    frame.keeps_private_app = last || task.parameters->early_termination;
    Iterate(frame, task.parameters->schedule);
    if (last || task.parameters->early_termination) {
      holds = ParityHolds(frame) && !AnyFillerIsOne(task, frame);
    }
    if (last) break;
    if (!holds && LooksAtCrc(task)) {
      StoreBits(task, frame);
      crc_stops = StopsByCrc(task);
    }
  } while (!holds && !crc_stops);
  result.parity_ok = holds ? 1 : 0;
  StoreBits(task, frame);
  if (!task.soft.empty()) StoreSoft(task, frame);
  return result;
}

}  // namespace
}  // namespace baseband::ldpc::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::ldpc {

HWY_EXPORT(Decode);

DecodeResult DecodeMinSum(const DecodeTask& task) { return HWY_DYNAMIC_DISPATCH(Decode)(task); }

}  // namespace baseband::ldpc
#endif
