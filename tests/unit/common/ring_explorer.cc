#include "tests/unit/common/ring_explorer.h"

#include <csetjmp>
#include <cstring>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

uint32_t HookLoad(const uint32_t* word);
void HookStore(uint32_t* word, uint32_t value);
uint32_t HookExchange(uint32_t* word, uint32_t value);
void HookCopy(void* to, const void* from, size_t bytes);

}  // namespace

#define BASEBAND_RING_ATOMICS
#define BASEBAND_RING_LOAD(word) HookLoad(word)
#define BASEBAND_RING_STORE(word, value) HookStore((word), (value))
#define BASEBAND_RING_EXCHANGE(word, value) HookExchange((word), (value))
#define BASEBAND_RING_COPY(to, from, bytes) HookCopy((to), (from), (bytes))
#include RING_HEADER  // common/shm/ring.h, or one with a mistake

#ifdef RING_PLAIN_STORES
constexpr bool kStoresAreOrdered = false;
#else
constexpr bool kStoresAreOrdered = true;
#endif

namespace {

using baseband::testing::RingRun;
using baseband::testing::RingRunResult;
using baseband::testing::StoreOrder;

enum Agent { kClient, kServer, kPoller, kAgents };  // kPoller: the client's, if it has two threads
constexpr const char* kAgentNames[] = {"client", "server", "poller"};
constexpr int kMaxRequests = 6;
constexpr size_t kMemory = sizeof(BasebandRingHeader) + 4 * 128;

// What an agent knows between two rounds of its loop. Plain data without padding.
struct Locals {
  int32_t submitted = 0;  // client: by it; server: taken
  int32_t completed = 0;  // client: read by it; server: by it
  uint32_t jobs = 0;      // client: answered; server: in its hands. Bits by request
  int32_t timeouts = 0;
};

// A store that others do not see yet.
struct Pending {
  uint32_t offset = 0;
  uint32_t bytes = 0;
  uint8_t data[32] = {};
};

struct State {
  uint8_t memory[kMemory] = {};
  Locals locals[kAgents];
  // What the accesses of this round have brought so far: with them it is run again up to where it
  // is.
  std::vector<uint8_t> seen[kAgents];
  std::vector<Pending> buffers[kAgents];
  bool client_sleeps = false;  // in the futex
  bool server_sleeps = false;  // before the bell
  bool bell = false;
};

struct Node {
  int64_t parent = -1;
  const char* what = "";
  uint8_t agent = 0;
};

// The one step that is being taken; the hooks are C functions and find it here.
struct Step {
  const RingRun* run = nullptr;
  State* state = nullptr;
  Agent agent = kClient;
  int choice = 0;
  size_t cursor = 0;     // in seen
  bool is_done = false;  // the next access is another step's
  bool is_blocked = false;
  int num_choices = 1;
  const char* what = "";
  const char* mistake = nullptr;
  std::jmp_buf out;
};
Step step;
alignas(64) uint8_t mapped[kMemory];  // where the ring seems to be; never touched

bool IsInRing(const void* at) {
  return at >= static_cast<const void*>(mapped) && at < static_cast<const void*>(mapped + kMemory);
}
uint32_t OffsetOf(const void* at) {
  return static_cast<uint32_t>(static_cast<const uint8_t*>(at) - mapped);
}

[[noreturn]] void Leave() { std::longjmp(step.out, 1); }

void Mistake(const char* what) {
  step.mistake = what;
  Leave();
}

// Every access is `Replays(..) ? as it was : done now, and remembered`. Between two of them agents
// only compute.
bool Replays(void* result, size_t bytes) {
  std::vector<uint8_t>& seen = step.state->seen[step.agent];
  if (step.cursor + bytes <= seen.size() && bytes > 0) {
    std::memcpy(result, seen.data() + step.cursor, bytes);
    step.cursor += bytes;
    return true;
  }
  if (step.is_done) Leave();
  return false;
}

void Remember(const char* what, const void* result, size_t bytes) {
  std::vector<uint8_t>& seen = step.state->seen[step.agent];
  const auto* const data = static_cast<const uint8_t*>(result);
  seen.insert(seen.end(), data, data + bytes);
  step.cursor = seen.size();
  step.is_done = true;
  step.what = what;
}

void Write(uint32_t offset, const void* data, uint32_t bytes) {
  std::memcpy(step.state->memory + offset, data, bytes);
}

void Drain(Agent agent) {
  for (const Pending& store : step.state->buffers[agent]) {
    Write(store.offset, store.data, store.bytes);
  }
  step.state->buffers[agent].clear();
}

void Buffer(uint32_t offset, const void* data, uint32_t bytes) {
  if (step.run->order == StoreOrder::kSequential) return Write(offset, data, bytes);
  Pending store;
  store.offset = offset;
  store.bytes = bytes;
  std::memcpy(store.data, data, bytes);
  step.state->buffers[step.agent].push_back(store);
}

// As this agent sees it: its own stores first.
void Read(uint32_t offset, void* data, uint32_t bytes) {
  if (step.state->buffers[step.agent].empty()) {
    std::memcpy(data, step.state->memory + offset, bytes);
    return;
  }
  uint8_t view[kMemory];
  std::memcpy(view, step.state->memory, kMemory);
  for (const Pending& store : step.state->buffers[step.agent]) {
    std::memcpy(view + store.offset, store.data, store.bytes);
  }
  std::memcpy(data, view + offset, bytes);
}

uint32_t HookLoad(const uint32_t* word) {
  uint32_t value = 0;
  if (Replays(&value, sizeof(value))) return value;
  Read(OffsetOf(word), &value, sizeof(value));
  Remember("loads", &value, sizeof(value));
  return value;
}

void HookStore(uint32_t* word, uint32_t value) {
  uint8_t done = 1;
  if (Replays(&done, 1)) return;
  if (kStoresAreOrdered) {
    Drain(step.agent);
    Write(OffsetOf(word), &value, sizeof(value));
  } else {
    Buffer(OffsetOf(word), &value, sizeof(value));
  }
  Remember("stores", &done, 1);
}

uint32_t HookExchange(uint32_t* word, uint32_t value) {
  uint32_t before = 0;
  if (Replays(&before, sizeof(before))) return before;
  Drain(step.agent);
  Read(OffsetOf(word), &before, sizeof(before));
  Write(OffsetOf(word), &value, sizeof(value));
  Remember("exchanges", &before, sizeof(before));
  return before;
}

void CopyHalf(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  if (IsInRing(to)) {
    uint8_t done = 1;
    if (Replays(&done, 1)) return;
    Buffer(OffsetOf(to), from, bytes);
    Remember("copies half an entry into the ring", &done, 1);
    return;
  }
  if (Replays(to, bytes)) return;
  Read(OffsetOf(from), to, bytes);
  Remember("copies half an entry out of the ring", to, bytes);
}

// The latter half first: who trusts what he has not waited for finds the old one in it.
void HookCopy(void* to, const void* from, size_t bytes) {
  constexpr uint32_t kHalf = 32;
  CopyHalf(static_cast<uint8_t*>(to) + kHalf, static_cast<const uint8_t*>(from) + kHalf,
           static_cast<uint32_t>(bytes) - kHalf);
  CopyHalf(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), kHalf);
}

// 0 .. n - 1: each is tried.
int Choose(int n) {
  uint8_t chosen = 0;
  if (Replays(&chosen, 1)) return chosen;
  step.num_choices = n;
  chosen = static_cast<uint8_t>(step.choice);
  Remember("chooses", &chosen, 1);
  return chosen;
}

// Something that is not of the ring; it can only happen while `may` holds.
template <typename May, typename Do>
void Event(const char* what, May may, Do act) {
  uint8_t done = 1;
  if (Replays(&done, 1)) return;
  if (!may()) {
    step.is_blocked = true;
    Leave();
  }
  act();
  Remember(what, &done, 1);
}

void Always(const char* what, void (*act)()) {
  Event(
      what, [] { return true; }, act);
}

// The kernel looks at the word, and puts the thread to sleep, as one.
bool FallAsleep(const uint32_t* word) {
  uint8_t sleeps = 0;
  if (Replays(&sleeps, 1)) return sleeps != 0;
  uint32_t value = 0;
  Drain(step.agent);
  Read(OffsetOf(word), &value, sizeof(value));
  sleeps = value == 1;
  step.state->client_sleeps = sleeps != 0;
  Remember("asks the futex", &sleeps, 1);
  return sleeps != 0;
}

// Sleeps until it is woken, or, if it may, by itself. True: it was the latter.
bool WakesByItself(bool may) {
  uint8_t does = 0;
  if (Replays(&does, 1)) return does != 0;
  if (step.state->client_sleeps && !may) {
    step.is_blocked = true;
    Leave();
  }
  does = std::exchange(step.state->client_sleeps, false);
  Remember("wakes up", &does, 1);
  return does != 0;
}

// ---- the agents: one round of the loop of each

BasebandRing Ring() { return baseband_ring_at(mapped, step.run->entries); }

template <typename Entry>
Entry Filled(uint64_t id, uint8_t pattern) {
  Entry entry;
  std::memset(&entry, pattern, sizeof(entry));
  entry.id = id;
  return entry;
}

template <typename Entry>
void CheckWhole(const Entry& entry, uint64_t id, uint8_t pattern) {
  const Entry expected = Filled<Entry>(id, pattern);
  if (std::memcmp(&entry, &expected, offsetof(Entry, sequence)) != 0) {
    Mistake("an entry is not what was written as the next one");
  }
}

uint8_t SubmissionPattern(int request) { return static_cast<uint8_t>(0x10 + request); }
uint8_t CompletionPattern(int place) { return static_cast<uint8_t>(0x80 + place); }

void Submit(Locals* mine) {
  const BasebandRing ring = Ring();
  const int request = mine->submitted++;
  const auto submission =
      Filled<BasebandSubmission>(static_cast<uint64_t>(request) + 1, SubmissionPattern(request));
  if (baseband_ring_submit(&ring, step.run->first + static_cast<uint64_t>(request), &submission)) {
    Always("rings the bell", [] { step.state->bell = true; });
  }
}

void Poll(Locals* mine) {
  const BasebandRing ring = Ring();
  const uint64_t n = step.run->first + static_cast<uint64_t>(mine->completed);
  BasebandCompletion completion;
  if (baseband_ring_next(&ring, n, &completion)) {
    CheckWhole(completion, completion.id, CompletionPattern(mine->completed++));
    const uint64_t id = completion.id;
    if (id < 1 || id > static_cast<uint64_t>(step.run->requests) || (mine->jobs >> id & 1) != 0) {
      Mistake("a request is completed twice, or is none");
    }
    mine->jobs |= 1U << id;
    return;
  }
  if (!baseband_ring_client_may_sleep(&ring, n)) return;
  if (FallAsleep(&ring.header->client_waits) && WakesByItself(mine->timeouts > 0)) {
    --mine->timeouts;
  }
  BASEBAND_RING_STORE(&ring.header->client_waits, 0);
}

void RunClient(Locals* mine) {
  const bool may_submit =
      mine->submitted < step.run->requests &&
      static_cast<uint32_t>(mine->submitted - mine->completed) < step.run->entries;
  if (may_submit && (mine->submitted == mine->completed || Choose(2) == 0)) {
    Submit(mine);
  } else {
    Poll(mine);
  }
}

void RunSubmitter(Locals* mine) {
  Event(
      "sees that there is room",
      [mine] {
        const int32_t read = step.state->locals[kPoller].completed;
        return static_cast<uint32_t>(mine->submitted - read) < step.run->entries;
      },
      [] {});
  Submit(mine);
}

void RunServer(Locals* mine) {
  const BasebandRing ring = Ring();
  const int jobs = __builtin_popcount(mine->jobs);
  int chosen = jobs == 0 ? 0 : Choose(jobs + 1);
  if (chosen > 0) {
    uint32_t left = mine->jobs;
    while (--chosen > 0) left &= left - 1;
    const int request = __builtin_ctz(left);
    mine->jobs &= ~(1U << request);
    const auto completion = Filled<BasebandCompletion>(static_cast<uint64_t>(request) + 1,
                                                       CompletionPattern(mine->completed));
    const uint64_t n = step.run->first + static_cast<uint64_t>(mine->completed++);
    if (baseband_ring_complete(&ring, n, &completion)) {
      Always("wakes the client", [] { step.state->client_sleeps = false; });
    }
    return;
  }
  const uint64_t k = step.run->first + static_cast<uint64_t>(mine->submitted);
  BasebandSubmission submission;
  if (baseband_ring_take(&ring, k, &submission)) {
    const int request = mine->submitted++;
    if (request >= step.run->requests) Mistake("more is taken than was submitted");
    CheckWhole(submission, static_cast<uint64_t>(request) + 1, SubmissionPattern(request));
    mine->jobs |= 1U << request;
    return;
  }
  if (!baseband_ring_server_may_sleep(&ring, k)) return;
  Always("waits for the bell", [] { step.state->server_sleeps = true; });
  // The end of a job wakes it too.
  Event(
      "wakes up", [jobs] { return step.state->bell || jobs > 0; },
      [] { step.state->bell = step.state->server_sleeps = false; });
}

bool IsDone(const RingRun& run, const State& state, Agent agent) {
  const Locals& mine = state.locals[agent];
  switch (agent) {
    case kClient:
      return run.has_two_threads ? mine.submitted == run.requests : mine.completed == run.requests;
    case kPoller:
      return !run.has_two_threads || mine.completed == run.requests;
    default:
      return mine.completed == run.requests;
  }
}

// ---- the search

// Runs the agent's round up to and with its next access. False: it cannot go on.
bool Take(const RingRun& run, Agent agent, int choice, State* state) {
  step.run = &run;
  step.state = state;
  step.agent = agent;
  step.choice = choice;
  step.cursor = 0;
  step.is_done = false;
  step.is_blocked = false;
  step.num_choices = 1;
  step.mistake = nullptr;
  Locals* const locals = &state->locals[agent];
  static Locals mine;  // survives the jump
  mine = *locals;
  if (setjmp(step.out) == 0) {
    if (agent == kServer) {
      RunServer(&mine);
    } else if (agent == kPoller) {
      Poll(&mine);
    } else if (run.has_two_threads) {
      RunSubmitter(&mine);
    } else {
      RunClient(&mine);
    }
    *locals = mine;  // the round is over
    state->seen[agent].clear();
  }
  return !step.is_blocked;
}

class Hash {
 public:
  void Add(const void* data, size_t bytes) {
    const auto* const at = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < bytes; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
      Mix(word);
    }
    Mix(bytes);
  }
  unsigned __int128 value() const { return static_cast<unsigned __int128>(high_) << 64 | low_; }

 private:
  void Mix(uint64_t word) {
    low_ = (low_ ^ word) * 0x9e3779b97f4a7c15;
    low_ ^= low_ >> 29;
    high_ = (high_ + word) * 0xd1342543de82ef95;
    high_ ^= high_ >> 31;
  }
  uint64_t low_ = 1;
  uint64_t high_ = 2;
};

struct HalfOf {
  size_t operator()(unsigned __int128 value) const { return static_cast<size_t>(value); }
};

// Two states with the same 128 bits are taken for one.
unsigned __int128 HashOf(const State& state) {
  Hash hash;
  hash.Add(state.memory, sizeof(state.memory));
  hash.Add(state.locals, sizeof(state.locals));
  for (int agent = 0; agent < kAgents; ++agent) {
    hash.Add(state.seen[agent].data(), state.seen[agent].size());
    for (const Pending& store : state.buffers[agent]) hash.Add(&store, sizeof(store));
    hash.Add(nullptr, 0);
  }
  const uint8_t flags[] = {state.client_sleeps, state.server_sleeps, state.bell};
  hash.Add(flags, sizeof(flags));
  return hash.value();
}

State InitialState(const RingRun& run) {
  State state;
  // As `entries` requests before have left the places.
  const BasebandRing ring = baseband_ring_at(state.memory, run.entries);
  for (uint64_t k = run.first; k < run.first + run.entries && run.first > 0; ++k) {
    const uint32_t before = baseband_ring_sequence(k - run.entries);
    ring.submissions[k & (run.entries - 1)].sequence = before;
    ring.completions[k & (run.entries - 1)].sequence = before;
  }
  for (Locals& locals : state.locals) locals.timeouts = run.timeouts;
  return state;
}

// A side that sleeps though what it waits for is there, and the other is not about to wake it.
const char* LostWake(const RingRun& run, State* state) {
  const BasebandRing ring = baseband_ring_at(state->memory, run.entries);
  const Agent poller = run.has_two_threads ? kPoller : kClient;
  const uint64_t n = run.first + static_cast<uint64_t>(state->locals[poller].completed);
  const uint64_t k = run.first + static_cast<uint64_t>(state->locals[kServer].submitted);
  const uint64_t mask = run.entries - 1;
  if (state->client_sleeps && state->seen[kServer].empty() &&
      ring.completions[n & mask].sequence == baseband_ring_sequence(n)) {
    return "the client sleeps, and a completion is there";
  }
  if (state->server_sleeps && !state->bell && state->seen[kClient].empty() &&
      ring.submissions[k & mask].sequence == baseband_ring_sequence(k)) {
    return "the server sleeps, and a submission is there";
  }
  return nullptr;
}

class Search {
 public:
  explicit Search(const RingRun& run) : run_(run) {}

  RingRunResult Run() {
    Add(InitialState(run_), Node());
    while (!open_.empty() && result_.mistake.empty()) {
      auto [state, node] = std::move(open_.back());
      open_.pop_back();
      Expand(state, node);
    }
    return result_;
  }

 private:
  void Expand(const State& state, int64_t node) {
    bool is_over = true;  // all are done
    bool goes_on = false;
    for (int i = 0; i < kAgents; ++i) {
      const Agent agent = static_cast<Agent>(i);
      goes_on |= Flush(state, node, agent);
      if (IsDone(run_, state, agent)) continue;
      is_over = false;
      int choices = 1;
      for (int choice = 0; choice < choices && result_.mistake.empty(); ++choice) {
        State next = state;
        if (!Take(run_, agent, choice, &next)) break;
        choices = step.num_choices;
        goes_on = true;
        const char* const mistake = step.mistake;
        Reach(std::move(next), Node{node, step.what, static_cast<uint8_t>(agent)}, mistake);
      }
    }
    if (!is_over && !goes_on) Report("all sleep", node);
  }

  // Stores that become visible, one at a time. False: there is none.
  bool Flush(const State& state, int64_t node, Agent agent) {
    const size_t waiting = state.buffers[agent].size();
    for (size_t i = 0; i < waiting && (i == 0 || run_.order == StoreOrder::kUnordered); ++i) {
      State next = state;
      std::vector<Pending>& buffer = next.buffers[agent];
      std::memcpy(next.memory + buffer[i].offset, buffer[i].data, buffer[i].bytes);
      buffer.erase(buffer.begin() + static_cast<int64_t>(i));
      Reach(std::move(next), Node{node, "has a store seen", static_cast<uint8_t>(agent)}, nullptr);
    }
    return waiting > 0;
  }

  void Reach(State state, const Node& node, const char* mistake) {
    ++result_.steps;
    if (mistake == nullptr) mistake = LostWake(run_, &state);
    if (mistake != nullptr) {
      nodes_.push_back(node);
      Report(mistake, static_cast<int64_t>(nodes_.size()) - 1);
      return;
    }
    Add(std::move(state), node);
  }

  void Add(State state, const Node& node) {
    if (!known_.insert(HashOf(state)).second) return;
    ++result_.states;
    nodes_.push_back(node);
    open_.emplace_back(std::move(state), static_cast<int64_t>(nodes_.size()) - 1);
  }

  void Report(const char* mistake, int64_t node) {
    if (!result_.mistake.empty()) return;
    std::string way;
    for (; node > 0; node = nodes_[static_cast<size_t>(node)].parent) {
      const Node& here = nodes_[static_cast<size_t>(node)];
      way = std::string(kAgentNames[here.agent]) + " " + here.what + "\n" + way;
    }
    result_.mistake = std::string(mistake) + ":\n" + way;
  }

  const RingRun run_;
  RingRunResult result_;
  std::unordered_set<unsigned __int128, HalfOf> known_;
  std::vector<Node> nodes_;
  std::vector<std::pair<State, int64_t>> open_;  // depth first
};

}  // namespace

namespace baseband::testing {

RingRunResult RING_EXPLORER(const RingRun& run) { return Search(run).Run(); }

}  // namespace baseband::testing
