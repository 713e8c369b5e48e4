/* What the bbdev driver adds to the ring that it drives. Needs a running basebandd, and DPDK.
 *
 *   bbdev_bench SOCKET DRIVER SECONDS      DRIVER: librte_baseband_offload.so
 *
 * One code block of base graph 1, Zc 384, to be encoded, or decoded from LLRs without noise:
 * straight through the ring, by a job with a number whose payload lies there, and through DPDK,
 * from mbuf to mbuf. One alone, from submission to answer, then 32 at a time; the two in turn, so
 * that what the host does meanwhile meets both. Every answer is compared. */
#include <rte_bbdev.h>
#include <rte_bbdev_op.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/bbdev/work.h"

enum { kInFlight = 32, kRounds = 10, kMaxSamples = 4000000, kZc = 384, kBits = 22 * kZc };

static void check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "bbdev_bench: %s: %s\n", what, basebandd_error());
  exit(EXIT_FAILURE);
}

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* What both ways do: an operation of `shape` with this payload has this answer. */
typedef struct bench_work {
  const char* name;
  bb_shape shape;
  uint8_t* payload;
  uint32_t payload_bytes;
  uint8_t* answer;
  uint32_t answer_bytes;
} bench_work;

typedef struct bench_samples {
  double us[kMaxSamples];
  size_t count;
  uint64_t done; /* 32 at a time: operations .. */
  uint64_t ns;   /* .. and how long they took */
} bench_samples;

/* ---------------------------------------------------------------------------------- by the ring */

typedef struct bench_ring {
  basebandd_connection* server;
  basebandd_request requests[kInFlight];
} bench_ring;

static void open_ring(bench_ring* to, const char* socket) {
  const basebandd_options options = {.memory_bytes = 16 << 20, .spin_ns = UINT64_MAX};
  check(basebandd_open(socket, &options, &to->server) == 0, socket);
}

static void use_ring(bench_ring* ring, const bench_work* work) {
  uint8_t header[BB_HEADER_BYTES];
  const int bytes = bb_describe(&work->shape, header, sizeof(header));
  uint32_t job;
  check(bytes > 0 && basebandd_register(ring->server, work->shape.operation, header, (size_t)bytes,
                                        work->payload_bytes, 1000000000, &job) == 0,
        "register");
  for (uint64_t i = 0; i < kInFlight; ++i) {
    basebandd_request* const request = &ring->requests[i];
    void* const payload = basebandd_loan(ring->server, work->payload_bytes);
    *request = (basebandd_request){.id = i,
                                   .payload = payload,
                                   .payload_bytes = work->payload_bytes,
                                   .reply_bytes = bb_reply_bytes(&work->shape),
                                   .job = job};
    request->reply = basebandd_loan(ring->server, request->reply_bytes);
    check(payload != NULL && request->reply != NULL, "loan");
    memcpy(payload, work->payload, work->payload_bytes);
  }
}

static int take_from_ring(bench_ring* ring, const bench_work* work, uint64_t* ids) {
  basebandd_answer answers[kInFlight];
  const int count = basebandd_poll(ring->server, answers, kInFlight);
  check(count >= 0, "poll");
  for (int i = 0; i < count; ++i) {
    check(answers[i].code == 0 && answers[i].payload_bytes == work->answer_bytes &&
              memcmp(answers[i].payload, work->answer, work->answer_bytes) == 0,
          "the ring's answer is wrong");
    ids[i] = answers[i].id;
  }
  return count;
}

static void ring_alone(bench_ring* ring, const bench_work* work, double seconds,
                       bench_samples* to) {
  uint64_t ids[kInFlight];
  const uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
  for (uint64_t begin = now_ns(); begin < end && to->count < kMaxSamples; begin = now_ns()) {
    check(basebandd_submit(ring->server, &ring->requests[0]) == 0, "submit");
    while (take_from_ring(ring, work, ids) == 0) {
    }
    to->us[to->count++] = (double)(now_ns() - begin) / 1e3;
  }
}

static void ring_together(bench_ring* ring, const bench_work* work, double seconds,
                          bench_samples* to) {
  uint64_t ids[kInFlight];
  const uint64_t begin = now_ns();
  const uint64_t end = begin + (uint64_t)(seconds * 1e9);
  check(basebandd_submit_many(ring->server, ring->requests, kInFlight) == kInFlight, "submit");
  for (uint32_t in_flight = kInFlight; in_flight > 0;) {
    const int count = take_from_ring(ring, work, ids);
    to->done += (uint64_t)count;
    const bool is_over = now_ns() >= end;
    if (is_over) in_flight -= (uint32_t)count;
    if (is_over || count == 0) continue;
    basebandd_request next[kInFlight];
    for (int i = 0; i < count; ++i) next[i] = ring->requests[ids[i]];
    check(basebandd_submit_many(ring->server, next, (size_t)count) == count, "submit");
  }
  to->ns += now_ns() - begin;
}

/* --------------------------------------------------------------------------------------- by DPDK
 */

typedef struct bench_device {
  struct rte_mempool* mbufs;
  struct rte_mempool* encode_ops;
  struct rte_mempool* decode_ops;
  void* ops[kInFlight];
  bool is_decode;
} bench_device;

static void start_eal(const char* program, const char* socket, const char* driver) {
  char vdev[256];
  (void)snprintf(vdev, sizeof(vdev), "--vdev=baseband_offload0,socket=%s", socket);
  char* arguments[] = {(char*)program,
                       (char*)"--no-huge",
                       (char*)"--no-pci",
                       (char*)"--no-shconf",
                       (char*)"--no-telemetry",
                       (char*)"-m",
                       (char*)"64",
                       (char*)"-l",
                       (char*)"0",
                       (char*)"-d",
                       (char*)driver,
                       vdev};
  check(rte_eal_init((int)RTE_DIM(arguments), arguments) >= 0, "rte_eal_init");
  check(rte_bbdev_count() == 1, "there is no bbdev device");
}

static void start_device(bench_device* device) {
  check(rte_bbdev_setup_queues(0, 2, 0) == 0, "rte_bbdev_setup_queues");
  struct rte_bbdev_queue_conf conf = {.queue_size = 64, .op_type = RTE_BBDEV_OP_LDPC_ENC};
  check(rte_bbdev_queue_configure(0, 0, &conf) == 0, "rte_bbdev_queue_configure");
  conf.op_type = RTE_BBDEV_OP_LDPC_DEC;
  check(rte_bbdev_queue_configure(0, 1, &conf) == 0, "rte_bbdev_queue_configure");
  check(rte_bbdev_start(0) == 0, "rte_bbdev_start");
  device->mbufs = rte_pktmbuf_pool_create("mbufs", 4 * kInFlight - 1, 0, 0, 32768, 0);
  device->encode_ops = rte_bbdev_op_pool_create("enc", RTE_BBDEV_OP_LDPC_ENC, 127, 0, 0);
  device->decode_ops = rte_bbdev_op_pool_create("dec", RTE_BBDEV_OP_LDPC_DEC, 127, 0, 0);
  check(device->mbufs != NULL && device->encode_ops != NULL && device->decode_ops != NULL,
        "there is no memory for pools");
}

static struct rte_bbdev_op_data data_of(struct rte_mempool* pool, const bench_work* work) {
  struct rte_bbdev_op_data data = {.data = rte_pktmbuf_alloc(pool)};
  check(data.data != NULL, "rte_pktmbuf_alloc");
  if (work == NULL) return data;
  memcpy(rte_pktmbuf_append(data.data, (uint16_t)work->payload_bytes), work->payload,
         work->payload_bytes);
  data.length = work->payload_bytes;
  return data;
}

static void use_device(bench_device* device, const bench_work* work) {
  const bb_shape* const shape = &work->shape;
  device->is_decode = shape->operation == BASEBANDD_DECODE_SHARED_CHANNEL;
  for (int i = 0; i < kInFlight; ++i) {
    if (device->is_decode) {
      struct rte_bbdev_dec_op* op;
      check(rte_bbdev_dec_op_alloc_bulk(device->decode_ops, &op, 1) == 0, "op");
      op->ldpc_dec =
          (struct rte_bbdev_op_ldpc_dec){.input = data_of(device->mbufs, work),
                                         .hard_output = data_of(device->mbufs, NULL),
                                         .op_flags = RTE_BBDEV_LDPC_ITERATION_STOP_ENABLE,
                                         .iter_max = shape->max_iterations,
                                         .basegraph = shape->base_graph,
                                         .z_c = shape->zc,
                                         .n_cb = (uint16_t)shape->n_cb,
                                         .q_m = shape->qm,
                                         .code_block_mode = RTE_BBDEV_CODE_BLOCK,
                                         .cb_params.e = shape->e_a};
      device->ops[i] = op;
    } else {
      struct rte_bbdev_enc_op* op;
      check(rte_bbdev_enc_op_alloc_bulk(device->encode_ops, &op, 1) == 0, "op");
      op->ldpc_enc = (struct rte_bbdev_op_ldpc_enc){.input = data_of(device->mbufs, work),
                                                    .output = data_of(device->mbufs, NULL),
                                                    .op_flags = RTE_BBDEV_LDPC_RATE_MATCH,
                                                    .basegraph = shape->base_graph,
                                                    .z_c = shape->zc,
                                                    .n_cb = (uint16_t)shape->n_cb,
                                                    .q_m = shape->qm,
                                                    .code_block_mode = RTE_BBDEV_CODE_BLOCK,
                                                    .cb_params.e = shape->e_a};
      device->ops[i] = op;
    }
  }
}

static void leave_device(bench_device* device) {
  for (int i = 0; i < kInFlight; ++i) {
    if (device->is_decode) {
      struct rte_bbdev_dec_op* op = device->ops[i];
      rte_pktmbuf_free(op->ldpc_dec.input.data);
      rte_pktmbuf_free(op->ldpc_dec.hard_output.data);
      rte_bbdev_dec_op_free_bulk(&op, 1);
    } else {
      struct rte_bbdev_enc_op* op = device->ops[i];
      rte_pktmbuf_free(op->ldpc_enc.input.data);
      rte_pktmbuf_free(op->ldpc_enc.output.data);
      rte_bbdev_enc_op_free_bulk(&op, 1);
    }
  }
}

static uint16_t put_on_device(const bench_device* device, void** ops, uint16_t count) {
  return device->is_decode
             ? rte_bbdev_enqueue_ldpc_dec_ops(0, 1, (struct rte_bbdev_dec_op**)ops, count)
             : rte_bbdev_enqueue_ldpc_enc_ops(0, 0, (struct rte_bbdev_enc_op**)ops, count);
}

static uint16_t take_from_device(const bench_device* device, const bench_work* work, void** ops) {
  const uint16_t count =
      device->is_decode
          ? rte_bbdev_dequeue_ldpc_dec_ops(0, 1, (struct rte_bbdev_dec_op**)ops, kInFlight)
          : rte_bbdev_dequeue_ldpc_enc_ops(0, 0, (struct rte_bbdev_enc_op**)ops, kInFlight);
  for (uint16_t i = 0; i < count; ++i) {
    struct rte_mbuf* const mbuf =
        device->is_decode ? ((struct rte_bbdev_dec_op*)ops[i])->ldpc_dec.hard_output.data
                          : ((struct rte_bbdev_enc_op*)ops[i])->ldpc_enc.output.data;
    check(*(int*)ops[i] == 0 && mbuf->data_len == work->answer_bytes && /* status */
              memcmp(rte_pktmbuf_mtod(mbuf, void*), work->answer, work->answer_bytes) == 0,
          "the device's answer is wrong");
  }
  return count;
}

static void device_alone(bench_device* device, const bench_work* work, double seconds,
                         bench_samples* to) {
  void* ops[kInFlight];
  const uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
  for (uint64_t begin = now_ns(); begin < end && to->count < kMaxSamples; begin = now_ns()) {
    check(put_on_device(device, device->ops, 1) == 1, "enqueue");
    while (take_from_device(device, work, ops) == 0) {
    }
    to->us[to->count++] = (double)(now_ns() - begin) / 1e3;
  }
}

static void device_together(bench_device* device, const bench_work* work, double seconds,
                            bench_samples* to) {
  void* ops[kInFlight];
  const uint64_t begin = now_ns();
  const uint64_t end = begin + (uint64_t)(seconds * 1e9);
  check(put_on_device(device, device->ops, kInFlight) == kInFlight, "enqueue");
  for (uint32_t in_flight = kInFlight; in_flight > 0;) {
    const uint16_t count = take_from_device(device, work, ops);
    to->done += count;
    if (now_ns() >= end) {
      in_flight -= count;
    } else if (count > 0) {
      check(put_on_device(device, ops, count) == count, "enqueue");
    }
  }
  to->ns += now_ns() - begin;
}

/* ----------------------------------------------------------------------------------------- both */

static int by_size(const void* a, const void* b) {
  const double left = *(const double*)a;
  const double right = *(const double*)b;
  return (left > right) - (left < right);
}

static double percentile(bench_samples* samples, double share) {
  check(samples->count > 0, "SECONDS is too short");
  return samples->us[(size_t)(share * (double)(samples->count - 1))];
}

static void compare(bench_ring* ring, bench_device* device, const bench_work* work,
                    double seconds) {
  static bench_samples results[2];
  memset(results, 0, sizeof(results));
  use_ring(ring, work);
  use_device(device, work);
  const double slice = seconds / (4 * kRounds);
  for (int round = 0; round < kRounds; ++round) {
    ring_alone(ring, work, slice, &results[0]);
    device_alone(device, work, slice, &results[1]);
    ring_together(ring, work, slice, &results[0]);
    device_together(device, work, slice, &results[1]);
  }
  for (int i = 0; i < 2; ++i) {
    qsort(results[i].us, results[i].count, sizeof(double), by_size);
    const double rate = (double)results[i].done / (double)results[i].ns * 1e9;
    printf("%-16s  %-5s  %9zu  %7.1f  %7.1f  %9.0f  %8.2f\n", work->name, i == 0 ? "ring" : "bbdev",
           results[i].count, percentile(&results[i], 0.5), percentile(&results[i], 0.99), rate,
           rate * kBits / 1e9);
  }
  leave_device(device);
}

/* Random bits, and the code word that the server makes of them; then that as LLRs. */
static void make_work(bench_ring* ring, uint32_t e, bench_work* encode, bench_work* decode) {
  const bb_shape shape = {.count_a = 1,
                          .e_a = e,
                          .n_cb = 66 * kZc,
                          .zc = kZc,
                          .operation = BASEBANDD_ENCODE_SHARED_CHANNEL,
                          .base_graph = 1,
                          .qm = 2};
  *encode = (bench_work){.shape = shape, .payload_bytes = kBits / 8, .answer_bytes = e / 8};
  *decode = (bench_work){.shape = shape, .payload_bytes = e, .answer_bytes = kBits / 8};
  decode->shape.operation = BASEBANDD_DECODE_SHARED_CHANNEL;
  decode->shape.max_iterations = 10;
  encode->payload = malloc(encode->payload_bytes);
  encode->answer = malloc(encode->answer_bytes);
  decode->payload = malloc(decode->payload_bytes);
  check(encode->payload != NULL && encode->answer != NULL && decode->payload != NULL, "malloc");
  srand(1);
  for (uint32_t i = 0; i < encode->payload_bytes; ++i) encode->payload[i] = (uint8_t)(rand() >> 7);
  use_ring(ring, encode);
  basebandd_answer answer;
  check(basebandd_call(ring->server, &ring->requests[0], &answer, -1) == 0 && answer.code == 0 &&
            answer.payload_bytes == encode->answer_bytes,
        "encode");
  memcpy(encode->answer, answer.payload, encode->answer_bytes);
  for (uint32_t i = 0; i < e; ++i) {
    decode->payload[i] = (uint8_t)(encode->answer[i / 8] >> (7 - i % 8) & 1 ? -20 : 20);
  }
  decode->answer = encode->payload;
}

int main(int argc, char** argv) {
  if (argc != 4 || atof(argv[3]) <= 0) {
    fprintf(stderr, "usage: %s SOCKET DRIVER SECONDS\n", argv[0]);
    return EXIT_FAILURE;
  }
  const double seconds = atof(argv[3]);
  static bench_ring ring;
  static bench_device device;
  open_ring(&ring, argv[1]);
  start_eal(argv[0], argv[1], argv[2]);
  start_device(&device);
  printf("operation         way      samples   p50 us   p99 us  32: ops/s  32: Gb/s\n");
  static const struct {
    uint32_t e;
    const char* encode;
    const char* decode;
  } kRates[] = {{25344, "Encode, R=1/3", "Decode, R=1/3"},
                {9216, "Encode, R=0.917", "Decode, R=0.917"}};
  for (size_t i = 0; i < RTE_DIM(kRates); ++i) {
    bench_work encode;
    bench_work decode;
    make_work(&ring, kRates[i].e, &encode, &decode);
    encode.name = kRates[i].encode;
    decode.name = kRates[i].decode;
    compare(&ring, &device, &encode, seconds);
    compare(&ring, &device, &decode, seconds);
  }
  (void)rte_bbdev_close(0);
  return EXIT_SUCCESS;
}
