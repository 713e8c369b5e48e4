/* Operations in and out of a queue. */
#include <errno.h>
#include <rte_cycles.h>
#include <stdlib.h>
#include <string.h>

#include "client/bbdev/checks.h"
#include "client/bbdev/log.h"
#include "client/bbdev/queue_state.h"

#define BATCH 64U   /* requests that are submitted together */
#define ANSWERS 32U /* taken at a time */
enum {
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kOutOfRange = 11,
  kInternal = 13,
  kUnavailable = 14
};

typedef struct bb_batch {
  basebandd_request requests[BATCH];
  uint32_t count;
  uint64_t deadline_ns;
} bb_batch;

/* What went wrong with an operation: a line a second. */
static void complain_of(bb_queue* queue, const char* text, size_t bytes) {
  const uint64_t now = rte_get_timer_cycles();
  if (now < queue->next_complaint) {
    ++queue->untold;
    return;
  }
  queue->next_complaint = now + rte_get_timer_hz();
  BB_LOG(WARNING, "queue %u: %.*s (and %u that are not told)\n", queue->id, (int)bytes, text,
         queue->untold);
  queue->untold = 0;
}

static void complain(bb_queue* queue, const char* text) { complain_of(queue, text, strlen(text)); }

static struct rte_bbdev_op_ldpc_dec* decode_of(const bb_slot* slot) {
  return &((struct rte_bbdev_dec_op*)slot->op)->ldpc_dec;
}

static struct rte_bbdev_op_ldpc_enc* encode_of(const bb_slot* slot) {
  return &((struct rte_bbdev_enc_op*)slot->op)->ldpc_enc;
}

void bb_fail(bb_queue* queue, bb_slot* slot, int status) {
  slot->status = status;
  slot->is_done = true;
  if (slot->is_decode) {
    slot->status |= 1 << RTE_BBDEV_CRC_ERROR;
    bb_decode_fail(decode_of(slot), &slot->shape, queue->harq);
  } else {
    bb_encode_fail(encode_of(slot), &slot->shape);
  }
}

static void fail_for(bb_queue* queue, bb_slot* slot, int status, const char* why) {
  complain(queue, why);
  bb_fail(queue, slot, status);
}

/* ------------------------------------------------------------------------------------ enqueueing
 */

static void submit(bb_queue* queue, bb_batch* batch) {
  if (batch->count == 0) return;
  const int taken = basebandd_submit_many(queue->server, batch->requests, batch->count);
  for (uint32_t i = taken < 0 ? 0 : (uint32_t)taken; i < batch->count; ++i) {
    bb_slot* const refused = &queue->slots[batch->requests[i].id];
    (void)basebandd_give_back(queue->server, refused->payload);
    (void)basebandd_give_back(queue->server, refused->reply);
    fail_for(queue, refused, BB_DRIVER_ERROR, basebandd_error());
  }
  batch->count = 0;
}

static const char* fill(const bb_queue* queue, const bb_slot* slot) {
  return slot->is_decode ? bb_decode_fill(decode_of(slot), &slot->shape, queue->harq, slot->payload)
                         : bb_encode_fill(encode_of(slot), &slot->shape, slot->payload);
}

/* Begins the operation in the free slot `index`, or ends it at once. False: there is no memory for
 * it until others have ended. */
static bool begin(bb_queue* queue, uint32_t index, bool is_decode, void* op, bb_batch* batch) {
  bb_slot* const slot = bb_slot_of(queue, index);
  slot->op = op;
  slot->is_decode = is_decode;
  slot->is_done = false;
  if (is_decode &&
      bb_has(decode_of(slot)->op_flags, RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_LOOPBACK)) {
    slot->status = bb_harq_loopback(decode_of(slot), queue->harq);
    slot->is_done = true;
    if (slot->status != 0) {
      slot->status |= 1 << RTE_BBDEV_CRC_ERROR;
      complain(queue, "loopback is not between an mbuf and HARQ memory that is there");
    }
    return true;
  }
  if (queue->is_stale) return false;
  const char* wrong = is_decode ? bb_decode_shape(decode_of(slot), &slot->shape)
                                : bb_encode_shape(encode_of(slot), &slot->shape);
  if (wrong != NULL) {
    slot->shape = (bb_shape){0};
    fail_for(queue, slot, BB_DATA_ERROR, wrong);
    return true;
  }
  if (queue->server == NULL) {
    bb_fail(queue, slot, BB_DRIVER_ERROR);
    return true;
  }
  const uint64_t payload_bytes = bb_payload_bytes(&slot->shape);
  const uint64_t header_at = RTE_ALIGN_CEIL(payload_bytes, (uint64_t)BASEBANDD_ALIGNMENT);
  const uint64_t reply_bytes = bb_reply_bytes(&slot->shape);
  slot->payload = basebandd_loan(queue->server, header_at + BB_HEADER_BYTES);
  slot->reply = slot->payload == NULL ? NULL : basebandd_loan(queue->server, reply_bytes);
  if (slot->reply == NULL) {
    if (slot->payload != NULL) (void)basebandd_give_back(queue->server, slot->payload);
    if (queue->head != index) {
      (void)atomic_fetch_add_explicit(&queue->refused, 1, memory_order_relaxed);
      return false;
    }
    fail_for(queue, slot, BB_DRIVER_ERROR,
             "the operation does not fit into the queue's memory_mib");
    return true;
  }
  wrong = fill(queue, slot);
  if (wrong != NULL) {
    (void)basebandd_give_back(queue->server, slot->payload);
    (void)basebandd_give_back(queue->server, slot->reply);
    fail_for(queue, slot, BB_DATA_ERROR, wrong);
    return true;
  }
  void* const header = (uint8_t*)slot->payload + header_at;
  const int header_bytes = bb_describe(&slot->shape, header, BB_HEADER_BYTES);
  batch->requests[batch->count++] = (basebandd_request){.id = index & (queue->size - 1),
                                                        .header = header,
                                                        .header_bytes = (size_t)header_bytes,
                                                        .payload = slot->payload,
                                                        .payload_bytes = payload_bytes,
                                                        .reply = slot->reply,
                                                        .reply_bytes = reply_bytes,
                                                        .deadline_ns = batch->deadline_ns,
                                                        .operation = slot->shape.operation,
                                                        .priority = queue->priority,
                                                        .repeats = 1};
  if (batch->count == BATCH) submit(queue, batch);
  return true;
}

static uint64_t deadline_of(const bb_queue* queue) {
  const uint64_t deadline_us = queue->arguments->deadline_us;
  return deadline_us == 0 ? 0 : bb_now_ns() + deadline_us * 1000U;
}

static uint16_t enqueue(struct rte_bbdev_queue_data* data, bool is_decode, void** ops,
                        uint16_t count) {
  bb_queue* const queue = data->queue_private;
  rte_spinlock_lock(&queue->lock);
  bb_renew(queue);
  bb_batch batch;
  batch.count = 0;
  batch.deadline_ns = deadline_of(queue);
  if (queue->head == queue->tail) queue->watched_since = rte_get_timer_cycles();
  uint16_t taken = 0;
  data->enqueue_status = RTE_BBDEV_ENQ_STATUS_NONE;
  for (; taken < count; ++taken, ++queue->tail) {
    if (queue->tail - queue->head == queue->size) {
      data->enqueue_status = RTE_BBDEV_ENQ_STATUS_QUEUE_FULL;
      break;
    }
    if (!begin(queue, queue->tail, is_decode, ops[taken], &batch)) {
      data->enqueue_status = RTE_BBDEV_ENQ_STATUS_RING_FULL;
      break;
    }
  }
  submit(queue, &batch);
  rte_spinlock_unlock(&queue->lock);
  data->queue_stats.enqueued_count += taken;
  data->queue_stats.enqueue_err_count += count - taken;
  if (taken < count) ++data->queue_stats.enqueue_status_count[data->enqueue_status];
  return taken;
}

/* ------------------------------------------------------------------------------------ dequeueing
 */

/* The status of an operation whose answer has code 0. */
static int read_answer(bb_queue* queue, const bb_slot* slot, const basebandd_answer* answer) {
  return slot->is_decode ? bb_decode_finish(decode_of(slot), &slot->shape, queue->harq, answer)
                         : bb_encode_finish(encode_of(slot), &slot->shape, answer);
}

static void finish(bb_queue* queue, bb_slot* slot, const basebandd_answer* answer) {
  if (answer->code == 0) {
    slot->is_done = true;
    slot->status = read_answer(queue, slot, answer);
    if (slot->status < 0) {
      fail_for(queue, slot, BB_DRIVER_ERROR, "the server's answer is not one of the request");
    } else if (slot->status & BB_DATA_ERROR) {
      if (slot->is_decode) slot->status |= 1 << RTE_BBDEV_CRC_ERROR;
      complain(queue, "an output has no mbuf, no room in it, or an address beyond harq_mib");
    }
  } else {
    if (answer->code == kDeadlineExceeded) {
      complain(queue, "later than deadline_us allows");
    } else {
      complain_of(queue, answer->text, answer->text_bytes);
    }
    bb_fail(queue, slot,
            answer->code == kInvalidArgument || answer->code == kOutOfRange ? BB_DATA_ERROR
                                                                            : BB_DRIVER_ERROR);
  }
  (void)basebandd_give_back(queue->server, slot->payload);
  if ((answer->code == kInternal || answer->code == kUnavailable) && answer->value == 1) {
    queue->is_stale = true; /* the reply is not lent again */
  } else {
    (void)basebandd_give_back(queue->server, slot->reply);
  }
}

/* Takes answers until the `count` oldest operations are done, as far as there are any. */
static void take_answers(bb_queue* queue, uint16_t count) {
  basebandd_answer answers[ANSWERS];
  const uint32_t wanted = RTE_MIN((uint32_t)count, queue->tail - queue->head);
  uint32_t done = 0;
  for (;;) {
    while (done < wanted && bb_slot_of(queue, queue->head + done)->is_done) ++done;
    if (done == wanted || queue->server == NULL) return;
    const int polled =
        basebandd_poll(queue->server, answers, RTE_MIN(wanted - done, (uint32_t)ANSWERS));
    if (polled < 0) bb_lose(queue, basebandd_error());
    if (polled == 0) {
      bb_look(queue);
      if (queue->server != NULL) return;
    }
    for (int i = 0; i < polled; ++i) {
      finish(queue, &queue->slots[answers[i].id], &answers[i]);
    }
  }
}

static uint16_t dequeue(struct rte_bbdev_queue_data* data, bool is_decode, void** ops,
                        uint16_t count) {
  bb_queue* const queue = data->queue_private;
  rte_spinlock_lock(&queue->lock);
  bb_renew(queue);
  take_answers(queue, count);
  uint16_t taken = 0;
  uint16_t errors = 0;
  for (; taken < count && queue->head != queue->tail; ++taken, ++queue->head) {
    const bb_slot* const oldest = bb_slot_of(queue, queue->head);
    if (!oldest->is_done || oldest->is_decode != is_decode) break;
    ops[taken] = oldest->op;
    if (is_decode) {
      ((struct rte_bbdev_dec_op*)oldest->op)->status = oldest->status;
    } else {
      ((struct rte_bbdev_enc_op*)oldest->op)->status = oldest->status;
    }
    if (oldest->status & (BB_DRIVER_ERROR | BB_DATA_ERROR)) ++errors;
  }
  rte_spinlock_unlock(&queue->lock);
  data->queue_stats.dequeued_count += taken;
  data->queue_stats.dequeue_err_count += errors;
  return taken;
}

uint16_t bb_enqueue_enc(struct rte_bbdev_queue_data* data, struct rte_bbdev_enc_op** ops,
                        uint16_t count) {
  return enqueue(data, false, (void**)ops, count);
}

uint16_t bb_enqueue_dec(struct rte_bbdev_queue_data* data, struct rte_bbdev_dec_op** ops,
                        uint16_t count) {
  return enqueue(data, true, (void**)ops, count);
}

uint16_t bb_dequeue_enc(struct rte_bbdev_queue_data* data, struct rte_bbdev_enc_op** ops,
                        uint16_t count) {
  return dequeue(data, false, (void**)ops, count);
}

uint16_t bb_dequeue_dec(struct rte_bbdev_queue_data* data, struct rte_bbdev_dec_op** ops,
                        uint16_t count) {
  return dequeue(data, true, (void**)ops, count);
}

/* ------------------------------------------------------------------------------ set up and gone */

/* Each step of a queue's priority is a class lower than the device's, down to the lowest. */
static uint8_t class_of(uint8_t device_class, uint8_t priority) {
  static const uint8_t kClasses[] = {BASEBANDD_PRIORITY_HIGH, BASEBANDD_PRIORITY_NORMAL,
                                     BASEBANDD_PRIORITY_LOW};
  uint32_t step = 0;
  while (kClasses[step] != device_class) ++step;
  return kClasses[RTE_MIN(step + priority, (uint32_t)RTE_DIM(kClasses) - 1)];
}

int bb_queue_create(const struct rte_bbdev_queue_conf* conf, uint16_t id,
                    const bb_arguments* arguments, bb_harq* harq, bb_queue** queue) {
  bb_queue* const made = calloc(1, sizeof(*made));
  bb_slot* const slots = calloc(conf->queue_size, sizeof(*slots));
  if (made == NULL || slots == NULL) {
    free(made);
    free(slots);
    return -ENOMEM;
  }
  rte_spinlock_init(&made->lock);
  made->slots = slots;
  made->size = conf->queue_size;
  made->arguments = arguments;
  made->harq = harq;
  made->id = id;
  made->priority = class_of(arguments->first_class, conf->priority);
  *queue = made;
  return 0;
}

void bb_queue_destroy(bb_queue* queue) {
  if (queue == NULL) return;
  basebandd_close(queue->server);
  basebandd_close(atomic_load(&queue->offered));
  free(queue->slots);
  free(queue);
}
