/* A queue of the device: one connection to the server, with a ring and memory of its own, and the
 * operations that are on their way through it.
 *
 * Operations leave in the order in which they came, each once. Those that are wrong, or that no
 * server takes, leave as well, with an error in their status: nobody who waits for them waits in
 * vain. One thread may enqueue while another dequeues: they take turns at a lock, under which
 * nobody waits. Connections are made by the device's own thread, the keeper, by bb_queue_tend. A
 * queue takes operations of either type; those of one type wait for the other's before them to be
 * dequeued. */
#ifndef BASEBAND_CLIENT_BBDEV_QUEUE_H_
#define BASEBAND_CLIENT_BBDEV_QUEUE_H_

#include <rte_bbdev.h>
#include <rte_bbdev_op.h>

#include "client/bbdev/arguments.h"
#include "client/bbdev/harq.h"

/* A power of two; the ring has room for as many and for what registers jobs. */
#define BB_MAX_QUEUE_SIZE 2048U

typedef struct bb_queue bb_queue;

/* Not connected: the first operation asks the keeper for that, for applications set up more queues
 * than they use. `arguments` and `harq`, which is null where the device has no HARQ memory, outlive
 * the queue. -ENOMEM. */
int bb_queue_create(const struct rte_bbdev_queue_conf* conf, uint16_t id,
                    const bb_arguments* arguments, bb_harq* harq, bb_queue** queue);
/* Connects at once, which takes milliseconds. A negative errno: the log says why, and the first
 * operation will ask again. */
int bb_queue_open(bb_queue* queue);
/* What is on its way is dropped. */
void bb_queue_destroy(bb_queue* queue);

/* The keeper's: makes the connection that operations ask for, if it is time for an attempt, which
 * takes up to seconds where the server does not answer. A negative errno: it failed. */
int bb_queue_tend(bb_queue* queue);

/* bbdev's, of struct rte_bbdev. Neither waits for the server. */
uint16_t bb_enqueue_enc(struct rte_bbdev_queue_data* data, struct rte_bbdev_enc_op** ops,
                        uint16_t count);
uint16_t bb_enqueue_dec(struct rte_bbdev_queue_data* data, struct rte_bbdev_dec_op** ops,
                        uint16_t count);
uint16_t bb_dequeue_enc(struct rte_bbdev_queue_data* data, struct rte_bbdev_enc_op** ops,
                        uint16_t count);
uint16_t bb_dequeue_dec(struct rte_bbdev_queue_data* data, struct rte_bbdev_dec_op** ops,
                        uint16_t count);

#endif /* BASEBAND_CLIENT_BBDEV_QUEUE_H_ */
