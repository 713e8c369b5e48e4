// Kernel parameters from a batch: the parts that all kernels share. Host code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_PARAMETERS_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_PARAMETERS_CUH_

#include <cuda_fp16.h>

#include <cmath>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_nr_rows.cuh"

namespace baseband::ldpc {

inline device::DecodeIo MakeIo(const DecodeBatch& batch) {
  device::DecodeIo io;
  io.blocks = batch.blocks;
  io.bits = batch.bits;
  io.soft = batch.soft;
  io.results = batch.results;
  io.crc_powers = nullptr;
  io.num_blocks = batch.num_blocks;
  return io;
}

inline device::DecodeShape MakeShape(const DecodeBatch& batch, const Engine& engine, int pairs) {
  const Code& code = *batch.code;
  device::DecodeShape shape;
  shape.zc = static_cast<uint32_t>(code.zc());
  shape.zc_magic = code.zc() == 1 ? 0 : static_cast<uint32_t>((uint64_t{1} << 32) / shape.zc) + 1;
  shape.pairs = static_cast<uint32_t>(pairs);
  shape.rows = static_cast<uint32_t>(code.rows());
  shape.columns = static_cast<uint32_t>(code.columns());
  shape.k = static_cast<uint32_t>(code.k());
  shape.punctured_bits = static_cast<uint32_t>(code.punctured_columns() * code.zc());
  shape.num_sent = static_cast<uint32_t>(code.num_sent());
  shape.max_iterations = static_cast<uint32_t>(batch.parameters.max_iterations);
  shape.early_termination = batch.parameters.early_termination;
  shape.hard_input = engine.hard_input;
  return shape;
}

// A number that a half holds exactly, in both halves.
inline uint32_t HalvesOf(float value) {
  const __half_raw raw = __float2half_rn(value);
  return device::Both(raw.x);
}
inline device::MessageScale ScaleOf(int factor, int offset) {
  return {HalvesOf(std::ldexp(static_cast<float>(factor), -21)),
          HalvesOf(std::ldexp(static_cast<float>(-offset), -10))};
}
inline device::MessageScale LightScaleOf(const Engine& engine) { return ScaleOf(engine.factor, 0); }
inline device::MessageScale HeavyScaleOf(const Engine& engine) {
  return ScaleOf(engine.heavy_factor, engine.offset);
}
inline uint32_t LimitHalves(const Engine& engine) {
  return HalvesOf(std::ldexp(static_cast<float>(engine.magnitude_limit), -14));
}

// Of a code that matches a graph.
inline device::NrShifts MakeNrShifts(const Code& code) {
  device::NrShifts shifts{};
  shifts.minus_zc4 = 0 - 4 * static_cast<uint32_t>(code.zc());
  const absl::Span<const Edge> edges = code.edges();
  for (size_t e = 0; e < edges.size(); ++e) shifts.shift4[e] = 4u * edges[e].shift;
  return shifts;
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_PARAMETERS_CUH_
