/* Of oai_slots.c: what is tested. */

static int failures;
static void say(bool is_well, const char* what, const char* more) {
  printf("%s %s%s%s\n", is_well ? "ok" : "FAILED", what, more[0] != '\0' ? ": " : "", more);
  fflush(stdout);
  failures += !is_well;
}

/* ---- the same bits are sent, and what is received well is decoded alike */

static void test_shape(const library* ours, const library* theirs, const shape* shape) {
  char more[160];
  block block;
  make_block(&block, shape);
  encode(ours, &block, 1, shape->rv);
  unsigned char* const coded = malloc(block.g / 8 + 1);
  memcpy(coded, block.coded, block.g / 8 + 1);
  encode(theirs, &block, 1, shape->rv);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < block.g; ++i) {
    wrong += (coded[i / 8] ^ block.coded[i / 8]) >> (i % 8) & 1;
  }
  free(coded);
  snprintf(more, sizeof(more), "%u of %u bits differ", wrong, block.g);
  say(wrong == 0, shape->name, more);

  begin_process(&block);
  receive(&block, 12);
  decode(ours, &block, 1, shape->rv, 1);
  const bool is_ours = is_whole(&block);
  begin_process(&block);
  decode(theirs, &block, 1, shape->rv, 1);
  snprintf(more, sizeof(more), "decoded %s, by theirs %s", is_ours ? "rightly" : "wrongly",
           is_whole(&block) ? "rightly" : "wrongly");
  say(is_ours, shape->name, more);
  free_block(&block);
}

/* ---- not worse at the threshold, with and without earlier transmissions */

/* Whether `ours` wrong ones of `n` are more than `theirs`, by more than chance. */
static bool is_worse(int ours, int theirs, int n) {
  const double p = (ours + theirs + 1.0) / (2.0 * n + 2);
  return ours - theirs > 3 * sqrt(2 * n * p * (1 - p)) + 1;
}

static void test_error_rate(const library* ours, const library* theirs, const shape* shape,
                            double snr_db, int n) {
  int wrong[2] = {0, 0};
  for (int i = 0; i < n; ++i) {
    block block;
    make_block(&block, shape);
    encode(theirs, &block, 1, shape->rv);
    receive(&block, snr_db);
    for (int j = 0; j < 2; ++j) {
      begin_process(&block);
      decode(j == 0 ? ours : theirs, &block, 1, shape->rv, 2);
      wrong[j] += !is_whole(&block);
    }
    free_block(&block);
  }
  char more[160];
  snprintf(more, sizeof(more), "at %.1f dB %d of %d wrong, by theirs %d", snr_db, wrong[0], n,
           wrong[1]);
  say(!is_worse(wrong[0], wrong[1], n), shape->name, more);
}

/* Transmissions until a block is right, at most 4; blocks of two processes by turns. */
static void test_again(const library* ours, const library* theirs, double snr_db, int n) {
  static const shape kShape = {"again", 1, 384, 2, 8424, 2, 0, 10000, 1, 0};
  static const int kVersions[] = {0, 2, 3, 1};
  double sum[2] = {0, 0};
  int lost[2] = {0, 0};
  for (int i = 0; i < n; ++i) {
    block blocks[2]; /* the same one for both, with soft bits of their own */
    const uint64_t seed = next_random();
    for (int j = 0; j < 2; ++j) {
      random_state = seed;
      make_block(&blocks[j], &kShape);
      begin_process(&blocks[j]);
      int sent = 0;
      bool is_right = false;
      while (sent < 4 && !is_right) {
        encode(theirs, &blocks[j], 1, kVersions[sent]);
        receive(&blocks[j], snr_db);
        decode(j == 0 ? ours : theirs, &blocks[j], 1, kVersions[sent++], 100 + i % 2);
        is_right = is_whole(&blocks[j]);
      }
      sum[j] += sent;
      lost[j] += !is_right;
      free_block(&blocks[j]);
    }
  }
  char more[160];
  snprintf(more, sizeof(more), "at %.1f dB %.2f transmissions, by theirs %.2f; lost %d, %d of %d",
           snr_db, sum[0] / n, sum[1] / n, lost[0], lost[1], n);
  say(sum[0] / n <= sum[1] / n + 3 * 0.5 / sqrt(n) && !is_worse(lost[0], lost[1], n),
      "sent again and combined", more);
}

/* ---- what fails */

static void test_noise(const library* ours) {
  block block;
  char more[80];
  make_block(&block, &kShapes[1]);
  double slowest = 0;
  bool is_well = true;
  for (int i = 0; i < 5; ++i) {
    receive(&block, -20);
    begin_process(&block);
    const double begin = now_ms();
    decode(ours, &block, 1, 0, 3);
    slowest = fmax(slowest, now_ms() - begin);
    is_well = is_well && block.right_count == 0 && check_abort(&block.stop);
    for (uint32_t j = 0; j < block.k / 8; ++j) is_well = is_well && block.decoded[7][j] == 0;
  }
  snprintf(more, sizeof(more), "%.1f ms at most for %d segments", slowest, kShapes[1].segments);
  say(is_well, "noise is wrong, and zeros", more);
  free_block(&block);
}

static void test_many_blocks(const library* ours, const library* theirs) {
  block blocks[4];
  for (int i = 0; i < 4; ++i) make_block(&blocks[i], &kShapes[i == 3 ? 6 : i * 2]);
  encode(theirs, blocks, 4, 0);
  for (int i = 0; i < 4; ++i) {
    receive(&blocks[i], i == 1 ? -20 : 12);
    begin_process(&blocks[i]);
  }
  decode(ours, blocks, 4, 0, 10);
  const bool is_well = is_whole(&blocks[0]) && blocks[1].right_count == 0 && is_whole(&blocks[2]) &&
                       is_whole(&blocks[3]);
  say(is_well, "blocks of a slot are for themselves", "");
  for (int i = 0; i < 4; ++i) free_block(&blocks[i]);
}

/* More segments than a request takes: what the server holds of a process that is in such a slot is
 * of the block that is in it, and no other. */
static void test_large_slot(const library* ours, const library* theirs) {
  static const shape kShape = {"large", 2, 30, 80, 240, 2, 0, 300, 0, 0};
  enum { kBlocks = 8, kProcess = 500 };
  block blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) make_block(&blocks[i], &kShape);
  encode(theirs, blocks, kBlocks, 0);
  for (int i = 0; i < kBlocks; ++i) { /* other blocks, of which nothing is left to be used */
    receive(&blocks[i], -20);
    begin_process(&blocks[i]);
    decode(ours, &blocks[i], 1, 0, kProcess + i);
  }
  int right[2] = {0, 0};
  for (int i = 0; i < kBlocks; ++i) {
    receive(&blocks[i], 3);
    begin_process(&blocks[i]);
  }
  decode(ours, blocks, kBlocks, 0, kProcess);
  for (int i = 0; i < kBlocks; ++i) {
    right[0] += is_whole(&blocks[i]);
    receive(&blocks[i], 5);
    decode(ours, &blocks[i], 1, 0, kProcess + i);
    right[1] += is_whole(&blocks[i]);
    free_block(&blocks[i]);
  }
  char more[80];
  snprintf(more, sizeof(more), "%d, then %d of %d right", right[0], right[1], kBlocks);
  say(right[0] == 0 && right[1] == kBlocks, "a slot of 640 segments is combined", more);
}

/* ---- threads, time, and ends of the server */

typedef struct worker {
  const library* ours;
  const library* theirs;
  int number;
  double seconds;
  int slots, wrong;
  double slowest, sum;
} worker;

static void* work(void* argument) {
  static const shape kShape = {"work", 1, 384, 6, 8424, 4, 0, 12000, 2, 0};
  worker* const worker = argument;
  random_state += (uint64_t)worker->number;
  block block;
  make_block(&block, &kShape);
  unsigned char* const coded = malloc(block.g / 8 + 1);
  encode(worker->theirs, &block, 1, 0);
  memcpy(coded, block.coded, block.g / 8 + 1);
  receive(&block, 8);
  const double end = now_ms() + worker->seconds * 1e3;
  while (now_ms() < end) {
    begin_process(&block);
    memset(block.decoded[0], 0xa5, 1056);
    const double begin = now_ms();
    encode(worker->ours, &block, 1, 0);
    decode(worker->ours, &block, 1, 0, 1000 + worker->number);
    const double took = now_ms() - begin;
    worker->slowest = fmax(worker->slowest, took);
    worker->sum += took;
    worker->wrong += !is_whole(&block) || memcmp(coded, block.coded, block.g / 8) != 0;
    ++worker->slots;
  }
  free(coded);
  free_block(&block);
  return NULL;
}

static int run_for(const library* ours, const library* theirs, double seconds) {
  enum { kThreads = 3 };
  pthread_t threads[kThreads];
  worker workers[kThreads];
  int slots = 0;
  int wrong = 0;
  double slowest = 0;
  double sum = 0;
  for (int i = 0; i < kThreads; ++i) {
    workers[i] = (worker){.ours = ours, .theirs = theirs, .number = i, .seconds = seconds};
    pthread_create(&threads[i], NULL, work, &workers[i]);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    slots += workers[i].slots;
    wrong += workers[i].wrong;
    sum += workers[i].sum;
    slowest = fmax(slowest, workers[i].slowest);
  }
  printf("slots %d wrong %d mean %.2f ms slowest %.1f ms\n", slots, wrong, sum / slots, slowest);
  return wrong;
}

static int run_tests(const library* ours, const library* theirs) {
  for (int i = 0; i < kShapeCount; ++i) test_shape(ours, theirs, &kShapes[i]);
  test_many_blocks(ours, theirs);
  test_noise(ours);
  test_large_slot(ours, theirs);
  test_error_rate(ours, theirs, &kShapes[2], 4, 200);
  test_error_rate(ours, theirs, &kShapes[2], 4.5, 200);
  test_error_rate(ours, theirs, &kShapes[5], 0, 300);
  test_error_rate(ours, theirs, &kShapes[5], 1, 300);
  for (int snr_db = -1; snr_db <= 2; ++snr_db) test_again(ours, theirs, snr_db, 60);
  say(run_for(ours, theirs, 2) == 0, "threads beside each other", "");
  return failures;
}
