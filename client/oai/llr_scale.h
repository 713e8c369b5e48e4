/* How OpenAirInterface's LLRs, 16 bits in a unit that nobody says, become the decoder's 8. */
#ifndef BASEBAND_CLIENT_OAI_LLR_SCALE_H_
#define BASEBAND_CLIENT_OAI_LLR_SCALE_H_

#include <stddef.h>
#include <stdint.h>

/* What LLRs add up to. */
typedef struct bo_magnitudes {
  uint64_t sum;
  uint32_t count; /* without zeros */
} bo_magnitudes;

/* The mean |LLR|. */
float bo_mean(const bo_magnitudes* magnitudes);

/* Looks at about `samples` of `count` LLRs. */
void bo_add_magnitudes(const int16_t* llrs, size_t count, size_t samples,
                       bo_magnitudes* magnitudes);

/* DecodeSharedChannelGroup.llr_scale for LLRs of such a mean, of bits that are `qm` a symbol and
 * have `code_rate`, K' / E; in steps of half an octave, so that few descriptions of slots differ by
 * it. */
float bo_llr_scale(const bo_magnitudes* magnitudes, uint32_t qm, double code_rate);

#endif /* BASEBAND_CLIENT_OAI_LLR_SCALE_H_ */
