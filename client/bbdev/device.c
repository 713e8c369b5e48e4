/* The device: a poll-mode driver of DPDK's bbdev on its virtual bus, named baseband_offload. */
#include <errno.h>
#include <pthread.h>
#include <rte_bbdev.h>
#include <rte_bbdev_pmd.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client/bbdev/arguments.h"
#include "client/bbdev/harq.h"
#include "client/bbdev/log.h"
#include "client/bbdev/queue.h"
#include "client/bbdev/vdev_abi.h"

#define DRIVER_NAME baseband_offload
#define PRIORITIES 3U
#define ALIGNMENT 64U
#define ROUND_NS 10000000 /* between two rounds of the keeper */
#define OPEN_AT_START 4U

RTE_LOG_REGISTER(bb_log_type, pmd.baseband.offload, NOTICE)

typedef struct bb_device {
  bb_arguments arguments;
  bb_harq* harq; /* null: soft bits lie in mbufs */
  struct rte_bbdev_op_cap capabilities[3];

  pthread_mutex_t mutex; /* of the queues while they are tended, made or destroyed */
  bb_queue* queues[2 * BB_MAX_QUEUES];
  pthread_t keeper;
  atomic_bool is_closing;
} bb_device;

static bb_device* device_of(const struct rte_bbdev* dev) { return dev->data->dev_private; }

/* -------------------------------------------------------------------------- what it is capable of
 */

static void set_capabilities(bb_device* device) {
  const uint32_t internal_harq = RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_IN_ENABLE |
                                 RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_OUT_ENABLE |
                                 RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_LOOPBACK;
  device->capabilities[0] = (struct rte_bbdev_op_cap){
      .type = RTE_BBDEV_OP_LDPC_ENC,
      .cap.ldpc_enc = {
          .capability_flags = RTE_BBDEV_LDPC_INTERLEAVER_BYPASS | RTE_BBDEV_LDPC_RATE_MATCH |
                              RTE_BBDEV_LDPC_CRC_24A_ATTACH | RTE_BBDEV_LDPC_CRC_24B_ATTACH |
                              RTE_BBDEV_LDPC_CRC_16_ATTACH | RTE_BBDEV_LDPC_ENC_SCATTER_GATHER |
                              RTE_BBDEV_LDPC_ENC_CONCATENATION,
          .num_buffers_src = RTE_BBDEV_LDPC_MAX_CODE_BLOCKS,
          .num_buffers_dst = 1}};
  device->capabilities[1] = (struct rte_bbdev_op_cap){
      .type = RTE_BBDEV_OP_LDPC_DEC,
      .cap.ldpc_dec = {
          .capability_flags =
              RTE_BBDEV_LDPC_CRC_TYPE_24A_CHECK | RTE_BBDEV_LDPC_CRC_TYPE_24B_CHECK |
              RTE_BBDEV_LDPC_CRC_TYPE_24B_DROP | RTE_BBDEV_LDPC_CRC_TYPE_16_CHECK |
              RTE_BBDEV_LDPC_DEINTERLEAVER_BYPASS | RTE_BBDEV_LDPC_HQ_COMBINE_IN_ENABLE |
              RTE_BBDEV_LDPC_HQ_COMBINE_OUT_ENABLE | RTE_BBDEV_LDPC_ITERATION_STOP_ENABLE |
              RTE_BBDEV_LDPC_DEC_SCATTER_GATHER | RTE_BBDEV_LDPC_HARQ_6BIT_COMPRESSION |
              RTE_BBDEV_LDPC_LLR_COMPRESSION | RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_FILLERS |
              (device->harq == NULL ? 0 : internal_harq),
          .llr_size = 8,
          .llr_decimals = 1,
          .num_buffers_src = RTE_BBDEV_LDPC_MAX_CODE_BLOCKS,
          .num_buffers_hard_out = 1,
          .num_buffers_soft_out = 0}};
  device->capabilities[2] = (struct rte_bbdev_op_cap)RTE_BBDEV_END_OF_CAPABILITIES_LIST();
}

static void info_get(struct rte_bbdev* dev, struct rte_bbdev_driver_info* info) {
  const bb_device* const device = device_of(dev);
  const uint32_t queues = device->arguments.queues;
  info->driver_name = RTE_STR(DRIVER_NAME);
  info->max_num_queues = 2 * queues;
  info->num_queues[RTE_BBDEV_OP_LDPC_ENC] = queues;
  info->num_queues[RTE_BBDEV_OP_LDPC_DEC] = queues;
  info->queue_priority[RTE_BBDEV_OP_LDPC_ENC] = PRIORITIES;
  info->queue_priority[RTE_BBDEV_OP_LDPC_DEC] = PRIORITIES;
  info->max_dl_queue_priority = PRIORITIES - 1;
  info->max_ul_queue_priority = PRIORITIES - 1;
  info->queue_size_lim = BB_MAX_QUEUE_SIZE;
  info->hardware_accelerated = true;
  info->queue_intr_supported = false;
  info->device_status = RTE_BBDEV_DEV_NOT_SUPPORTED;
  info->harq_buffer_size = device->harq == NULL ? 0 : device->arguments.harq_mib * 1024U;
  info->min_alignment = ALIGNMENT;
  info->data_endianness = RTE_LITTLE_ENDIAN;
  info->default_queue_conf = (struct rte_bbdev_queue_conf){.socket = dev->data->socket_id,
                                                           .queue_size = BB_MAX_QUEUE_SIZE};
  info->capabilities = device->capabilities;
  info->cpu_flag_reqs = NULL;
}

/* ---------------------------------------------------------------------------------------- queues
 */

static int queue_release(struct rte_bbdev* dev, uint16_t id) {
  bb_device* const device = device_of(dev);
  (void)pthread_mutex_lock(&device->mutex);
  bb_queue_destroy(device->queues[id]);
  device->queues[id] = NULL;
  dev->data->queues[id].queue_private = NULL;
  (void)pthread_mutex_unlock(&device->mutex);
  return 0;
}

static int queue_setup(struct rte_bbdev* dev, uint16_t id,
                       const struct rte_bbdev_queue_conf* conf) {
  bb_device* const device = device_of(dev);
  if (conf->op_type != RTE_BBDEV_OP_LDPC_ENC && conf->op_type != RTE_BBDEV_OP_LDPC_DEC) {
    BB_LOG(ERR, "queue %u: op_type %d is not LDPC_ENC or LDPC_DEC\n", id, (int)conf->op_type);
    return -EINVAL;
  }
  (void)pthread_mutex_lock(&device->mutex);
  const int error =
      bb_queue_create(conf, id, &device->arguments, device->harq, &device->queues[id]);
  dev->data->queues[id].queue_private = device->queues[id];
  (void)pthread_mutex_unlock(&device->mutex);
  return error;
}

/* The first queues of each operation are ready at once; few applications use more. */
static int start(struct rte_bbdev* dev) {
  uint32_t opened[RTE_BBDEV_OP_TYPE_SIZE_MAX] = {0};
  for (uint16_t id = 0; id < dev->data->num_queues; ++id) {
    const struct rte_bbdev_queue_data* const data = &dev->data->queues[id];
    if (data->queue_private == NULL || opened[data->conf.op_type]++ >= OPEN_AT_START) continue;
    int error = bb_queue_open(data->queue_private);
    if (error == -ENOMEM) { /* a server grants a client 8 regions a second after the first 64 */
      (void)sleep(1);
      error = bb_queue_open(data->queue_private);
    }
    /* One that is only away will be there again; nobody else comes to be let in. */
    if (error == -EACCES || error == -EINVAL) return error;
  }
  return 0;
}

/* Makes the connections that queues ask for. Where one attempt fails the others wait for the next
 * round, for each may take seconds. */
static void* keep(void* argument) {
  bb_device* const device = argument;
  while (!atomic_load(&device->is_closing)) {
    int error = 0;
    for (size_t i = 0; i < RTE_DIM(device->queues) && error == 0; ++i) {
      if (atomic_load(&device->is_closing)) return NULL;
      (void)pthread_mutex_lock(&device->mutex);
      if (device->queues[i] != NULL) error = bb_queue_tend(device->queues[i]);
      (void)pthread_mutex_unlock(&device->mutex);
    }
    const struct timespec pause = {.tv_nsec = ROUND_NS};
    (void)nanosleep(&pause, NULL);
  }
  return NULL;
}

/* -------------------------------------------------------------------------------- comes and goes
 */

static void destroy(bb_device* device) {
  for (size_t i = 0; i < RTE_DIM(device->queues); ++i) bb_queue_destroy(device->queues[i]);
  bb_harq_destroy(device->harq);
  (void)pthread_mutex_destroy(&device->mutex);
  free(device);
}

static const struct rte_bbdev_ops kOps = {.start = start,
                                          .info_get = info_get,
                                          .queue_setup = queue_setup,
                                          .queue_release = queue_release};

/* That somebody listens at the socket; waits for him if he is to be waited for. No memory is asked
 * for, of which the server grants so many a second. */
static int find_server(const bb_arguments* arguments) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, arguments->socket, strlen(arguments->socket));
  for (uint32_t second = 0;; ++second) {
    const int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const bool is_there =
        socket_fd >= 0 && connect(socket_fd, (struct sockaddr*)&address, sizeof(address)) == 0;
    const int error = errno;
    if (socket_fd >= 0) (void)close(socket_fd);
    if (is_there) return 0;
    if (error == EPROTOTYPE) {
      BB_LOG(ERR, "%s: that is the server's --listen: --shm-listen's is wanted\n",
             arguments->socket);
      return -error;
    }
    if (second >= arguments->wait_s && error == EACCES) {
      BB_LOG(ERR, "%s: %s: see --socket-mode, and the folder's permissions\n", arguments->socket,
             strerror(error));
      return -error;
    }
    if (second >= arguments->wait_s) {
      BB_LOG(ERR, "no server at %s: %s (basebandd --shm-listen=unix:%s)\n", arguments->socket,
             strerror(error), arguments->socket);
      return -error;
    }
    if (second == 0) BB_LOG(NOTICE, "waiting for a server at %s\n", arguments->socket);
    (void)sleep(1);
  }
}

static int probe(struct rte_vdev_device* vdev) {
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
    BB_LOG(ERR, "connections are the primary process's: a secondary one has no device\n");
    return -ENOTSUP;
  }
  bb_device* const device = calloc(1, sizeof(*device));
  if (device == NULL) return -ENOMEM;
  (void)pthread_mutex_init(&device->mutex, NULL);
  const struct rte_devargs* const devargs = vdev->device.devargs;
  int error = bb_parse_arguments(devargs == NULL ? NULL : devargs->args, &device->arguments);
  if (error == 0) error = find_server(&device->arguments);
  if (error == 0 && device->arguments.harq_mib > 0) {
    device->harq = bb_harq_create((uint64_t)device->arguments.harq_mib << 20);
    if (device->harq == NULL) error = -ENOMEM;
  }
  if (error < 0) {
    destroy(device);
    return error;
  }
  set_capabilities(device);
  struct rte_bbdev* const dev = rte_bbdev_allocate(vdev->device.name);
  if (dev == NULL) {
    destroy(device);
    return -ENODEV;
  }
  dev->data->dev_private = device;
  dev->data->socket_id = (int)rte_socket_id();
  dev->device = &vdev->device;
  dev->dev_ops = &kOps;
  dev->intr_handle = NULL;
  dev->enqueue_ldpc_enc_ops = bb_enqueue_enc;
  dev->dequeue_ldpc_enc_ops = bb_dequeue_enc;
  dev->enqueue_ldpc_dec_ops = bb_enqueue_dec;
  dev->dequeue_ldpc_dec_ops = bb_dequeue_dec;
  error = rte_ctrl_thread_create(&device->keeper, "baseband-keeper", NULL, keep, device);
  if (error < 0) {
    (void)rte_bbdev_release(dev);
    destroy(device);
    return error;
  }
  return 0;
}

static int remove_device(struct rte_vdev_device* vdev) {
  struct rte_bbdev* const dev = rte_bbdev_get_named_dev(vdev->device.name);
  if (dev == NULL) return -EINVAL;
  bb_device* const device = device_of(dev);
  atomic_store(&device->is_closing, true);
  (void)pthread_join(device->keeper, NULL);
  destroy(device);
  dev->data->dev_private = NULL;
  return rte_bbdev_release(dev);
}

static struct rte_vdev_driver driver = {
    .driver = {.name = RTE_STR(DRIVER_NAME)}, .probe = probe, .remove = remove_device};

RTE_INIT(register_driver) { rte_vdev_register(&driver); }

RTE_PMD_EXPORT_NAME(baseband_offload, __COUNTER__);
RTE_PMD_REGISTER_PARAM_STRING(baseband_offload, BB_ARGUMENTS);
