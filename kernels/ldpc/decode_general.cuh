// The decoder of everything the fast kernels do not take: flooding schedules, sum-product, and
// codes whose state does not fit on the chip. Device code; simple first.
//
// A thread block decodes `words` code words side by side, one thread for a row of the circulant of
// each, then goes on to the next ones. Of each code word there are
//   app       [columns][zc]
//   messages  [edges][zc]
// each of them in shared memory or in the block's slot of the workspace. A row's values are in
// registers: its degree is rounded up to one that the compiler knows.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_GENERAL_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_GENERAL_CUH_

#include "kernels/ldpc/decode_device.cuh"

namespace baseband::ldpc::device {

struct GeneralEdge {
  uint16_t column;
  uint16_t shift;
};

struct GeneralParameters {
  DecodeIo io;
  DecodeShape shape;  // `pairs` is not used
  uint32_t words;     // code words side by side
  bool flooding;
  Engine engine;
  float llr_scale;
  char* workspace;
  uint64_t slot_bytes;     // of the workspace, a thread block
  uint32_t app_bytes;      // of a code word, a multiple of 16
  uint32_t message_bytes;  // likewise
  bool app_in_workspace;
  bool messages_in_workspace;
  uint16_t row_begin[kMaxRows + 1];
  uint16_t column_begin[kMaxColumns + 1];
  GeneralEdge edge[kMaxEdges];      // by row
  uint16_t column_edge[kMaxEdges];  // edges by column, rows ascending
};

// decode.h's integer engine: two least magnitudes, the place of the least, the product of signs.
struct IntegerArithmetic {
  using App = int16_t;
  using Message = int8_t;
  using Value = int;

  __device__ static Value Channel(const GeneralParameters& p, const DecodeBlock& block,
                                  uint32_t bit) {
    return LoadChannel(p.shape, block, block.llr, bit);
  }
  // put(e, message) for each edge of a check.
  template <int kMost, class Put>
  __device__ __forceinline__ static void CheckRule(const GeneralParameters& p, int degree,
                                                   const Value (&q)[kMost], const Put& put) {
    int least = p.engine.magnitude_limit;
    int second = least;
    int place = -1;
    int signs = 0;
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      if (e >= degree) break;
      const int magnitude = abs(q[e]);
      second = min(second, max(least, magnitude));
      if (magnitude < least) place = e;
      least = min(least, magnitude);
      signs ^= q[e];
    }
    const bool heavy = degree >= kHeavyDegree;
    const int factor = heavy ? p.engine.heavy_factor : p.engine.factor;
    const int offset = heavy ? p.engine.offset : 0;
    const int scaled_least = ScaleMagnitude(least, factor, offset);
    const int scaled_second = ScaleMagnitude(second, factor, offset);
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      if (e >= degree) break;
      const int magnitude = e == place ? scaled_second : scaled_least;
      put(e, (signs ^ q[e]) < 0 ? -magnitude : magnitude);
    }
  }
  __device__ static int ToSoft(const GeneralParameters&, Value app) {
    return max(-kLlrMax, min(kLlrMax, app));
  }
};

// Sum-product on odds: with x = exp(-|q|), tanh(|q| / 2) = (1 - x) / (1 + x), and two bits' check
// node is x = (x1 + x2) / (1 + x1 * x2). Numerator and denominator are carried apart, so that a
// message costs one logarithm; both stay below 2^32.
struct SumProductArithmetic {
  using App = float;
  using Message = float;
  using Value = float;

  __device__ static Value Channel(const GeneralParameters& p, const DecodeBlock& block,
                                  uint32_t bit) {
    if (bit < p.shape.k && bit >= p.shape.k - block.num_filler) return kLlrMax;
    const int llr = LoadChannel(p.shape, block, block.llr, bit);
    return __fdiv_rn(static_cast<float>(llr), p.llr_scale);
  }
  struct Odds {
    float numerator = 0.0f;
    float denominator = 1.0f;
    __device__ Odds And(const Odds& other) const {
      return {numerator * other.denominator + denominator * other.numerator,
              denominator * other.denominator + numerator * other.numerator};
    }
  };
  __device__ static Odds ToOdds(float q) { return {__expf(-fminf(fabsf(q), kSumProductLimit)), 1}; }
  template <int kMost, class Put>
  __device__ __forceinline__ static void CheckRule(const GeneralParameters&, int degree,
                                                   const Value (&q)[kMost], const Put& put) {
    Odds of[kMost];
    Odds before[kMost];
    Odds forward;
    uint32_t signs = 0;
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      if (e >= degree) break;
      of[e] = ToOdds(q[e]);
      before[e] = forward;
      forward = forward.And(of[e]);
      signs ^= __float_as_uint(q[e]);
    }
    Odds backward;
#pragma unroll
    for (int e = kMost - 1; e >= 0; --e) {
      if (e >= degree) continue;
      const Odds others = before[e].And(backward);
      const float magnitude = -__logf(others.numerator / others.denominator);
      const uint32_t sign = (signs ^ __float_as_uint(q[e])) & 0x80000000;
      put(e,
          __uint_as_float(__float_as_uint(fminf(fmaxf(magnitude, 0.0f), kSumProductLimit)) | sign));
      backward = backward.And(of[e]);
    }
  }
  __device__ static int ToSoft(const GeneralParameters& p, Value app) {
    const float limit = kLlrMax;
    return __float2int_rn(fmaxf(-limit, fminf(limit, app * p.llr_scale)));
  }
};

template <class Arithmetic>
class GeneralDecoder {
  using App = typename Arithmetic::App;
  using Message = typename Arithmetic::Message;
  using Value = typename Arithmetic::Value;

 public:
  __device__ __forceinline__ GeneralDecoder(const GeneralParameters& p, char* shared) : p_(p) {
    state_ = reinterpret_cast<uint32_t*>(shared);
    fail_ = state_ + p.words;
    shared += (p.words * 8 + 15) / 16 * 16;
    word_ = threadIdx.x / p.shape.zc;
    row_ = threadIdx.x - word_ * p.shape.zc;
    char* slot = p.workspace + blockIdx.x * p.slot_bytes;
    char*& app = p.app_in_workspace ? slot : shared;
    app_ = reinterpret_cast<App*>(app + word_ * p.app_bytes);
    app += p.words * p.app_bytes;
    char* messages = p.messages_in_workspace ? slot : shared;
    messages_ = reinterpret_cast<Message*>(messages + word_ * p.message_bytes);
  }

  __device__ void Run() {
    for (uint32_t first = blockIdx.x * p_.words; first < p_.io.num_blocks;
         first += gridDim.x * p_.words) {
      __syncthreads();
      Decode(first + word_);
    }
  }

 private:
  // Decodes code word `index` with this thread's row; one past the end decodes nothing received.
  __device__ void Decode(uint32_t index) {
    const bool exists = index < p_.io.num_blocks;
    DecodeBlock block;
    if (exists) block = p_.io.blocks[index];
    const uint32_t zc = p_.shape.zc;
    for (uint32_t c = 0; c < p_.shape.columns; ++c) {
      app_[c * zc + row_] = static_cast<App>(Arithmetic::Channel(p_, block, c * zc + row_));
    }
    for (uint32_t e = 0; e < p_.row_begin[p_.shape.rows]; ++e) messages_[e * zc + row_] = 0;
    if (row_ == 0) {
      state_[word_] = exists ? kRunning : kWritten;
      fail_[word_] = 0;
    }
    __syncthreads();
    for (uint32_t iteration = 1;; ++iteration) {
      for (uint32_t r = 0; r < p_.shape.rows; ++r) {
        UpdateRow(r);
        if (!p_.flooding) __syncthreads();
      }
      if (p_.flooding) {
        __syncthreads();
        for (uint32_t c = 0; c < p_.shape.columns; ++c) UpdateColumn(c, block);
        __syncthreads();
      }
      const bool last = iteration == p_.shape.max_iterations;
      if ((p_.shape.early_termination || last) && Settle(block, iteration, last)) return;
    }
  }

  __device__ uint32_t Rotated(uint32_t shift) const {
    const uint32_t at = row_ + shift;
    return at < p_.shape.zc ? at : at - p_.shape.zc;
  }

  __device__ __forceinline__ void UpdateRow(uint32_t row) {
    const int degree = p_.row_begin[row + 1] - p_.row_begin[row];
    UpdateRowOf<5, 7, 10, 15, 20, kMaxRowDegree>(row, degree);
  }
  // With registers for the least of kMost, kOthers that is enough.
  template <int kMost, int... kOthers>
  __device__ __forceinline__ void UpdateRowOf(uint32_t row, int degree) {
    if constexpr (sizeof...(kOthers) > 0) {
      if (degree > kMost) return UpdateRowOf<kOthers...>(row, degree);
    }
    const uint32_t begin = p_.row_begin[row];
    uint32_t at[kMost];
    Value q[kMost];
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      if (e >= degree) break;
      const GeneralEdge edge = p_.edge[begin + e];
      at[e] = edge.column * p_.shape.zc + Rotated(edge.shift);
      q[e] = app_[at[e]] - messages_[(begin + e) * p_.shape.zc + row_];
    }
    Arithmetic::CheckRule(p_, degree, q, [&](int e, Value r) {
      messages_[(begin + e) * p_.shape.zc + row_] = static_cast<Message>(r);
      if (!p_.flooding) app_[at[e]] = static_cast<App>(q[e] + r);
    });
  }

  // app of this thread's bit of a column: its check in a block of shift s is row - s, modulo zc.
  __device__ void UpdateColumn(uint32_t column, const DecodeBlock& block) {
    const uint32_t zc = p_.shape.zc;
    Value app = Arithmetic::Channel(p_, block, column * zc + row_);
    for (uint32_t i = p_.column_begin[column]; i < p_.column_begin[column + 1]; ++i) {
      const uint32_t e = p_.column_edge[i];
      app += messages_[e * zc + Rotated(zc - p_.edge[e].shift)];
    }
    app_[column * zc + row_] = static_cast<App>(app);
  }

  // True if no code word of the thread block is left. As Settle in decode_device.cuh.
  __device__ bool Settle(const DecodeBlock& block, uint32_t iteration, bool last) {
    bool failed = false;
    if (state_[word_] == kRunning) {
      for (uint32_t r = 0; r < p_.shape.rows && !failed; ++r) {
        for (uint32_t e = p_.row_begin[r]; e < p_.row_begin[r + 1]; ++e) {
          failed ^= app_[p_.edge[e].column * p_.shape.zc + Rotated(p_.edge[e].shift)] < 0;
        }
      }
    }
    if (failed) atomicOr(&fail_[word_], 1u);
    __syncthreads();
    const bool holds = fail_[word_] == 0;
    const bool finished = state_[word_] == kRunning && (holds || last);
    if (finished) {
      WriteBits(block);
      WriteSoft(block);
    }
    __syncthreads();
    if (row_ == 0) {
      fail_[word_] = 0;
      if (finished) {
        state_[word_] = kWritten;
        DecodeResult result;
        result.iterations = static_cast<uint16_t>(iteration);
        result.parity_ok = holds;
        p_.io.results[block.result_index] = result;
      }
    }
    __syncthreads();
    return !__syncthreads_or(state_[word_] == kRunning);
  }

  __device__ void WriteBits(const DecodeBlock& block) const {
    const uint32_t num_bits = p_.shape.k - block.num_filler;
    uint32_t* out = reinterpret_cast<uint32_t*>(p_.io.bits + block.bits_offset);
    for (uint32_t w = row_; w * 32 < num_bits; w += p_.shape.zc) {
      uint32_t word = 0;
      for (uint32_t b = 0; b < 32 && w * 32 + b < num_bits; ++b) {
        word |= static_cast<uint32_t>(app_[w * 32 + b] < 0) << (b ^ 7);
      }
      out[w] = word;
    }
  }

  __device__ void WriteSoft(const DecodeBlock& block) const {
    if (block.soft_offset == kNoSoft) return;
    const uint32_t zc = p_.shape.zc;
    for (uint32_t c = 0; c < p_.shape.columns; ++c) {
      p_.io.soft[block.soft_offset + c * zc + row_] =
          static_cast<int8_t>(Arithmetic::ToSoft(p_, app_[c * zc + row_]));
    }
  }

  const GeneralParameters& p_;
  uint32_t* state_;  // [words]
  uint32_t* fail_;   // [words]
  App* app_;         // of this thread's code word
  Message* messages_;
  uint32_t word_;
  uint32_t row_;
};

template <class Arithmetic>
__global__ void __launch_bounds__(kMaxZc, 1)
    DecodeGeneralKernel(const __grid_constant__ GeneralParameters parameters) {
  extern __shared__ __align__(16) char shared_bytes[];
  GeneralDecoder<Arithmetic> decoder(parameters, shared_bytes);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_GENERAL_CUH_
