// The decoder of any code whose state fits on the chip: the same arithmetic as the NR one
// (decode_half.cuh), rows in a loop. Device code.
//
// A thread block decodes `pairs` pairs of code words side by side, one thread for a row of the
// circulant of a pair. Shared memory, with T = pairs * zc the number of threads:
//
//   app        [columns][T] words    a thread's own column begins at its pair: t - t % zc
//   next       likewise              flooding only: see decode_nr.cuh
//   messages   [words][T]            a row has (degree + 1) / 2 words, two edges of two code words
//   progress
#ifndef BASEBAND_KERNELS_LDPC_DECODE_LAYERED_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_LAYERED_CUH_

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_filler.cuh"
#include "kernels/ldpc/decode_staged.cuh"

namespace baseband::ldpc::device {

struct LayeredRow {
  uint16_t edge_begin;
  uint16_t word_begin;
  uint8_t degree;
  bool barrier;  // shares a column with a row since the last barrier
};

struct alignas(8) LayeredEdge {  // read in one go
  uint32_t shift4;               // shift * 4
  uint32_t column_base;          // column * T * 4
};

struct LayeredParameters {
  DecodeIo io;
  DecodeShape shape;
  MessageScale scale;     // has no offset
  uint32_t limit;         // magnitude limit * 2^-14 as halves
  uint32_t minus_zc4;     // -4 * zc
  uint32_t num_words;     // of messages, a thread
  uint32_t message_area;  // words for them all, or for the staged LLRs before
  LayeredRow row[kMaxRows];
  LayeredEdge edge[kMaxEdges];
};

// kMaxDegree bounds the row degree, and with it the registers; kSidewise: several pairs a block.
template <int kMaxDegree, bool kSidewise, bool kFlooding>
class LayeredDecoder {
 public:
  __device__ __forceinline__ LayeredDecoder(const LayeredParameters& p, uint32_t* shared)
      : p_(p),
        app_(shared),
        app_words_(p.shape.columns * blockDim.x),
        progress_(shared + (kFlooding ? 2 : 1) * app_words_ + p.message_area, p.shape.pairs),
        threads_(blockDim.x) {
    messages_ = shared + (kFlooding ? 2 : 1) * app_words_ + threadIdx.x;
    pair_ = kSidewise ? threadIdx.x / p.shape.zc : 0;
    pair_base_ = kSidewise ? pair_ * p.shape.zc * 4 : 0;
    row4_ = Opaque(threadIdx.x * 4 - pair_base_);
  }

  __device__ __forceinline__ void Run() {
    InitProgress(p_.io, p_.shape, progress_);
    Load();
    for (uint32_t iteration = 1;; ++iteration) {
      for (uint32_t r = 0; r < p_.shape.rows; ++r) {
        const LayeredRow row = p_.row[r];
        if (row.barrier) __syncthreads();
        Dispatch<2>(row);
      }
      const bool settle = p_.shape.early_termination || iteration == p_.shape.max_iterations;
      if (!kFlooding && !settle) continue;
      __syncthreads();
      if constexpr (kFlooding) {
        CopyApps(app_ + app_words_, app_);
        __syncthreads();
        if (!settle) continue;
      }
      if (Settle(
              p_.io, p_.shape, progress_, iteration, Check(0, 1), [&] { Write(); }, NoCrcStop(),
              [&] {
                return Check(1, p_.shape.rows) |
                       FillersThatAreOne(p_.io, p_.shape, pair_, row4_ / 4, app_ + threadIdx.x,
                                         threads_);
              })) {
        return;
      }
    }
  }

 private:
  __device__ __forceinline__ uint32_t Address(const LayeredEdge& edge) const {
    return Rotate(row4_, edge.shift4, p_.minus_zc4) + pair_base_ + edge.column_base;
  }
  __device__ __forceinline__ uint32_t& App(uint32_t address) const {
    return *reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(app_) + address);
  }

  __device__ __forceinline__ void Load() {
    const StagedLlr llr(p_.io, p_.shape, messages_ - threadIdx.x, pair_, row4_ / 4);
    llr.Wait();
    llr.StoreWords(0, p_.shape.columns, 0, app_ + threadIdx.x - row4_ / 4, threads_);
    __syncthreads();  // the staged LLRs are read: their place becomes the messages'
    if constexpr (kFlooding) CopyApps(app_, app_ + app_words_);
#pragma unroll 4
    for (uint32_t i = 0; i < p_.num_words; ++i) messages_[i * threads_] = kNoMessages;
  }

  // A bit of every column.
  __device__ __forceinline__ void CopyApps(const uint32_t* from, uint32_t* to) const {
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < app_words_; i += threads_) to[i] = from[i];
  }

  // Jumps to the code for the row's degree: one table for 2 .. 9, one for 10 .. 17, and so on.
  template <int kFirst>
  __device__ __forceinline__ void Dispatch(const LayeredRow& row) {
    if constexpr (kFirst + 8 <= kMaxDegree) {
      if (row.degree >= kFirst + 8) return Dispatch<kFirst + 8>(row);
    }
    switch (row.degree - kFirst) {
      case 0:
        return ProcessUpTo<kFirst>(row);
      case 1:
        return ProcessUpTo<kFirst + 1>(row);
      case 2:
        return ProcessUpTo<kFirst + 2>(row);
      case 3:
        return ProcessUpTo<kFirst + 3>(row);
      case 4:
        return ProcessUpTo<kFirst + 4>(row);
      case 5:
        return ProcessUpTo<kFirst + 5>(row);
      case 6:
        return ProcessUpTo<kFirst + 6>(row);
      default:
        return ProcessUpTo<kFirst + 7>(row);
    }
  }

  template <int kDegree>
  __device__ __forceinline__ void ProcessUpTo(const LayeredRow& row) {
    if constexpr (kDegree <= kMaxDegree) Process<kDegree>(row);
  }

  template <int kDegree>
  __device__ __forceinline__ void Process(const LayeredRow& row) {
    constexpr int kWords = (kDegree + 1) / 2;
    const LayeredEdge* edge = p_.edge + row.edge_begin;
    uint32_t* messages = messages_ + row.word_begin * threads_;
    uint32_t address[kDegree];
    uint32_t q[kDegree];
    uint32_t others[kDegree];  // what the new message is added to
    uint32_t word[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) word[w] = messages[w * threads_];
#pragma unroll
    for (int e = 0; e < kDegree; ++e) {
      address[e] = Address(edge[e]);
      q[e] = App(address[e]);
      if constexpr (kFlooding) {
        address[e] += 4 * app_words_;
        others[e] = App(address[e]);
      }
    }
#pragma unroll
    for (int e = 0; e < kDegree; ++e) {
      const uint32_t message = UnpackMessage(word[e / 2], e % 2);
      q[e] = Fma2(message, kHalfMinusTwoTo10, q[e]);
      others[e] = kFlooding ? Fma2(message, kHalfMinusTwoTo10, others[e]) : q[e];
    }
    uint32_t backward[kDegree + 1];  // all from edge e on, with the limit
    backward[kDegree] = p_.limit;
#pragma unroll
    for (int e = kDegree - 1; e > 0; --e) backward[e] = BoxPlus(backward[e + 1], q[e]);
    uint32_t forward = 0;  // all before edge e
    uint32_t y[kDegree];
#pragma unroll
    for (int e = 0; e < kDegree; ++e) {
      const uint32_t x = e == 0 ? backward[1] : BoxPlus(forward, backward[e + 1]);
      forward = e == 0 ? q[0] : BoxPlus(forward, q[e]);
      y[e] = p_.scale.WithoutOffset(x);
      App(address[e]) = Fma2(y[e], kHalfTwoTo10, others[e]);
    }
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      messages[w * threads_] = PackMessages(y[2 * w], y[2 * w + 1 < kDegree ? 2 * w + 1 : 2 * w]);
    }
  }

  __device__ __forceinline__ uint32_t Check(uint32_t from, uint32_t to) const {
    uint32_t failed = 0;
    for (uint32_t r = from; r < to; ++r) {
      const LayeredRow row = p_.row[r];
      uint32_t parity = 0;
#pragma unroll 4
      for (uint32_t e = 0; e < row.degree; ++e) {
        parity ^= Add2(App(Address(p_.edge[row.edge_begin + e])), kHalfMinus128);
      }
      failed |= parity;
    }
    return failed & kSigns;
  }

  __device__ __forceinline__ void Write() const {
    BitWriter(p_.io, p_.shape, app_, threads_, progress_.state).Write();
    WriteSoft(p_.io, p_.shape, progress_.state, [&](uint32_t column, uint32_t half) {
      return ToSoft(app_[column * threads_ + threadIdx.x]) >> (16 * half);
    });
  }

  const LayeredParameters& p_;
  uint32_t* app_;
  uint32_t app_words_;
  uint32_t* messages_;  // this thread's own, words threads_ apart
  Progress progress_;
  uint32_t threads_;
  uint32_t pair_;
  uint32_t pair_base_;  // pair * zc * 4
  uint32_t row4_;       // row of the circulant * 4
};

template <int kMaxDegree, bool kSidewise, bool kFlooding, int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    DecodeLayeredKernel(const __grid_constant__ LayeredParameters parameters) {
  extern __shared__ __align__(16) uint32_t shared[];  // read in units of 16 bytes too
  LayeredDecoder<kMaxDegree, kSidewise, kFlooding> decoder(parameters, shared);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_LAYERED_CUH_
