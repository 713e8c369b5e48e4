#include "client/oai/harq.h"

#include <string.h>
#include <sys/random.h>

#include "client/oai/clock.h"

#define LAST_NUMBER 255U /* Harq.transmission */
#define PROBES 16U

void bo_harq_init(bo_harq* harq) {
  memset(harq, 0, sizeof(*harq));
  pthread_mutex_init(&harq->lock, NULL);
  harq->block = 1;
  if (getrandom(harq->name, sizeof(harq->name), GRND_NONBLOCK) != (ssize_t)sizeof(harq->name)) {
    const uint64_t time = bo_now_ns() ^ (uint64_t)(uintptr_t)harq << 20;
    memcpy(harq->name, &time, sizeof(time));
  }
}

static bool is_same(const bo_harq_entry* entry, bo_process process) {
  return entry->place != BO_NOWHERE && entry->process.number == process.number &&
         entry->process.memory == process.memory;
}

/* Where the process is, or else may be put: if there is no place, another loses its own, whose next
 * transmission is as a first one. */
static bo_harq_entry* find(bo_harq* harq, bo_process process) {
  uint64_t hash = ((uint64_t)(uintptr_t)process.memory ^ process.number) * 0x9e3779b97f4a7c15U;
  hash >>= 40;
  bo_harq_entry* free_place = NULL;
  for (uint32_t i = 0; i < PROBES; ++i) {
    bo_harq_entry* const entry = &harq->entries[(hash + i) & (BO_PROCESSES - 1)];
    if (is_same(entry, process)) return entry;
    if (free_place == NULL && entry->place == BO_NOWHERE) free_place = entry;
  }
  if (free_place == NULL) free_place = &harq->entries[hash & (BO_PROCESSES - 1)];
  free_place->place = BO_NOWHERE;
  return free_place;
}

bo_transmission bo_harq_begin(bo_harq* harq, bo_process process, bool is_first, bool has_server) {
  bo_transmission next = {.place = has_server ? BO_AT_SERVER : BO_AT_LIBRARY};
  pthread_mutex_lock(&harq->lock);
  const bo_harq_entry* const entry = find(harq, process);
  if (is_first || entry->place == BO_NOWHERE) {
    next.is_alone = !is_first && !has_server; /* what the library has may be another block's */
    next.block = harq->block;
  } else if (entry->place == BO_AT_SERVER) {
    next.is_alone = !has_server || entry->number == LAST_NUMBER;
    next.number = entry->number + 1;
    next.block = entry->block;
    next.llr_scale = entry->llr_scale;
    next.llr_mean = entry->llr_mean;
    if (entry->number == LAST_NUMBER) next.place = BO_AT_LIBRARY;
  } else { /* it began there */
    next.place = BO_AT_LIBRARY;
  }
  pthread_mutex_unlock(&harq->lock);
  return next;
}

void bo_harq_end(bo_harq* harq, bo_process process, bo_transmission transmission, bo_place place) {
  pthread_mutex_lock(&harq->lock);
  bo_harq_entry* const entry = find(harq, process);
  entry->process = process;
  entry->place = place;
  entry->number = transmission.number;
  entry->block = transmission.block;
  entry->llr_scale = transmission.llr_scale;
  entry->llr_mean = transmission.llr_mean;
  pthread_mutex_unlock(&harq->lock);
}

void bo_harq_give_up(bo_harq* harq) {
  pthread_mutex_lock(&harq->lock);
  ++harq->block;
  pthread_mutex_unlock(&harq->lock);
}

void bo_harq_key(const bo_harq* harq, bo_process process, uint32_t segment,
                 uint8_t key[BO_KEY_BYTES]) {
  const uint64_t memory = (uint64_t)(uintptr_t)process.memory;
  const uint16_t index = (uint16_t)segment;
  memcpy(key, harq->name, 8);
  memcpy(key + 8, &process.number, 4);
  memcpy(key + 12, &memory, 8);
  memcpy(key + 20, &index, 2);
}
