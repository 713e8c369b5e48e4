// The decoder of everything the fast kernels do not take: sum-product where
// decode_nr_sum_product.cuh does not serve, and codes whose state does not fit on the chip. Device
// code; simple first.
//
// A thread block decodes `words` code words side by side, one thread for a row of the circulant of
// each, then goes on to the next ones. Of each code word there are
//   app       [columns][zc]
//   messages  [edges][zc]
// each of them in shared memory or in the block's slot of the workspace. A row's values are in
// registers: its degree is rounded up to one that the compiler knows.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_GENERAL_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_GENERAL_CUH_

#include "kernels/ldpc/decode_filler.cuh"
#include "kernels/ldpc/decode_odds.cuh"
#include "kernels/ldpc/decode_word.cuh"

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

struct SumProductArithmetic {
  using App = float;
  using Message = float;
  using Value = float;

  __device__ static Value Channel(const GeneralParameters& p, const DecodeBlock& block,
                                  uint32_t bit) {
    return OddsChannel(p.shape, block, p.llr_scale, bit);
  }
  template <int kMost, class Put>
  __device__ __forceinline__ static void CheckRule(const GeneralParameters&, int degree,
                                                   const Value (&q)[kMost], const Put& put) {
    float of[kMost];
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
      put(e, WithSign(before[e].And(backward).Magnitude(), signs ^ __float_as_uint(q[e])));
      backward = backward.And(of[e]);
    }
  }
  __device__ static int ToSoft(const GeneralParameters& p, Value app) {
    return OddsToSoft(app, p.llr_scale);
  }
};

template <class Arithmetic>
class GeneralDecoder {
  using App = typename Arithmetic::App;
  using Message = typename Arithmetic::Message;
  using Value = typename Arithmetic::Value;

 public:
  __device__ __forceinline__ GeneralDecoder(const GeneralParameters& p, char* shared)
      : p_(p),
        word_(threadIdx.x / p.shape.zc),
        row_(threadIdx.x - word_ * p.shape.zc),
        progress_(reinterpret_cast<uint32_t*>(shared), p.words, word_, row_) {
    shared += WordProgress::Bytes(p.words);
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
    progress_.Begin(exists);
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
      if (!p_.shape.early_termination && !last) continue;
      if (progress_.Settle(
              p_.io, block, iteration, last, [&] { return Fails(block); }, [&] { Write(block); })) {
        return;
      }
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

  // Whether a check of this thread's does not hold, or a filler of its row was decided 1.
  __device__ bool Fails(const DecodeBlock& block) const {
    bool failed = false;
    for (uint32_t r = 0; r < p_.shape.rows && !failed; ++r) {
      for (uint32_t e = p_.row_begin[r]; e < p_.row_begin[r + 1]; ++e) {
        failed ^= app_[p_.edge[e].column * p_.shape.zc + Rotated(p_.edge[e].shift)] < 0;
      }
    }
    return failed || AnyFillerIsOne(p_.shape, block, row_, [&](uint32_t column) {
             return app_[column * p_.shape.zc + row_] < 0;
           });
  }

  __device__ void Write(const DecodeBlock& block) const {
    WriteWordBits(p_.io, p_.shape, block, row_, [&](uint32_t bit) { return app_[bit] < 0; });
    WriteWordSoft(p_.io, p_.shape, block, row_, [&](uint32_t column) {
      return Arithmetic::ToSoft(p_, app_[column * p_.shape.zc + row_]);
    });
  }

  const GeneralParameters& p_;
  uint32_t word_;
  uint32_t row_;
  WordProgress progress_;
  App* app_;  // of this thread's code word
  Message* messages_;
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
