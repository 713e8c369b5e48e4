#include "client/c/heap.h"

#include <pthread.h>
#include <stdlib.h>

#include "client/c/basebandd.h"

/* Sizes and places are counted in units of BASEBANDD_ALIGNMENT. A free piece is in the list of its
 * class: below 8 units a class each, then eighths of each power of two. */
enum { kSplit = 3, kSeconds = 1 << kSplit, kFirsts = 32 - kSplit };
#define NONE UINT32_MAX

typedef struct {
  uint32_t units;  /* 0: no piece begins here */
  uint32_t before; /* units of the piece before this one; 0: this is the first */
  uint32_t is_free;
  uint32_t next; /* of its class, if it is free; NONE: the last */
  uint32_t prev; /* NONE: the first */
} piece;

struct basebandd_heap {
  pthread_mutex_t mutex;
  uint32_t units;
  uint32_t firsts; /* bit: some class of this power has a piece */
  uint32_t seconds[kFirsts];
  uint32_t heads[kFirsts][kSeconds];
  piece pieces[]; /* by the unit they begin at; one more, that is never free, ends them */
};

typedef struct {
  uint32_t first;
  uint32_t second;
} size_class;

static uint32_t log2_of(uint32_t value) { return 31U - (uint32_t)__builtin_clz(value); }

static size_class class_of(uint32_t units) {
  size_class found = {0, units};
  if (units >= kSeconds) {
    const uint32_t power = log2_of(units);
    found.first = power - kSplit + 1;
    found.second = (units >> (power - kSplit)) & (kSeconds - 1);
  }
  return found;
}

static void insert(basebandd_heap* heap, uint32_t at) {
  const size_class where = class_of(heap->pieces[at].units);
  uint32_t* const head = &heap->heads[where.first][where.second];
  heap->pieces[at].is_free = 1;
  heap->pieces[at].prev = NONE;
  heap->pieces[at].next = *head;
  if (*head != NONE) heap->pieces[*head].prev = at;
  *head = at;
  heap->firsts |= 1U << where.first;
  heap->seconds[where.first] |= 1U << where.second;
}

static void remove_free(basebandd_heap* heap, uint32_t at) {
  piece* const leaving = &heap->pieces[at];
  const size_class where = class_of(leaving->units);
  if (leaving->next != NONE) heap->pieces[leaving->next].prev = leaving->prev;
  if (leaving->prev != NONE) {
    heap->pieces[leaving->prev].next = leaving->next;
  } else {
    heap->heads[where.first][where.second] = leaving->next;
    if (leaving->next == NONE) {
      heap->seconds[where.first] &= ~(1U << where.second);
      if (heap->seconds[where.first] == 0) heap->firsts &= ~(1U << where.first);
    }
  }
  leaving->is_free = 0;
}

/* The first piece of the smallest class, from `where` on, that has one. */
static uint32_t smallest_from(const basebandd_heap* heap, size_class where) {
  if (where.first >= kFirsts) return NONE;
  uint32_t first = where.first;
  uint32_t seconds = heap->seconds[first] & (UINT32_MAX << where.second);
  if (seconds == 0) {
    const uint32_t firsts = first + 1 >= kFirsts ? 0 : heap->firsts & (UINT32_MAX << (first + 1));
    if (firsts == 0) return NONE;
    first = (uint32_t)__builtin_ctz(firsts);
    seconds = heap->seconds[first];
  }
  return heap->heads[first][__builtin_ctz(seconds)];
}

static uint32_t find(const basebandd_heap* heap, uint32_t units) {
  /* Rounded up to the next class, all of whose pieces are large enough. */
  const uint32_t step = units < kSeconds ? 1 : 1U << (log2_of(units) - kSplit);
  const uint32_t at = smallest_from(heap, class_of(units + step - 1));
  if (at != NONE) return at;
  const size_class own = class_of(units);
  for (uint32_t other = heap->heads[own.first][own.second]; other != NONE;
       other = heap->pieces[other].next) {
    if (heap->pieces[other].units >= units) return other;
  }
  return NONE;
}

basebandd_heap* basebandd_heap_create(uint64_t bytes) {
  const uint64_t units = bytes / BASEBANDD_ALIGNMENT;
  if (units == 0 || units > UINT32_MAX / 4) return NULL;
  /* Of large ones the pages are there when they are first used: where pieces begin. */
  basebandd_heap* const heap = calloc(1, sizeof(*heap) + (size_t)(units + 1) * sizeof(piece));
  if (heap == NULL) return NULL;
  if (pthread_mutex_init(&heap->mutex, NULL) != 0) {
    free(heap);
    return NULL;
  }
  heap->units = (uint32_t)units;
  for (int first = 0; first < kFirsts; ++first) {
    for (int second = 0; second < kSeconds; ++second) heap->heads[first][second] = NONE;
  }
  heap->pieces[0].units = heap->units;
  heap->pieces[heap->units].before = heap->units;
  insert(heap, 0);
  return heap;
}

void basebandd_heap_destroy(basebandd_heap* heap) {
  if (heap == NULL) return;
  pthread_mutex_destroy(&heap->mutex);
  free(heap);
}

static uint64_t take(basebandd_heap* heap, uint32_t units) {
  const uint32_t at = find(heap, units);
  if (at == NONE) return BASEBANDD_HEAP_NONE;
  remove_free(heap, at);
  piece* const taken = &heap->pieces[at];
  const uint32_t left = taken->units - units;
  if (left > 0) {
    taken->units = units;
    heap->pieces[at + units].units = left;
    heap->pieces[at + units].before = units;
    heap->pieces[at + units + left].before = left;
    insert(heap, at + units);
  }
  return (uint64_t)at * BASEBANDD_ALIGNMENT;
}

static void give(basebandd_heap* heap, uint32_t at) {
  piece* given = &heap->pieces[at];
  piece* const after = given + given->units;
  if (after->is_free) {
    remove_free(heap, at + given->units);
    given->units += after->units;
    after->units = 0;
  }
  if (given->before != 0 && (given - given->before)->is_free) {
    const uint32_t units = given->units;
    given->units = 0;
    at -= given->before;
    given -= given->before;
    remove_free(heap, at);
    given->units += units;
  }
  heap->pieces[at + given->units].before = given->units;
  insert(heap, at);
}

uint64_t basebandd_heap_take(basebandd_heap* heap, uint64_t bytes) {
  if (bytes == 0 || bytes > (uint64_t)heap->units * BASEBANDD_ALIGNMENT) return BASEBANDD_HEAP_NONE;
  pthread_mutex_lock(&heap->mutex);
  const uint64_t offset =
      take(heap, (uint32_t)((bytes + BASEBANDD_ALIGNMENT - 1) / BASEBANDD_ALIGNMENT));
  pthread_mutex_unlock(&heap->mutex);
  return offset;
}

int basebandd_heap_give(basebandd_heap* heap, uint64_t offset) {
  const uint64_t at = offset / BASEBANDD_ALIGNMENT;
  if (offset % BASEBANDD_ALIGNMENT != 0 || at >= heap->units) return -1;
  pthread_mutex_lock(&heap->mutex);
  const int is_taken = heap->pieces[at].units != 0 && !heap->pieces[at].is_free;
  if (is_taken) give(heap, (uint32_t)at);
  pthread_mutex_unlock(&heap->mutex);
  return is_taken ? 0 : -1;
}
