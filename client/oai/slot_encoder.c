/* nrLDPC_coding_encoder: all transport blocks of a slot; and the beginning and end of slots. */
#include "client/oai/plugin.h"

const bo_library* bo_slot_library(void) {
  bo_client* const client = bo_start();
  return bo_library_for(BO_SLOTS, client == NULL ? "" : client->settings.library);
}

static int32_t library_encodes(nrLDPC_slot_encoding_parameters_t* slot) {
  const bo_library* const library = bo_slot_library();
  return library == NULL ? -1 : ((nrLDPC_coding_encoder_t*)library->slot_encoder)(slot);
}

BO_EXPORTED int32_t nrLDPC_coding_encoder(nrLDPC_slot_encoding_parameters_t* slot) {
  bo_sent segments[BO_MAX_SEGMENTS];
  bo_downlink_block blocks[BO_MAX_BLOCKS];
  uint32_t count = 0;
  for (int i = 0; i < slot->nb_TBs; ++i) count += slot->TBs[i].C;
  bo_client* const client = bo_start();
  if (client == NULL || count > BO_MAX_SEGMENTS || slot->nb_TBs > (int)BO_MAX_BLOCKS) {
    return library_encodes(slot);
  }
  bo_sent* next = segments;
  for (int i = 0; i < slot->nb_TBs; ++i) {
    const nrLDPC_TB_encoding_parameters_t* const block = &slot->TBs[i];
    blocks[i] = (bo_downlink_block){.code = bo_code_of(block->BG, block->Z, block->K, block->F,
                                                       block->A, block->C, block->tbslbrm),
                                    .qm = block->Qm,
                                    .rv = block->rv_index,
                                    .segments = next,
                                    .count = block->C,
                                    .output = block->output};
    for (uint32_t j = 0; j < block->C; ++j) {
      *next++ = (bo_sent){.bits = block->segments[j].c, .e = (uint32_t)block->segments[j].E};
    }
  }
  return bo_encode_slot(client, blocks, (uint32_t)slot->nb_TBs) ? 0 : library_encodes(slot);
}

#if BO_OAI_INIT_TAKES_COUNT
BO_EXPORTED int32_t nrLDPC_coding_init(int channels) {
#else
BO_EXPORTED int32_t nrLDPC_coding_init(void) {
#endif
  bo_start();
  const bo_library* const library =
      bo_slot_library(); /* now, and not in the first slot that needs it */
  if (library == NULL || library->slot_init == NULL) return 0;
#if BO_OAI_INIT_TAKES_COUNT
  return ((nrLDPC_coding_init_t*)library->slot_init)(channels);
#else
  return ((nrLDPC_coding_init_t*)library->slot_init)();
#endif
}

BO_EXPORTED int32_t nrLDPC_coding_shutdown(void) {
  const bo_library* const library = bo_slot_library();
  bo_stop();
  if (library == NULL || library->slot_shutdown == NULL) return 0;
  return ((nrLDPC_coding_shutdown_t*)library->slot_shutdown)();
}
