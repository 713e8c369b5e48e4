#include "client/bbdev/arguments.h"

#include <errno.h>
#include <rte_kvargs.h>
#include <stdlib.h>
#include <string.h>

#include "client/bbdev/log.h"
#include "client/c/basebandd.h"

static const char* const kKeys[] = {"socket",     "queues", "memory_mib", "harq_mib", "deadline_us",
                                    "timeout_ms", "class",  "wait_s",     NULL};

typedef struct number {
  uint32_t* value;
  uint32_t min;
  uint32_t max;
} number;

static int parse_number(const char* key, const char* text, void* to) {
  const number* const range = to;
  char* end = NULL;
  errno = 0;
  const unsigned long long value =
      text == NULL || *text < '0' || *text > '9' ? 0 : strtoull(text, &end, 10);
  if (end == NULL || *end != '\0' || errno != 0 || value < range->min || value > range->max) {
    BB_LOG(ERR, "%s '%s' is not in [%u, %u]\n", key, text == NULL ? "" : text, range->min,
           range->max);
    return -EINVAL;
  }
  *range->value = (uint32_t)value;
  return 0;
}

static int parse_socket(const char* key, const char* text, void* to) {
  bb_arguments* const arguments = to;
  if (text == NULL || *text == '\0' || strlen(text) >= sizeof(arguments->socket)) {
    BB_LOG(ERR, "%s '%s' is no path of 1 .. %zu bytes\n", key, text == NULL ? "" : text,
           sizeof(arguments->socket) - 1);
    return -EINVAL;
  }
  /* Also as the server's flag has it. */
  strcpy(arguments->socket, strncmp(text, "unix:", 5) == 0 ? text + 5 : text);
  return 0;
}

static int parse_class(const char* key, const char* text, void* to) {
  static const struct {
    const char* name;
    uint8_t priority;
  } kClasses[] = {{"high", BASEBANDD_PRIORITY_HIGH},
                  {"normal", BASEBANDD_PRIORITY_NORMAL},
                  {"low", BASEBANDD_PRIORITY_LOW}};
  for (size_t i = 0; i < RTE_DIM(kClasses); ++i) {
    if (text != NULL && strcmp(text, kClasses[i].name) == 0) {
      ((bb_arguments*)to)->first_class = kClasses[i].priority;
      return 0;
    }
  }
  BB_LOG(ERR, "%s '%s' is not high, normal or low\n", key, text == NULL ? "" : text);
  return -EINVAL;
}

int bb_parse_arguments(const char* text, bb_arguments* arguments) {
  *arguments = (bb_arguments){.socket = "/run/basebandd/shm.sock",
                              .queues = 64,
                              .memory_mib = 16,
                              .harq_mib = 4096,
                              .timeout_ms = 5000,
                              .first_class = BASEBANDD_PRIORITY_NORMAL};
  if (text == NULL || *text == '\0') return 0;
  struct rte_kvargs* const list = rte_kvargs_parse(text, kKeys);
  if (list == NULL) {
    BB_LOG(ERR, "'%s' is not of " BB_ARGUMENTS "\n", text);
    return -EINVAL;
  }
  for (size_t i = 0; kKeys[i] != NULL; ++i) {
    if (rte_kvargs_count(list, kKeys[i]) > 1) {
      BB_LOG(ERR, "%s is there more than once\n", kKeys[i]);
      rte_kvargs_free(list);
      return -EINVAL;
    }
  }
  number numbers[] = {
      {&arguments->queues, 1, BB_MAX_QUEUES}, {&arguments->memory_mib, 1, 1024},
      {&arguments->harq_mib, 0, 4096},        {&arguments->deadline_us, 0, UINT32_MAX},
      {&arguments->timeout_ms, 10, 600000},   {&arguments->wait_s, 0, 3600}};
  static const char* const kNumbers[] = {"queues",      "memory_mib", "harq_mib",
                                         "deadline_us", "timeout_ms", "wait_s"};
  int error = rte_kvargs_process(list, "socket", parse_socket, arguments);
  if (error == 0) error = rte_kvargs_process(list, "class", parse_class, arguments);
  for (size_t i = 0; i < RTE_DIM(kNumbers) && error == 0; ++i) {
    error = rte_kvargs_process(list, kNumbers[i], parse_number, &numbers[i]);
  }
  rte_kvargs_free(list);
  return error == 0 ? 0 : -EINVAL;
}
