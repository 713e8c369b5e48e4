/* Encodes one code block of 5G NR, base graph 1, Zc 384, over the ring of the server whose
 * --shm-listen is the argument, and prints what came. With a second argument so many blocks, all at
 * once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basebandd.h"

enum {
  kZc = 384,
  kPayload = 22 * kZc / 8,
  kParity = 46 * kZc / 8,
  kReply = BASEBANDD_REPLY_BYTES(kParity, 1)
};

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, basebandd_error());
  return EXIT_FAILURE;
}

int main(int argc, char** argv) {
  const int blocks = argc > 2 ? atoi(argv[2]) : 1;
  basebandd_options options = {.memory_bytes = 4 << 20, .entries = 64, .spin_ns = 50000};
  basebandd_connection* server;
  if (argc < 2 || blocks < 1 || blocks > (int)options.entries) {
    fprintf(stderr, "usage: %s SOCKET [BLOCKS: 1 .. %u]\n", argv[0], options.entries);
    return EXIT_FAILURE;
  }
  if (basebandd_open(argv[1], &options, &server) < 0) return fail("open");

  /* What all blocks have in common, once: afterwards it is a number. */
  const basebandd_encode_group group = {.code = {.base_graph = 1, .zc = kZc}, .count = 1};
  char header[64];
  const int header_bytes = basebandd_describe_encode(&group, 1, header, sizeof(header));
  uint32_t job;
  if (header_bytes < 0 || basebandd_register(server, BASEBANDD_ENCODE, header, (size_t)header_bytes,
                                             kPayload, 1000000000, &job) < 0) {
    return fail("register");
  }

  for (int block = 0; block < blocks; ++block) {
    basebandd_request request = {.id = (uint64_t)block, .job = job};
    unsigned char* const payload = basebandd_loan(server, kPayload);
    request.payload = payload;
    request.payload_bytes = kPayload;
    request.reply = basebandd_loan(server, kReply);
    request.reply_bytes = kReply;
    if (payload == NULL || request.reply == NULL) return fail("loan");
    memset(payload, block + 1, kPayload);
    if (basebandd_submit(server, &request) < 0) return fail("submit");
  }

  for (int done = 0; done < blocks;) {
    basebandd_answer answer;
    if (basebandd_wait(server, -1) < 0) return fail("wait");
    const int answers = basebandd_poll(server, &answer, 1);
    if (answers < 0) return fail("poll");
    if (answers == 0) continue;
    ++done;
    if (answer.code != 0) {
      fprintf(stderr, "code %u: %.*s\n", answer.code, (int)answer.text_bytes, answer.text);
      return EXIT_FAILURE;
    }
    const unsigned char* const parity = answer.payload;
    printf("block %d: %zu bytes of parity, %02x %02x %02x ..\n", (int)answer.id,
           answer.payload_bytes, parity[0], parity[1], parity[2]);
    basebandd_give_back(server, answer.reply);
  }
  basebandd_close(server);
  return EXIT_SUCCESS;
}
