/* nrLDPC_coding_decoder: all transport blocks of a slot. */
#include <string.h>

#include "client/oai/plugin.h"
#include "client/oai/uplink.h"

static void give_up(nrLDPC_TB_decoding_parameters_t* block) {
  for (uint32_t i = 0; i < block->C; ++i) {
    memset(received(block, i).bits, 0, block->K / 8);
    set_right(block, i, false);
  }
}

int32_t bo_library_decodes(nrLDPC_slot_decoding_parameters_t* slot) {
  const bo_library* const library = bo_slot_library();
  if (library != NULL) return ((nrLDPC_coding_decoder_t*)library->slot_decoder)(slot);
  for (int i = 0; i < slot->nb_TBs; ++i) {
    give_up(&slot->TBs[i]);
    *slot->TBs[i].processedSegments = 0;
  }
  return 0;
}

/* The library decodes the blocks that are left to it, as a slot of their own. */
static int32_t decode_left(nrLDPC_slot_decoding_parameters_t* slot, const bo_uplink_block* blocks) {
  nrLDPC_TB_decoding_parameters_t left[BO_MAX_BLOCKS];
  int places[BO_MAX_BLOCKS];
  nrLDPC_slot_decoding_parameters_t of_library = *slot;
  of_library.TBs = left;
  of_library.nb_TBs = 0;
  for (int i = 0; i < slot->nb_TBs; ++i) {
    if (blocks[i].is_dropped) continue;
    if (blocks[i].verdict != BO_LEFT && blocks[i].verdict != BO_LEFT_ALONE) continue;
    if (blocks[i].verdict == BO_LEFT_ALONE) set_first(&slot->TBs[i], true);
    places[of_library.nb_TBs] = i;
    left[of_library.nb_TBs++] = slot->TBs[i];
  }
  if (of_library.nb_TBs == 0) return 0;
  const int32_t result = bo_library_decodes(&of_library);
  for (int i = 0; i < of_library.nb_TBs; ++i) slot->TBs[places[i]] = left[i];
  return result;
}

/* What the server decoded. */
static void take(const bo_client* client, nrLDPC_TB_decoding_parameters_t* block,
                 const bo_uplink_block* decoded) {
  bool is_all_right = true;
  for (uint32_t i = 0; i < block->C; ++i) {
    set_right(block, i, decoded->segments[i].is_right);
    is_all_right = is_all_right && decoded->segments[i].is_right;
  }
  /* With the server's soft bits, or with those in `d`. Else what comes next is the first again. */
  if (decoded->verdict == BO_DECODED_SOFT || !client->settings.harq_on_host)
    set_first(block, false);
  if (!is_all_right) set_abort(block->abort_decode, true); /* as OpenAirInterface's own */
}

static uint32_t describe(nrLDPC_TB_decoding_parameters_t* block, bo_received* segments,
                         bo_uplink_block* to) {
  for (uint32_t i = 0; i < block->C; ++i) segments[i] = received(block, i);
  *to = (bo_uplink_block){.code = bo_code_of(block->BG, block->Z, block->K, block->F, block->A,
                                             block->C, block->tbslbrm),
                          .process = {.number = block->harq_unique_pid, .memory = segments[0].soft},
                          .qm = block->Qm,
                          .rv = block->rv_index,
                          .max_iterations = block->max_ldpc_iterations,
                          .is_first = is_first(block),
                          .is_dropped = check_abort(block->abort_decode),
                          .segments = segments,
                          .count = block->C};
  return block->C;
}

static int32_t decode(bo_client* client, nrLDPC_slot_decoding_parameters_t* slot) {
  bo_received segments[BO_MAX_SEGMENTS];
  bo_uplink_block blocks[BO_MAX_BLOCKS];
  uint32_t count = 0;
  for (int i = 0; i < slot->nb_TBs; ++i) {
    count += describe(&slot->TBs[i], segments + count, &blocks[i]);
  }
  for (int i = 0; i < slot->nb_TBs; ++i) start_timer(&slot->TBs[i]);
  bo_decode_slot(client, blocks, (uint32_t)slot->nb_TBs);
  for (int i = 0; i < slot->nb_TBs; ++i) {
    nrLDPC_TB_decoding_parameters_t* const block = &slot->TBs[i];
    stop_timer(block);
    if (blocks[i].is_dropped) {
      give_up(block);
    } else if (blocks[i].verdict == BO_DECODED || blocks[i].verdict == BO_DECODED_SOFT) {
      take(client, block, &blocks[i]);
    }
  }
  const int32_t result = decode_left(slot, blocks);
  for (int i = 0; i < slot->nb_TBs; ++i) {
    uint32_t right = 0;
    for (uint32_t j = 0; j < slot->TBs[i].C; ++j) right += is_right(&slot->TBs[i], j);
    *slot->TBs[i].processedSegments = right;
  }
  return result;
}

/* As many blocks from `begin` on as are a request; none: no request takes the first one. */
static int count_for_request(const nrLDPC_slot_decoding_parameters_t* slot, int begin) {
  uint32_t segments = 0;
  int end = begin;
  while (end < slot->nb_TBs && end - begin < (int)BO_MAX_BLOCKS && slot->TBs[end].C > 0 &&
         slot->TBs[end].C <= BO_MAX_SEGMENTS - segments) {
    segments += slot->TBs[end++].C;
  }
  return end - begin;
}

BO_EXPORTED int32_t nrLDPC_coding_decoder(nrLDPC_slot_decoding_parameters_t* slot) {
  bo_client* const client = bo_start();
  if (client == NULL) return bo_library_decodes(slot);
  nrLDPC_slot_decoding_parameters_t part = *slot;
  int32_t result = 0;
  for (int i = 0; i < slot->nb_TBs; i += part.nb_TBs) {
    const int count = count_for_request(slot, i);
    part.TBs = &slot->TBs[i];
    part.nb_TBs = count > 0 ? count : 1;
    const int32_t of_part = count > 0 ? decode(client, &part) : bo_library_decodes(&part);
    if (result == 0) result = of_part;
  }
  return result;
}
