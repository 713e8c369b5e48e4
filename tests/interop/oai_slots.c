/* Slots through libldpc_baseband.so and through OpenAirInterface's own library, beside each other:
 *   oai_slots OURS THEIRS            tests, a line each: "ok .." or "FAILED .."
 *   oai_slots OURS THEIRS SECONDS    slots for so long, while somebody ends and starts the server
 * For trees whose segments are structures (v2.3.0, 2025). */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "PHY/CODING/nrLDPC_coding/nrLDPC_coding_interface.h"

#define MOST_SEGMENTS 160
#define MOST_BITS (66 * 384)

typedef nrLDPC_coding_interface_t library;

typedef struct shape {
  const char* name;
  int bg, zc, segments, k_prime, qm, rv, e, longer; /* `longer` segments, the last, have e + qm */
  int tbs_lbrm;
} shape;

static const shape kShapes[] = {
    {"BG1 Zc 384, 3 segments of two lengths", 1, 384, 3, 8424, 6, 0, 11880, 1, 0},
    {"BG1 Zc 384, 52 segments, 256QAM", 1, 384, 52, 8440, 8, 0, 9600, 20, 0},
    {"BG1 Zc 192, one segment", 1, 192, 1, 4200, 4, 0, 6000, 0, 0},
    {"BG1 Zc 320, limited buffer, rv 2", 1, 320, 4, 6960, 2, 2, 14000, 2, 30000},
    {"BG2 Zc 384, repeated", 2, 384, 1, 3800, 2, 0, 25000, 0, 0},
    {"BG2 Zc 72, CRC16, rv 3", 2, 72, 1, 640, 2, 3, 1806, 0, 0},
    {"BG2 Zc 30, odd bytes", 2, 30, 1, 240, 6, 0, 594, 0, 0},
    {"BG1 Zc 384, rv 1, odd lengths", 1, 384, 5, 8448, 2, 1, 19998, 3, 0},
};
enum { kShapeCount = sizeof(kShapes) / sizeof(kShapes[0]) };

static _Thread_local uint64_t random_state = 88172645463325252U;
static uint64_t next_random(void) { /* xorshift64* */
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 0x2545f4914f6cdd1dU;
}

static double gauss(void) {
  const double u = ((double)(next_random() >> 11) + 0.5) * 0x1p-53;
  const double v = (double)(next_random() >> 11) * 0x1p-53;
  return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* A transport block: what is sent, and what both libraries make of it. */
typedef struct block {
  const shape* shape;
  uint32_t k, g, a;
  uint8_t* sent[MOST_SEGMENTS]; /* k / 8 bytes */
  int16_t* llrs;                /* g */
  unsigned char* coded;         /* g bits */
  uint8_t* decoded[MOST_SEGMENTS];
  int16_t* soft[MOST_SEGMENTS];
  bool first[MOST_SEGMENTS];
  bool right[MOST_SEGMENTS];
  uint32_t right_count;
  decode_abort_t stop;
} block;

static int e_of(const shape* shape, int segment) {
  return shape->e + (segment >= shape->segments - shape->longer ? shape->qm : 0);
}

static void append_crc(uint8_t* data, uint32_t bits, int type) {
  extern int check_crc(uint8_t*, uint32_t, uint8_t);
  const uint32_t length = type == CRC16 ? 16 : 24;
  const uint32_t polynomial = type == CRC24_A   ? 0x864cfbU << 8
                              : type == CRC24_B ? 0x800063U << 8
                                                : 0x1021U << 16;
  uint32_t rest = 0;
  for (uint32_t i = 0; i < bits; ++i) {
    const uint32_t bit = (uint32_t)(data[i / 8] >> (7 - i % 8)) & 1U;
    rest = (rest << 1) ^ ((rest >> 31 ^ bit) != 0 ? polynomial : 0);
  }
  for (uint32_t i = 0; i < length / 8; ++i) data[bits / 8 + i] = (uint8_t)(rest >> (24 - 8 * i));
}

static void make_block(block* block, const shape* shape) {
  memset(block, 0, sizeof(*block));
  block->shape = shape;
  block->k = (uint32_t)((shape->bg == 1 ? 22 : 10) * shape->zc);
  const uint32_t k_prime = (uint32_t)shape->k_prime;
  const uint32_t c = (uint32_t)shape->segments;
  block->a = c > 1 ? (k_prime - 24) * c - 24 : k_prime - (k_prime - 24 > 3824 ? 24 : 16);
  for (int i = 0; i < shape->segments; ++i) {
    block->g += (uint32_t)e_of(shape, i);
    block->sent[i] = calloc(1, 8448);
    block->decoded[i] = malloc(8448);
    memset(block->decoded[i], 0xa5, 8448);
    block->soft[i] = calloc(68 * 384, sizeof(int16_t));
    const int type = c > 1 ? CRC24_B : block->a > 3824 ? CRC24_A : CRC16;
    const uint32_t bits = k_prime - (type == CRC16 ? 16 : 24);
    for (uint32_t j = 0; j < bits / 8; ++j) block->sent[i][j] = (uint8_t)(next_random() >> 32);
    append_crc(block->sent[i], bits, type);
  }
  block->llrs = malloc((block->g + 64) * sizeof(int16_t));
  block->coded = calloc(1, block->g / 8 + 256);
  init_abort(&block->stop);
}

static void free_block(block* block) {
  for (int i = 0; i < block->shape->segments; ++i) {
    free(block->sent[i]);
    free(block->decoded[i]);
    free(block->soft[i]);
  }
  free(block->llrs);
  free(block->coded);
}

static void encode(const library* library, block* blocks, int count, int rv) {
  nrLDPC_TB_encoding_parameters_t TBs[8] = {0};
  static _Thread_local nrLDPC_segment_encoding_parameters_t segments[8][MOST_SEGMENTS];
  memset(segments, 0, sizeof(segments));
  for (int i = 0; i < count; ++i) {
    const shape* const shape = blocks[i].shape;
    TBs[i] = (nrLDPC_TB_encoding_parameters_t){.Qm = (uint8_t)shape->qm,
                                               .BG = (uint8_t)shape->bg,
                                               .rv_index = (uint8_t)rv,
                                               .nb_layers = 1,
                                               .G = blocks[i].g,
                                               .tbslbrm = (uint32_t)shape->tbs_lbrm,
                                               .A = blocks[i].a,
                                               .Kb = shape->bg == 1 ? 22 : 10,
                                               .K = blocks[i].k,
                                               .Z = (uint32_t)shape->zc,
                                               .F = blocks[i].k - (uint32_t)shape->k_prime,
                                               .C = (uint32_t)shape->segments,
                                               .segments = segments[i],
                                               .output = blocks[i].coded};
    memset(blocks[i].coded, 0, blocks[i].g / 8 + 256);
    for (int j = 0; j < shape->segments; ++j) {
      segments[i][j].E = e_of(shape, j);
      segments[i][j].c = blocks[i].sent[j];
    }
  }
  nrLDPC_slot_encoding_parameters_t slot = {.nb_TBs = count, .TBs = TBs};
  library->nrLDPC_coding_encoder(&slot);
}

static void decode(const library* library, block* blocks, int count, int rv, int process) {
  nrLDPC_TB_decoding_parameters_t TBs[8] = {0};
  static _Thread_local nrLDPC_segment_decoding_parameters_t segments[8][MOST_SEGMENTS];
  memset(segments, 0, sizeof(segments));
  for (int i = 0; i < count; ++i) {
    const shape* const shape = blocks[i].shape;
    set_abort(&blocks[i].stop, false);
    TBs[i] = (nrLDPC_TB_decoding_parameters_t){.harq_unique_pid = (uint32_t)(process + i),
                                               .processedSegments = &blocks[i].right_count,
                                               .Qm = (uint8_t)shape->qm,
                                               .BG = (uint8_t)shape->bg,
                                               .rv_index = (uint8_t)rv,
                                               .nb_layers = 1,
                                               .max_ldpc_iterations = 8,
                                               .abort_decode = &blocks[i].stop,
                                               .G = blocks[i].g,
                                               .tbslbrm = (uint32_t)shape->tbs_lbrm,
                                               .A = blocks[i].a,
                                               .K = blocks[i].k,
                                               .Z = (uint32_t)shape->zc,
                                               .F = blocks[i].k - (uint32_t)shape->k_prime,
                                               .C = (uint32_t)shape->segments,
                                               .segments = segments[i]};
    int16_t* llrs = blocks[i].llrs;
    for (int j = 0; j < shape->segments; ++j) {
      segments[i][j].E = e_of(shape, j);
      segments[i][j].R = shape->bg == 1 ? 13 : 15;
      segments[i][j].llr = llrs;
      segments[i][j].d = blocks[i].soft[j];
      segments[i][j].d_to_be_cleared = &blocks[i].first[j];
      segments[i][j].c = blocks[i].decoded[j];
      llrs += e_of(shape, j);
    }
  }
  nrLDPC_slot_decoding_parameters_t slot = {.nb_TBs = count, .TBs = TBs};
  library->nrLDPC_coding_decoder(&slot);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < blocks[i].shape->segments; ++j) {
      blocks[i].right[j] = segments[i][j].decodeSuccess;
    }
  }
}

static void begin_process(block* block) {
  for (int i = 0; i < block->shape->segments; ++i) block->first[i] = true;
}

/* `coded` through noise; strength as OpenAirInterface's receivers have it. */
static void receive(block* block, double snr_db) {
  const double sigma = pow(10, -snr_db / 20);
  for (uint32_t i = 0; i < block->g; ++i) {
    const double bit = block->coded[i / 8] >> (i % 8) & 1 ? -1 : 1;
    const double llr = 24 * (bit + sigma * gauss());
    block->llrs[i] = (int16_t)lrint(fmax(-32000, fmin(32000, llr)));
  }
}

static bool is_whole(const block* block) {
  bool is_right = block->right_count == (uint32_t)block->shape->segments;
  for (int i = 0; i < block->shape->segments; ++i) {
    is_right =
        is_right && block->right[i] && memcmp(block->sent[i], block->decoded[i], block->k / 8) == 0;
  }
  return is_right;
}

#include "oai_slot_tests.h"

static bool load(library* library, const char* path) {
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  library->nrLDPC_coding_init = (nrLDPC_coding_init_t*)dlsym(handle, "nrLDPC_coding_init");
  library->nrLDPC_coding_shutdown =
      (nrLDPC_coding_shutdown_t*)dlsym(handle, "nrLDPC_coding_shutdown");
  library->nrLDPC_coding_decoder = (nrLDPC_coding_decoder_t*)dlsym(handle, "nrLDPC_coding_decoder");
  library->nrLDPC_coding_encoder = (nrLDPC_coding_encoder_t*)dlsym(handle, "nrLDPC_coding_encoder");
  return library->nrLDPC_coding_init() == 0;
}

int main(int argc, char** argv) {
  library ours;
  library theirs;
  if (argc < 3 || !load(&ours, argv[1]) || !load(&theirs, argv[2])) return EXIT_FAILURE;
  const int failed = argc > 3 ? run_for(&ours, &theirs, atof(argv[3])) : run_tests(&ours, &theirs);
  ours.nrLDPC_coding_shutdown();
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
