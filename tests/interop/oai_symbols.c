/* What libldpc.so finds in a program of OpenAirInterface, for a program of ours: a thread pool that
 * works at once, a CRC, and nothing that logs or traces. Without OpenAirInterface's headers: these
 * are the types as the ABI has them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct task {
  void* arguments;
  void (*run)(void* arguments);
} task;

void pushTpool(void* pool, task task);
void pushTpool(void* pool, task task) {
  (void)pool;
  task.run(task.arguments);
}

void init_task_ans(void* answers, unsigned count);
void init_task_ans(void* answers, unsigned count) {
  (void)answers;
  (void)count;
}

void join_task_ans(void* answers);
void join_task_ans(void* answers) { (void)answers; }

void completed_many_task_ans(void* answers, unsigned count);
void completed_many_task_ans(void* answers, unsigned count) {
  (void)answers;
  (void)count;
}

static int no_traces[1 << 16];
static char no_logs[1 << 20]; /* levels of 0: errors alone */
int* T_active = no_traces;
int T_stdout = 1; /* logs, no traces */
void* T_cache;
void* T_freelist_head;
void* g_log = no_logs;
int cpu_meas_enabled = 1;

void logRecord_mt(const char* file, const char* function, int line, int part, int level,
                  const char* format, ...);
void logRecord_mt(const char* file, const char* function, int line, int part, int level,
                  const char* format, ...) {
  (void)file;
  (void)function;
  (void)line;
  (void)part;
  (void)level;
  (void)format;
}

void exit_function(const char* file, const char* function, int line, const char* text, int asserts);
void exit_function(const char* file, const char* function, int line, const char* text,
                   int asserts) {
  (void)asserts;
  fprintf(stderr, "%s:%d: %s: %s\n", file, line, function, text == NULL ? "" : text);
  abort();
}

/* Of `count` bits whose last ones are a CRC: type 0 is 24A, 1 is 24B, 2 is 16. */
int check_crc(const uint8_t* bits, uint32_t count, uint8_t type);
int check_crc(const uint8_t* bits, uint32_t count, uint8_t type) {
  static const uint32_t kPolynomials[] = {0x864cfbU << 8, 0x800063U << 8, 0x1021U << 16};
  uint32_t rest = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bit = (uint32_t)(bits[i / 8] >> (7 - i % 8)) & 1U;
    rest = (rest << 1) ^ ((rest >> 31 ^ bit) != 0 ? kPolynomials[type] : 0);
  }
  return rest == 0; /* of what is there, its CRC included */
}
