/* Whether memory that another process has passed is safe to map: no access to it is a fault, be
 * that process as it may. In C, for both client libraries. Who includes it has defined _GNU_SOURCE,
 * which g++ does by itself. */
#ifndef BASEBAND_COMMON_SHM_SEALED_MEMORY_H_
#define BASEBAND_COMMON_SHM_SEALED_MEMORY_H_

#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* 1: `fd` is memory of `bytes` at least, and nobody can make it smaller. A hole that is punched
 * there reads as zeros; not so in huge pages of hugetlbfs, where an access to a hole is a fault if
 * no such page is left: those are none. */
static inline int baseband_is_sealed_memory(int fd, uint64_t bytes) {
  struct stat status;
  struct statfs system;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &status) == 0 &&
         (uint64_t)status.st_size >= bytes && fstatfs(fd, &system) == 0 &&
         (unsigned long)system.f_type != (unsigned long)HUGETLBFS_MAGIC;
}

#endif /* BASEBAND_COMMON_SHM_SEALED_MEMORY_H_ */
