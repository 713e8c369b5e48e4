/* What a generation of OpenAirInterface's headers calls the parts of a transport block that is to
 * be decoded, in one way for all of them. */
#ifndef BASEBAND_CLIENT_OAI_UPLINK_H_
#define BASEBAND_CLIENT_OAI_UPLINK_H_

#include "client/oai/plugin.h"

#if BO_OAI_ARRAYS_OF_BLOCK

static inline bool is_first(const nrLDPC_TB_decoding_parameters_t* block) {
  return block->d_to_be_cleared;
}

static inline void set_first(nrLDPC_TB_decoding_parameters_t* block, bool value) {
  block->d_to_be_cleared = value;
}

static inline bo_received received(const nrLDPC_TB_decoding_parameters_t* block, uint32_t i) {
  const uint32_t columns = block->BG == 1 ? 68 : 52;
  const uint32_t e = (uint32_t)block->E;
  const uint32_t e2 = (uint32_t)block->E2;
  const uint32_t before = i < (uint32_t)block->first_rE2 ? i : (uint32_t)block->first_rE2;
  return (bo_received){.llrs = block->llr + (size_t)before * e + (size_t)(i - before) * e2,
                       .e = before == i && i < (uint32_t)block->first_rE2 ? e : e2,
                       .soft = block->d + (size_t)i * columns * block->Z,
                       .bits = block->c + (size_t)i * (block->K / 8)};
}

static inline void set_right(nrLDPC_TB_decoding_parameters_t* block, uint32_t i, bool value) {
  block->decodeSuccess[i] = value;
}

static inline bool is_right(const nrLDPC_TB_decoding_parameters_t* block, uint32_t i) {
  return block->decodeSuccess[i];
}

static inline void start_timer(nrLDPC_TB_decoding_parameters_t* block) {
  reset_single_meas(&block->ts_ldpc_decode[0]);
  start_single_meas(&block->ts_ldpc_decode[0]);
}

static inline void stop_timer(nrLDPC_TB_decoding_parameters_t* block) {
  stop_single_meas(&block->ts_ldpc_decode[0]);
}

#else

static inline bool is_first(const nrLDPC_TB_decoding_parameters_t* block) {
  for (uint32_t i = 0; i < block->C; ++i) {
    if (*block->segments[i].d_to_be_cleared) return true;
  }
  return false;
}

static inline void set_first(nrLDPC_TB_decoding_parameters_t* block, bool value) {
  for (uint32_t i = 0; i < block->C; ++i) *block->segments[i].d_to_be_cleared = value;
}

static inline bo_received received(const nrLDPC_TB_decoding_parameters_t* block, uint32_t i) {
  const nrLDPC_segment_decoding_parameters_t* const segment = &block->segments[i];
  return (bo_received){
      .llrs = segment->llr, .e = (uint32_t)segment->E, .soft = segment->d, .bits = segment->c};
}

static inline void set_right(nrLDPC_TB_decoding_parameters_t* block, uint32_t i, bool value) {
  block->segments[i].decodeSuccess = value;
}

static inline bool is_right(const nrLDPC_TB_decoding_parameters_t* block, uint32_t i) {
  return block->segments[i].decodeSuccess;
}

static inline void start_timer(nrLDPC_TB_decoding_parameters_t* block) {
  start_meas(&block->segments[0].ts_ldpc_decode);
}

static inline void stop_timer(nrLDPC_TB_decoding_parameters_t* block) {
  stop_meas(&block->segments[0].ts_ldpc_decode);
}

#endif

#endif /* BASEBAND_CLIENT_OAI_UPLINK_H_ */
