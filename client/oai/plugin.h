/* OpenAirInterface's headers, of the user's tree, and ours. */
#ifndef BASEBAND_CLIENT_OAI_PLUGIN_H_
#define BASEBAND_CLIENT_OAI_PLUGIN_H_

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include "PHY/CODING/nrLDPC_coding/nrLDPC_coding_interface.h"
#include "PHY/CODING/nrLDPC_extern.h"
#pragma GCC diagnostic pop

#include "client/oai/client.h"
#include "client/oai/generation.h"
#include "client/oai/library.h"

#define BO_EXPORTED __attribute__((visibility("default")))

/* The libraries that do what the server does not: slots, segments. Null: there is none. */
const bo_library* bo_slot_library(void);
const bo_library* bo_segment_library(void);

/* With that library; without one all blocks are wrong. */
int32_t bo_library_decodes(nrLDPC_slot_decoding_parameters_t* slot);

#endif /* BASEBAND_CLIENT_OAI_PLUGIN_H_ */
