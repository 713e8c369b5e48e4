#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd seals, MADV_WIPEONFORK */
#endif
#include "client/c/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client/c/error.h"
#include "client/c/region_wire.h"
#include "common/shm/sealed_memory.h"

enum { kOwnerBytes = 4096 };

uint64_t basebandd_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int basebandd_check_owner(const basebandd_connection* connection) {
  if (*connection->is_ours) return 0;
  return basebandd_fail_fast(-EBADF, "the connection is that of the process that was forked");
}

/* Of the codes by which a server refuses. */
static int errno_of(uint32_t code) {
  switch (code) {
    case 3: /* INVALID_ARGUMENT */
      return -EINVAL;
    case 5: /* NOT_FOUND */
      return -ENOENT;
    case 7:  /* PERMISSION_DENIED */
    case 16: /* UNAUTHENTICATED */
      return -EACCES;
    case 8: /* RESOURCE_EXHAUSTED */
      return -ENOMEM;
    case 14: /* UNAVAILABLE */
      return -EPIPE;
    default:
      return -EIO;
  }
}

int basebandd_refused(uint32_t code, const char* text, size_t text_bytes) {
  return basebandd_fail(errno_of(code), "the server says (code %u): %.*s", code,
                        (int)(text_bytes < 400 ? text_bytes : 400), text);
}

/* The first descriptor that came with `message`, -1 if there is none; all others are closed. */
static int descriptor_of(struct msghdr* message) {
  int first = -1;
  for (struct cmsghdr* part = CMSG_FIRSTHDR(message); part != NULL;
       part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
      int fd;
      memcpy(&fd, (const char*)part + at, sizeof(fd));
      if (first < 0) {
        first = fd;
      } else {
        close(fd);
      }
    }
  }
  return first;
}

static int unreachable(const char* what) {
  const int error = errno == EAGAIN ? ETIMEDOUT : errno;
  return basebandd_fail(-error, "%s: %s", what, strerror(error));
}

/* Asks, and takes the answer, with which a descriptor has to come. */
static int ask(int socket_fd, const basebandd_region_request* request,
               basebandd_region_answer* answer, int* fd) {
  struct iovec part = {answer, sizeof(*answer)};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t size;
  do {
    size = send(socket_fd, request, sizeof(*request), MSG_NOSIGNAL);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return unreachable("the server is not told what is wanted");
  do {
    size = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return unreachable("the server does not answer");
  if (size == 0) return basebandd_fail(-EPIPE, "the server has closed the connection");
  *fd = descriptor_of(&message);
  const int is_whole = size == (ssize_t)sizeof(*answer) && !(message.msg_flags & MSG_TRUNC) &&
                       answer->version == BASEBANDD_REGION_VERSION;
  int error = 0;
  if (!is_whole) {
    error = basebandd_fail(-EPROTO, "what answers is no server of this protocol's version %u",
                           BASEBANDD_REGION_VERSION);
  } else if (answer->code != 0) {
    error = basebandd_refused(answer->code, answer->message,
                              strnlen(answer->message, sizeof(answer->message)));
  } else if (*fd < 0) {
    error = basebandd_fail(-EPROTO, "no descriptor came with the server's answer");
  }
  if (error < 0 && *fd >= 0) close(*fd);
  if (error < 0) *fd = -1;
  return error;
}

static int connect_to(basebandd_connection* connection, const char* path, uint64_t timeout_ns) {
  struct sockaddr_un address = {0};
  address.sun_family = AF_UNIX;
  if (path != NULL && strncmp(path, "unix:", 5) == 0) path += 5;
  const char* const slashes = path == NULL ? NULL : strstr(path, "://");
  if (slashes != NULL) {
    const int scheme = slashes - path < 32 ? (int)(slashes - path) : 32;
    return basebandd_fail(-EINVAL, "path takes no %.*s://, but PATH or unix:PATH: leave it out",
                          scheme, path);
  }
  const size_t length = path == NULL ? 0 : strlen(path);
  if (length == 0 || length >= sizeof(address.sun_path)) {
    return basebandd_fail(-EINVAL, "path has %zu bytes, which is not in [1, %zu]", length,
                          sizeof(address.sun_path) - 1);
  }
  memcpy(address.sun_path, path, length);
  connection->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection->socket < 0) return unreachable("socket");
  struct timeval patience;
  patience.tv_sec = (time_t)(timeout_ns / 1000000000U);
  patience.tv_usec = (suseconds_t)(timeout_ns % 1000000000U / 1000U) + 1; /* 0: for ever */
  setsockopt(connection->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(connection->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  int error;
  do {
    error = connect(connection->socket, (const struct sockaddr*)&address, sizeof(address));
  } while (error < 0 && errno == EINTR);
  if (error == 0) return 0;
  error = errno;
  if (error == EPROTOTYPE) {
    return basebandd_fail(-error, "%s: that is the server's --listen: --shm-listen's is wanted",
                          path);
  }
  if (error == EACCES) {
    return basebandd_fail(-error, "%s: %s: see --socket-mode, and the folder's permissions", path,
                          strerror(error));
  }
  return unreachable(path);
}

/* Maps `fd`: no access to it is ever a fault. */
static int map_region(basebandd_connection* connection, int fd, uint64_t granted, uint64_t wanted) {
  if (granted < wanted || granted > PTRDIFF_MAX || !baseband_is_sealed_memory(fd, granted)) {
    return basebandd_fail(-EPROTO, "the region granted is no sealed memory of %llu bytes",
                          (unsigned long long)wanted);
  }
  void* const region = mmap(NULL, (size_t)granted, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (region == MAP_FAILED) return unreachable("the region cannot be mapped");
  connection->region = region;
  connection->region_bytes = (size_t)granted;
  madvise(region, (size_t)granted, MADV_DONTFORK);
  return 0;
}

/* The server knows of regions only: what it says of one that it does not grant, that is, how large
 * one may be, is told with what the caller knows. */
static int not_granted(int error, uint64_t memory_bytes, uint64_t bytes) {
  char said[400];
  (void)snprintf(said, sizeof(said), "%s", basebandd_error());
  return basebandd_fail(error, "memory_bytes %llu makes a region of %llu bytes with the ring; %s",
                        (unsigned long long)memory_bytes, (unsigned long long)bytes, said);
}

static int get_region(basebandd_connection* connection, uint64_t memory_bytes, uint64_t bytes,
                      uint8_t name[16]) {
  basebandd_region_request request = {BASEBANDD_REGION_VERSION, BASEBANDD_REGION_GRANT, bytes, {0}};
  basebandd_region_answer answer;
  int fd = -1;
  int error = ask(connection->socket, &request, &answer, &fd);
  if (error == -EINVAL || error == -ENOMEM) return not_granted(error, memory_bytes, bytes);
  if (error < 0) return error;
  error = map_region(connection, fd, answer.bytes, bytes);
  close(fd);
  memcpy(name, answer.name, sizeof(answer.name));
  memcpy(connection->server_id, answer.server_id, sizeof(connection->server_id));
  return error;
}

/* To anything else, a file, a terminal, a pipe, nothing must be written. What a link of an eventfd
 * says no other descriptor's does: those of files begin with a slash. */
static int is_eventfd(int fd) {
  static const char eventfd[] = "anon_inode:[eventfd]";
  char link[sizeof("/proc/thread-self/fd/") + 3 * sizeof(fd)];
  char target[sizeof(eventfd)];
  (void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
  return readlink(link, target, sizeof(target)) == (ssize_t)sizeof(eventfd) - 1 &&
         memcmp(target, eventfd, sizeof(eventfd) - 1) == 0;
}

/* An eventfd that is full, and not read any more, is not to stop who rings it. */
static int check_bell(int fd) {
  if (!is_eventfd(fd)) {
    return basebandd_fail(-EPROTO, "the server's bell is no eventfd, as far as /proc says");
  }
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return unreachable("the server's bell");
  }
  return 0;
}

/* The ring lies at the beginning of the region. */
static int get_ring(basebandd_connection* connection, uint32_t entries, const uint8_t name[16]) {
  memset(connection->region, 0, (size_t)baseband_ring_bytes(entries));
  connection->ring = baseband_ring_at(connection->region, entries);
  connection->ring.header->version = BASEBAND_RING_VERSION;
  connection->ring.header->entries = entries;
  basebandd_region_request request = {BASEBANDD_REGION_VERSION, BASEBANDD_REGION_RING, 0, {0}};
  basebandd_region_answer answer;
  memcpy(request.name, name, sizeof(request.name));
  const int error = ask(connection->socket, &request, &answer, &connection->bell);
  return error < 0 ? error : check_bell(connection->bell);
}

static int make_tables(basebandd_connection* connection, uint32_t entries, uint64_t memory_bytes) {
  uint8_t* const owner =
      mmap(NULL, kOwnerBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (owner != MAP_FAILED) {
    madvise(owner, kOwnerBytes, MADV_WIPEONFORK);
    *owner = 1;
    connection->is_ours = owner;
  }
  connection->heap = basebandd_heap_create(memory_bytes);
  connection->slots = calloc(entries, sizeof(*connection->slots));
  connection->free_slots = calloc(entries, sizeof(*connection->free_slots));
  connection->kept = calloc(entries, sizeof(*connection->kept));
  connection->kept_slots = calloc(entries, sizeof(*connection->kept_slots));
  if (connection->is_ours == NULL || connection->heap == NULL || connection->slots == NULL ||
      connection->free_slots == NULL || connection->kept == NULL ||
      connection->kept_slots == NULL) {
    return basebandd_fail(-ENOMEM, "no memory for the tables of the connection");
  }
  for (uint32_t slot = 0; slot < entries; ++slot) connection->free_slots[slot] = slot;
  return 0;
}

static int set_up(basebandd_connection* connection, const char* path,
                  const basebandd_options* options) {
  static const basebandd_options defaults;
  if (options == NULL) options = &defaults;
  const uint32_t entries = options->entries == 0 ? 256 : options->entries;
  const uint64_t wanted = options->memory_bytes == 0 ? 16U << 20 : options->memory_bytes;
  if (!baseband_ring_is_size(entries)) {
    return basebandd_fail(-EINVAL, "entries %u is no power of two in [1, %u]", entries,
                          BASEBANDD_MAX_ENTRIES);
  }
  const uint64_t most =
      BASEBANDD_MAX_REGION - 2 * BASEBANDD_REGION_PAGE - baseband_ring_bytes(entries);
  if (wanted > most) {
    return basebandd_fail(-EINVAL, "memory_bytes %llu is not in [0, %llu]: 64 GiB with the ring",
                          (unsigned long long)wanted, (unsigned long long)most);
  }
  for (size_t i = 0; i < sizeof(options->reserved_more) / sizeof(options->reserved_more[0]); ++i) {
    if (options->reserved != 0 || options->reserved_more[i] != 0) {
      return basebandd_fail(-EINVAL, "reserved is not 0");
    }
  }
  connection->spin_ns = options->spin_ns;
  connection->heap_offset = baseband_ring_bytes(entries);
  const uint64_t bytes = (connection->heap_offset + wanted + BASEBANDD_REGION_PAGE - 1) /
                         BASEBANDD_REGION_PAGE * BASEBANDD_REGION_PAGE;
  uint8_t name[16];
  int error = make_tables(connection, entries, bytes - connection->heap_offset);
  if (error == 0) {
    error = connect_to(connection, path,
                       options->open_timeout_ns == 0 ? 10000000000U : options->open_timeout_ns);
  }
  if (error == 0) error = get_region(connection, wanted, bytes, name);
  if (error == 0) error = get_ring(connection, entries, name);
  connection->freed = entries;
  connection->server_seen_ns = basebandd_now_ns();
  return error;
}

int basebandd_open(const char* path, const basebandd_options* options,
                   basebandd_connection** connection) {
  basebandd_connection* const opened = aligned_alloc(64, sizeof(*opened));
  *connection = NULL;
  if (opened == NULL) return basebandd_fail(-ENOMEM, "no memory for the connection");
  memset(opened, 0, sizeof(*opened));
  opened->socket = -1;
  opened->bell = -1;
  const int error = set_up(opened, path, options);
  if (error < 0) {
    basebandd_close(opened);
    return error;
  }
  *connection = opened;
  return 0;
}

void basebandd_server_id(const basebandd_connection* connection, uint8_t id[16]) {
  memcpy(id, connection->server_id, sizeof(connection->server_id));
}

void basebandd_close(basebandd_connection* connection) {
  if (connection == NULL) return;
  if (connection->socket >= 0) close(connection->socket);
  if (connection->bell >= 0) close(connection->bell);
  /* In a child something else may lie where the region is in its parent. */
  if (connection->region != NULL && basebandd_check_owner(connection) == 0) {
    munmap(connection->region, connection->region_bytes);
  }
  if (connection->is_ours != NULL) munmap((void*)(uintptr_t)connection->is_ours, kOwnerBytes);
  basebandd_heap_destroy(connection->heap);
  free(connection->slots);
  free(connection->free_slots);
  free(connection->kept);
  free(connection->kept_slots);
  basebandd_free_repeats(connection->repeats);
  free(connection);
}

void* basebandd_loan(basebandd_connection* connection, size_t bytes) {
  if (basebandd_check_owner(connection) < 0) return NULL;
  const uint64_t offset = basebandd_heap_take(connection->heap, bytes);
  if (offset == BASEBANDD_HEAP_NONE) {
    const size_t most = connection->region_bytes - (size_t)connection->heap_offset;
    if (bytes == 0 || bytes > most) {
      basebandd_fail(-EINVAL, "bytes %zu is not in [1, %zu], what the connection has to lend",
                     bytes, most);
    } else {
      basebandd_fail(
          -ENOMEM,
          "bytes %zu: no free piece is as large, of %zu that the connection has to lend; "
          "give loans back, or open it with more memory_bytes",
          bytes, most);
    }
    return NULL;
  }
  return connection->region + connection->heap_offset + offset;
}

int basebandd_give_back(basebandd_connection* connection, void* memory) {
  int error = basebandd_check_owner(connection);
  if (error < 0 || memory == NULL) return error;
  const uintptr_t heap = (uintptr_t)connection->region + (uintptr_t)connection->heap_offset;
  if (basebandd_heap_give(connection->heap, (uintptr_t)memory - heap) < 0) {
    error = basebandd_fail(-EINVAL, "memory is no loan of this connection");
  }
  return error;
}
