/* Baseband Offload for C: jobs to a basebandd of this host through memory that both map, without
 * gRPC, protobuf or C++. README.md has a program that encodes and decodes a block, and how bits and
 * LLRs lie in a payload; example.c beside it has many requests in flight.
 *
 *   basebandd_open        one connection to --shm-listen, one region of memory, one ring in it
 *   basebandd_loan        memory of the region: payloads and replies have to lie there
 *   basebandd_submit      a request on its way, without a system call where the server is awake
 *   basebandd_poll        answers that have come; never blocks
 *   basebandd_wait        until there is one
 *   basebandd_close
 *
 * Errors: a function that returns `int` returns a negative errno where something is wrong, and
 * basebandd_error() then says what: the field, its value and its range, or what the server said.
 *
 * Threads: one thread at a time may submit, and besides it one may poll and wait; neither waits for
 * the other. basebandd_call, _register and _forget do both, so no other thread may do either
 * meanwhile. Loans are taken and given back by any thread at any time; describing and reading needs
 * no connection. Nothing may run while a connection is closed. Different connections know nothing
 * of each other.
 *
 * A child that is forked has neither the memory nor the connection: a call returns -EBADF, touching
 * a loan is a fault, and the child should exec or close. Descriptors are closed by exec. No signal
 * is raised, and none ends a wait.
 *
 * Bulk data is laid out as the bytes fields of proto/baseband/v1/baseband.proto, the reference of
 * every number that is only named here. */
#ifndef BASEBANDD_H_
#define BASEBANDD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(BASEBANDD_BUILDS) && defined(__GNUC__)
#define BASEBANDD_API __attribute__((visibility("default")))
#else
#define BASEBANDD_API
#endif

/* Ranges of the region begin, and replies end, at multiples of this. */
#define BASEBANDD_ALIGNMENT 64U
#define BASEBANDD_MAX_ENTRIES 4096U

/* What went wrong in the calling thread's last call that failed; until its next one. */
BASEBANDD_API const char* basebandd_error(void);

/* ------------------------------------------------------------------------------- connections */

typedef struct basebandd_connection basebandd_connection;

/* All zeros: what stands after "0:". */
typedef struct basebandd_options {
  /* That can be on loan at a time: .. 64 GiB with the ring, and what the server grants
   * (--client-shm-mib); 0: 16 MiB. */
  uint64_t memory_bytes;
  uint32_t entries;  /* most requests in flight: a power of two, 1 .. 4096; 0: 256 */
  uint32_t reserved; /* 0 */
  uint64_t spin_ns;  /* how long a wait looks before it sleeps; UINT64_MAX: it never sleeps */
  uint64_t open_timeout_ns;  /* for each answer of the server while it opens; 0: 10 s */
  uint64_t reserved_more[4]; /* 0 */
} basebandd_options;

/* Connects to the socket `path` that the server was told as --shm-listen, with or without "unix:".
 * `options` may be null. Blocks for milliseconds, longer for gigabytes: the server page-locks them.
 *
 * -EINVAL: an option, or the path, is out of range, or the server says so; -ENOENT, -ECONNREFUSED,
 * -EACCES: no server that lets us in; -ENOMEM: quotas or memory are exhausted; -EPIPE: the server
 * left; -ETIMEDOUT; -EPROTO: what answers is no server that has rings; -EIO: what else the server
 * says. The process needs its /proc. */
BASEBANDD_API int basebandd_open(const char* path, const basebandd_options* options,
                                 basebandd_connection** connection);

/* The server's process, as GetCapabilities says it in shared_memory.server_id: 16 bytes. */
BASEBANDD_API void basebandd_server_id(const basebandd_connection* connection, uint8_t id[16]);

/* The memory is gone, loans and answers with it; requests that are in flight are dropped. Null is
 * no connection and is left alone. */
BASEBANDD_API void basebandd_close(basebandd_connection* connection);

/* ------------------------------------------------------------------------------------ memory */

/* `bytes` > 0 of the region, from a multiple of 64 on, and rounded up to one; what lies there is
 * anything. Null: no free piece is as large, or none ever will be. Takes a time that does not
 * depend on `bytes`, and on the number of loans only where no piece is left that is larger by an
 * eighth. */
BASEBANDD_API void* basebandd_loan(basebandd_connection* connection, size_t bytes);

/* `memory` is what a loan began with, or null. -EINVAL: it is no loan. Not before the answers have
 * come of all requests that use it. */
BASEBANDD_API int basebandd_give_back(basebandd_connection* connection, void* memory);

/* ---------------------------------------------------------------------------------- requests */

/* Fields of baseband.v1.SubmitRequest. */
enum basebandd_operation {
  BASEBANDD_ENCODE = 11,
  BASEBANDD_DECODE = 12,
  BASEBANDD_RECOVER_CARRIER = 13,
  BASEBANDD_DOWNCONVERT = 14,
  BASEBANDD_ENCODE_SHARED_CHANNEL = 15,
  BASEBANDD_DECODE_SHARED_CHANNEL = 16
};

enum basebandd_priority {
  BASEBANDD_PRIORITY_NORMAL = 0,
  BASEBANDD_PRIORITY_HIGH = 1,
  BASEBANDD_PRIORITY_LOW = 3
};

enum basebandd_kind {
  BASEBANDD_RUN = 0,
  BASEBANDD_REGISTER = 1, /* `header` and `operation` get a number: the answer's `value` */
  BASEBANDD_FORGET = 2    /* the number `job` is free */
};

/* Enough for an answer whose bytes fields, two at most, have `bulk_bytes` together, of `blocks`
 * code blocks, frames or channels: of a transport block all its code blocks count.
 * basebandd_size_... knows both of Encode and Decode. */
#define BASEBANDD_REPLY_BYTES(bulk_bytes, blocks) \
  (((uint64_t)(bulk_bytes) + 448U + 192U * (uint64_t)(blocks) + 63U) / 64U * 64U)

/* Zeros where nothing else is said. What to do is either a header with its operation, or a job. */
typedef struct basebandd_request {
  uint64_t id; /* the caller's, given back with the answer */
  /* The operation's request, serialized, without its payload: basebandd_describe_..., or protobuf.
   * In the region, from a multiple of 64 on, it is used where it lies until the answer; from
   * anywhere else it is copied to a loan of the library's. 0 .. 4 GiB - 1 bytes. */
  const void* header;
  size_t header_bytes;
  /* In the region, from a multiple of 64 on: the server's to read until the answer. Also 4 GiB - 1.
   * Of BASEBANDD_REGISTER: only how many bytes each submission will have; the pointer is null. */
  const void* payload;
  size_t payload_bytes;
  /* Where the answer goes: in the region, and a multiple of 64 bytes; the server's to write until
   * the answer. BASEBANDD_REPLY_BYTES says how much is enough; with less, the answer is code 11,
   * OUT_OF_RANGE, and nothing was done. */
  void* reply;
  size_t reply_bytes;
  /* When the answer is of no use any more: nanoseconds of CLOCK_MONOTONIC; 0: never. */
  uint64_t deadline_ns;
  uint32_t job;      /* a number that was registered */
  uint8_t kind;      /* basebandd_kind */
  uint8_t operation; /* basebandd_operation; of a header only */
  uint8_t priority;  /* basebandd_priority */
  /* 1, of a header that is run: it comes again and again, with a payload as large. From the second
   * time on the library has it registered, by a request of its own for which half of `entries` have
   * to be free, and submits its number as soon as there is one; one that the server does not register
   * goes along each time. A connection keeps 512 of them, of 60 KiB together, the latest; what is
   * over that goes along, too, until others have not come for a while. basebandd_in_flight counts the library's requests, too, and
   * basebandd_wait may return 1 for one, so that there is nothing to poll. */
  uint8_t repeats;
} basebandd_request;

/* Gives the server a request; what it points to, but a header that is copied, belongs to the server
 * until the answer has been polled. Returns 0.
 *
 * -EINVAL: a field is out of range; -EAGAIN: `entries` requests have not been polled yet; -ENOMEM:
 * no loan for a copy of the header; -EPIPE, -EPROTO: the connection has ended, see basebandd_wait.
 */
BASEBANDD_API int basebandd_submit(basebandd_connection* connection,
                                   const basebandd_request* request);

/* The same for `count` of them, in order, and the server is woken once at most. Returns how many
 * were taken, the first ones; if the very first was not, its error. */
BASEBANDD_API int basebandd_submit_many(basebandd_connection* connection,
                                        const basebandd_request* requests, size_t count);

/* Requests whose answers have not been polled. */
BASEBANDD_API uint32_t basebandd_in_flight(const basebandd_connection* connection);

/* ----------------------------------------------------------------------------------- answers */

/* What the pointers point to lies in the request's reply and stays until the caller uses that
 * again; `text` of an ended connection lasts as long as the connection. */
typedef struct basebandd_answer {
  uint64_t id;
  uint32_t code;     /* 0: done, or a canonical code of gRPC */
  uint32_t reserved; /* 0 */
  /* The first bytes field of the response: all there is, but with soft output, where it is `soft`.
   */
  const void* payload;
  size_t payload_bytes;
  /* The response without its bytes fields, serialized: basebandd_read_..., or protobuf. */
  const void* header;
  size_t header_bytes;
  /* Of another code than 0: why. Without a zero at its end: printf("%.*s"). */
  const char* text;
  size_t text_bytes;
  /* Of BASEBANDD_REGISTER: the job's number. Of code 8, RESOURCE_EXHAUSTED: after how many
   * microseconds to come back. Of code 11, OUT_OF_RANGE: how many bytes the reply has to have, for
   * there were too few, and nothing was done: at most 64 GiB, which may be more than this
   * connection has. Of codes 13 and 14, INTERNAL and UNAVAILABLE: 1 if the device was lost that
   * works on the request, which may write to `reply` even now: nothing else can lie there until
   * the connection is closed. */
  uint64_t value;
  void* reply; /* as in the request, and where in the region that is */
  size_t reply_bytes;
  uint64_t reply_offset;
} basebandd_answer;

/* Takes up to `max` answers that have come, in the order in which the server gave them, and returns
 * how many. No system call. Every range that the server names is inside its request's reply.
 *
 * After the connection has ended each request that was in flight is answered, once, with code 14,
 * UNAVAILABLE; whether it was done is not known. When there is none left: -EPIPE or -EPROTO. So who
 * polls and waits until all of his requests are answered comes to an end. */
BASEBANDD_API int basebandd_poll(basebandd_connection* connection, basebandd_answer* answers,
                                 size_t max);

/* Waits until there is an answer to be polled: 1; or `timeout_ns` has passed: 0; below 0, it never
 * does. Looks for `spin_ns`, then sleeps, also where the server wakes it over and over for nothing:
 * then it looks every millisecond. A time-out of 0 also looks whether the server is still
 * there: who only polls does that now and then.
 *
 * -EPIPE: the server has left, which a sleeper sees within 50 ms, or -EPROTO: it has written what
 * the protocol does not allow; and all that was in flight has been polled. The connection can only
 * be closed then. A server that broke the protocol may go on writing to replies until it is. */
BASEBANDD_API int basebandd_wait(basebandd_connection* connection, int64_t timeout_ns);

/* Submits `request` and waits for its answer. What else comes meanwhile is kept for basebandd_poll.
 * Returns 0, whatever the answer's code. The errors of basebandd_submit, and -ETIMEDOUT: then the
 * answer will be polled as any other. */
BASEBANDD_API int basebandd_call(basebandd_connection* connection, const basebandd_request* request,
                                 basebandd_answer* answer, int64_t timeout_ns);

/* ---------------------------------------------------------------------------- registered jobs */

/* Gives a request, a header of `operation` as in basebandd_request, with payloads of
 * `payload_bytes`, a number, so that nothing of it is sent and parsed again. The payload itself,
 * reply, deadline and priority are each submission's. Small ones of one number that are submitted
 * together cost the least: they go through the server as one, where their deadlines are within
 * 20 us, of which the earliest counts. Numbers are the connection's and end with it. The errors of
 * basebandd_call; -EINVAL and others as of basebandd_open: what the server says. After -ETIMEDOUT
 * the server may have a number that nobody knows. */
BASEBANDD_API int basebandd_register(basebandd_connection* connection, uint8_t operation,
                                     const void* header, size_t header_bytes, size_t payload_bytes,
                                     int64_t timeout_ns, uint32_t* job);
/* Requests that were submitted before still run. */
BASEBANDD_API int basebandd_forget(basebandd_connection* connection, uint32_t job,
                                   int64_t timeout_ns);

/* -------------------------------------------------------------------------- describing requests */

/* Fields are those of the message named, with its units, ranges and meanings of 0, which README.md
 * lists; the server checks them. A basebandd_describe_... function writes the request of `count`
 * groups to `to` and returns its bytes, also when `to` is null and `room` 0. -ENOSPC: there are
 * more than `room`; -EINVAL: there are no groups, or there is no `harq_key` where it has bytes. */

/* NrCode, and LdpcCode.parity_rows. */
typedef struct basebandd_nr_code {
  uint32_t base_graph; /* 1 or 2 */
  uint32_t zc;         /* 2 .. 384 */
  uint32_t parity_rows;
} basebandd_nr_code;

enum basebandd_encode_output {
  BASEBANDD_OUTPUT_PARITY = 1,
  BASEBANDD_OUTPUT_CODEWORD = 2,
  BASEBANDD_OUTPUT_FULL_CODEWORD = 3
};

typedef struct basebandd_encode_group { /* EncodeGroup */
  basebandd_nr_code code;
  uint32_t count;
  uint32_t n_filler;
  uint32_t output; /* basebandd_encode_output */
} basebandd_encode_group;

typedef struct basebandd_decode_group { /* DecodeGroup */
  basebandd_nr_code code;
  uint32_t count;
  uint32_t n_filler;
  uint32_t llr_count;
  uint32_t algorithm; /* DecodeAlgorithm */
  uint32_t schedule;  /* DecodeSchedule */
  uint32_t max_iterations;
  uint32_t fixed_iterations; /* 0 or 1 */
  uint32_t soft_output;      /* 0 or 1 */
  float scale_factor;
  float llr_scale;
} basebandd_decode_group;

/* SharedChannelBlock: a transport block, or, with `is_code_block`, a code block alone. */
typedef struct basebandd_shared_channel_block {
  uint32_t is_code_block; /* 0 or 1 */
  uint32_t base_graph;
  uint32_t tb_bytes; /* TransportBlock: */
  float code_rate;
  uint32_t g;
  uint32_t tbs_lbrm;
  uint32_t zc; /* CodeBlock: */
  uint32_t n_filler;
  uint32_t n_cb;
  uint32_t e;
  uint32_t crc; /* CodeBlockCrc */
  uint32_t rv;  /* both: */
  uint32_t qm;
  uint32_t layers;
  uint32_t is_scrambled; /* 0: c_init is absent */
  uint32_t c_init;
} basebandd_shared_channel_block;

typedef struct basebandd_encode_shared_channel_group { /* EncodeSharedChannelGroup */
  basebandd_shared_channel_block block;
  uint32_t count;
  uint32_t output; /* SharedChannelOutput */
  float scale;
} basebandd_encode_shared_channel_group;

typedef struct basebandd_decode_shared_channel_group { /* DecodeSharedChannelGroup */
  basebandd_shared_channel_block block;
  uint32_t count;
  uint32_t input; /* SharedChannelInput */
  float llr_scale;
  float symbol_scale;
  uint32_t has_noise_variance; /* 0: it is absent */
  float noise_variance;
  uint32_t log_sum; /* 0 or 1 */
  uint32_t max_iterations;
  float scale_factor;
  uint32_t early_stop; /* EarlyStop */
  uint32_t has_harq;   /* 0: what follows is absent */
  uint32_t harq_soft_in;
  uint32_t harq_soft_out;
  uint32_t harq_key_bytes;
  const void* harq_key;
  uint32_t harq_transmission;
  uint32_t harq_block;
  uint32_t harq_llr_size;
  uint32_t reserved; /* 0 */
} basebandd_decode_shared_channel_group;

BASEBANDD_API int basebandd_describe_encode(const basebandd_encode_group* groups, size_t count,
                                            void* to, size_t room);
BASEBANDD_API int basebandd_describe_decode(const basebandd_decode_group* groups, size_t count,
                                            void* to, size_t room);
BASEBANDD_API int basebandd_describe_encode_shared_channel(
    const basebandd_encode_shared_channel_group* groups, size_t count, void* to, size_t room);
BASEBANDD_API int basebandd_describe_decode_shared_channel(
    const basebandd_decode_shared_channel_group* groups, size_t count, void* to, size_t room);

/* CodeBlockCrc. */
enum basebandd_crc_kind { BASEBANDD_CRC_24A = 1, BASEBANDD_CRC_24B = 2, BASEBANDD_CRC_16 = 3 };

/* The CRC of 38.212, clause 5.1, of `bits` bits, of which the first is the uppermost of a byte:
 * what is attached to them. 0 of bits whose last ones are their CRC, and of a `crc` that is none of these. */
BASEBANDD_API uint32_t basebandd_crc(uint32_t crc, const void* data, size_t bits);

/* What a request and its answer take. */
typedef struct basebandd_sizes {
  uint64_t payload_bytes; /* that the request's payload has, exactly */
  uint64_t reply_bytes;   /* enough for `reply` */
} basebandd_sizes;

/* Of the request that basebandd_describe_encode or _decode describes. Returns 0; -EINVAL: a field
 * is out of range, there are no groups, or blocks that 32 bits cannot count. That zc is a lifting
 * size, and whether the server takes as much, it says itself. */
BASEBANDD_API int basebandd_size_encode(const basebandd_encode_group* groups, size_t count,
                                        basebandd_sizes* sizes);
BASEBANDD_API int basebandd_size_decode(const basebandd_decode_group* groups, size_t count,
                                        basebandd_sizes* sizes);

/* ------------------------------------------------------------------------------ reading answers */

/* Of an answer of code 0, before its reply is used again. -EBADMSG: its header is no such response.
 * Safe on any bytes, also while they change. */

typedef struct basebandd_code_block_result {
  uint32_t iterations;
  uint8_t parity_ok; /* the decided bits, with zeros for fillers, satisfy all parity checks */
  uint8_t crc_ok;    /* of DecodeSharedChannel */
  uint8_t reserved[2];
} basebandd_code_block_result;

typedef struct basebandd_block_result { /* SharedChannelResult */
  uint32_t code_blocks;
  uint32_t unusable;
  uint8_t crc_ok;
  uint8_t harq; /* HarqOutcome */
  uint8_t reserved[2];
} basebandd_block_result;

/* Of Decode: writes the results of the first `room` blocks, and returns how many blocks there are.
 */
BASEBANDD_API int basebandd_read_decode(const basebandd_answer* answer,
                                        basebandd_code_block_result* results, size_t room);

/* Of DecodeSharedChannel: the same of its blocks, and of the code blocks of all of them, in order,
 * of which `num_code_blocks`, if not null, receives the number. */
BASEBANDD_API int basebandd_read_decode_shared_channel(
    const basebandd_answer* answer, basebandd_block_result* blocks, size_t blocks_room,
    basebandd_code_block_result* code_blocks, size_t code_blocks_room, size_t* num_code_blocks);

/* The bytes field `field` of any response (payload: 15, soft: 14), as `placed` says where it is.
 * -ENOENT: there is none, or it is empty. */
BASEBANDD_API int basebandd_read_placed(const basebandd_answer* answer, uint32_t field,
                                        const void** data, size_t* bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BASEBANDD_H_ */
