/* LDPCdecoder and LDPCencoder: single segments, which OpenAirInterface's ldpctest calls. */
#include <stdatomic.h>
#include <string.h>

#include "client/oai/plugin.h"

#if BO_OAI_UNSIGNED_BITS
typedef uint8_t bo_bits;
#else
typedef int8_t bo_bits;
#endif

const bo_library* bo_segment_library(void) {
  bo_client* const client = bo_start();
  return bo_library_for(BO_SEGMENTS, client == NULL ? "" : client->settings.library);
}

/* Columns of the base graph of which there are LLRs, by the code rate's name: the punctured two are
 * among them. 0: there is no such rate. */
static uint32_t columns_of(uint32_t base_graph, uint32_t rate) {
  switch (rate) {
    case 15:
      return base_graph == 1 ? 0 : 52;
    case 13:
      return base_graph == 1 ? 68 : 32;
    case 23:
      return base_graph == 1 ? 35 : 17;
    case 89:
      return base_graph == 1 ? 27 : 0;
    default:
      return 0;
  }
}

static int32_t library_decodes(t_nrLDPC_dec_params* parameters, int8_t* llrs, bo_bits* bits,
                               t_nrLDPC_time_stats* times, decode_abort_t* abort_decode) {
  const bo_library* const library = bo_segment_library();
  if (library == NULL) return parameters->numMaxIter;
  return ((LDPC_decoderfunc_t*)library->decoder)(parameters, llrs, bits, times, abort_decode);
}

BO_EXPORTED int32_t LDPCdecoder(t_nrLDPC_dec_params* parameters, int8_t* llrs, bo_bits* bits,
                                t_nrLDPC_time_stats* times, decode_abort_t* abort_decode) {
  const uint32_t columns = columns_of(parameters->BG, parameters->R);
  bo_client* const client = bo_start();
  if (client == NULL || columns == 0 || parameters->outMode != nrLDPC_outMode_BIT ||
      parameters->numMaxIter == 0) {
    return library_decodes(parameters, llrs, bits, times, abort_decode);
  }
  if (check_abort(abort_decode)) return parameters->numMaxIter;
  const bo_code_word word = {.base_graph = parameters->BG,
                             .zc = parameters->Z,
                             .max_iterations = parameters->numMaxIter,
                             .llr_count = (columns - 2) * parameters->Z};
  int iterations = bo_decode_word(client, &word, llrs + 2 * parameters->Z, (uint8_t*)bits);
  if (iterations < 0) return library_decodes(parameters, llrs, bits, times, abort_decode);
  if (parameters->check_crc != NULL) {
    const bool is_right = parameters->check_crc((uint8_t*)bits, (uint32_t)parameters->Kprime,
                                                (uint8_t)parameters->crc_type);
    if (!is_right) iterations = parameters->numMaxIter;
    if (is_right && iterations >= parameters->numMaxIter) iterations = parameters->numMaxIter - 1;
  }
  if (iterations >= parameters->numMaxIter) set_abort(abort_decode, true);
  return iterations;
}

/* A library's encoder that takes one segment, segment by segment. */
static int32_t encode_each(const bo_library* library, uint8_t** input, uint8_t* output,
                           encoder_implemparams_t* parameters, uint32_t begin, uint32_t end) {
  const uint32_t bits = (parameters->BG == 1 ? 66 : 50) * parameters->Zc;
  uint8_t one[68 * 384];
  memset(output, 0, bits);
  for (uint32_t i = begin; i < end; ++i) {
    const int32_t result = ((LDPC_encoderfunc_t*)library->encoder)(&input[i], one, parameters);
    if (result != 0) return result;
    for (uint32_t bit = 0; bit < bits; ++bit) {
      output[bit] = (uint8_t)(output[bit] | one[bit] << (i - begin));
    }
  }
  return 0;
}

BO_EXPORTED int32_t LDPCencoder(uint8_t** input, uint8_t* output,
                                encoder_implemparams_t* parameters) {
  const uint32_t begin = parameters->first_seg;
  const uint32_t end = parameters->n_segments > begin + 8 ? begin + 8 : parameters->n_segments;
  bo_client* const client = bo_start();
  const bool is_served = client != NULL && parameters->gen_code == 0 && end > begin &&
                         parameters->K == (parameters->BG == 1 ? 22 : 10) * parameters->Zc;
  if (is_served && bo_encode_words(client, parameters->BG, parameters->Zc,
                                   (const uint8_t* const*)input + begin, end - begin, output)) {
    return 0;
  }
  const bo_library* const library = bo_segment_library();
  if (library == NULL) return -1;
  if (library->encodes_one && parameters->gen_code == 0) {
    return encode_each(library, input, output, parameters, begin, end);
  }
  return ((LDPC_encoderfunc_t*)library->encoder)(input, output, parameters);
}

#if BO_OAI_HAS_ENCODER32
/* Of libraries that work on a GPU; OpenAirInterface's own for CPUs has none either. */
BO_EXPORTED uint32_t** LDPCencoder32(uint8_t** input, encoder_implemparams_t* parameters) {
  (void)input;
  (void)parameters;
  return NULL;
}
#endif

static atomic_flag is_begun = ATOMIC_FLAG_INIT; /* ldpctest begins again with each block */

BO_EXPORTED int32_t LDPCinit(void) {
  bo_start();
  const bo_library* const library = bo_segment_library();
  if (library == NULL || library->init == NULL || atomic_flag_test_and_set(&is_begun)) return 0;
  return ((LDPC_initfunc_t*)library->init)();
}

BO_EXPORTED int32_t LDPCshutdown(void) {
  const bo_library* const library = bo_segment_library();
  bo_stop();
  atomic_flag_clear(&is_begun);
  if (library == NULL || library->shutdown == NULL) return 0;
  return ((LDPC_shutdownfunc_t*)library->shutdown)();
}
