/* What a driver of DPDK's virtual bus shares with the bus: four structures and a function, which
 * the development packages of distributions leave out. As the ABI of DPDK 22.11 (DPDK_23) has them,
 * from its documentation and its release notes; CMakeLists.txt takes no other release. */
#ifndef BASEBAND_CLIENT_BBDEV_VDEV_ABI_H_
#define BASEBAND_CLIENT_BBDEV_VDEV_ABI_H_

#include <rte_common.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_os.h>
#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0) || RTE_VERSION >= RTE_VERSION_NUM(22, 12, 0, 0)
#error "these are the structures of DPDK 22.11"
#endif

struct rte_driver {
  RTE_TAILQ_ENTRY(rte_driver) next;
  const char* name;
  const char* alias;
};

struct rte_device {
  RTE_TAILQ_ENTRY(rte_device) next;
  const char* name;
  const char* bus_info;
  const struct rte_driver* driver;
  const struct rte_bus* bus;
  int numa_node;
  struct rte_devargs* devargs;
};

struct rte_vdev_device {
  RTE_TAILQ_ENTRY(rte_vdev_device) next;
  struct rte_device device;
};

struct rte_vdev_driver {
  RTE_TAILQ_ENTRY(rte_vdev_driver) next;
  struct rte_driver driver;
  int (*probe)(struct rte_vdev_device* device);
  int (*remove)(struct rte_vdev_device* device);
  int (*dma_map)(struct rte_vdev_device* device, void* address, uint64_t iova, size_t bytes);
  int (*dma_unmap)(struct rte_vdev_device* device, void* address, uint64_t iova, size_t bytes);
  uint32_t drv_flags;
};

void rte_vdev_register(struct rte_vdev_driver* driver);

#endif /* BASEBAND_CLIENT_BBDEV_VDEV_ABI_H_ */
