// Shows ThreadSanitizer the locks of the packaged Abseil.
//
// The distribution's libabsl_synchronization is not built with ThreadSanitizer, and it waits by
// futex, not by pthread: every absl::Mutex would look like no lock at all, and every member that it
// guards like a race. The functions below stand in front of the library's (the dynamic linker takes
// a program's own first), do what it does, and tell the sanitizer what is ordered before what. gRPC
// locks through the same functions; but its completion queues mostly do without locks, so who
// starts an operation and who gets its tag are told apart from the others by that tag.
//
// Only for programs built with -fsanitize=thread; links into each of them.
#include <dlfcn.h>
#include <grpc/grpc.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/base/options.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

// gRPC, Protocol Buffers and Abseil are not instrumented either: what they do with memory by
// themselves is not judged.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

namespace {

#define BASEBAND_STRING_(x) #x
#define BASEBAND_STRING(x) BASEBAND_STRING_(x)

// The library's function. `name` is its mangled name, @ standing for Abseil's inline namespace.
void* Find(std::string name) {
#if ABSL_OPTION_USE_INLINE_NAMESPACE == 1
  const std::string space = BASEBAND_STRING(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  name.replace(name.find('@'), 1, std::to_string(space.size()) + space);
#else
#error "without an inline namespace the substitutions in the mangled names differ"
#endif
  void* function = dlsym(RTLD_NEXT, name.c_str());
  if (function == nullptr) {
    std::fprintf(stderr, "tsan_absl: %s is not in the Abseil library\n", name.c_str());
    std::abort();
  }
  return function;
}

// The library's function does the locking but is not seen to do it. While it runs it evaluates
// conditions, with the lock held; to the sanitizer that is after the release, so reads do not
// count.
template <typename R, typename Object, typename... Args>
R Call(void* function, Object* object, Args... args) {
  struct IgnoreReads {
    IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
    ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
  } ignore_reads;
  return reinterpret_cast<R (*)(Object*, Args...)>(function)(object, args...);
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static void* const real = Find("_ZN4absl@5Mutex4LockEv");
  Call<void>(real, this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static void* const real = Find("_ZN4absl@5Mutex6UnlockEv");
  __tsan_release(this);
  Call<void>(real, this);
}

bool Mutex::TryLock() {
  static void* const real = Find("_ZN4absl@5Mutex7TryLockEv");
  const bool locked = Call<bool>(real, this);
  if (locked) {
    __tsan_acquire(this);
  }
  return locked;
}

void Mutex::ReaderLock() {
  static void* const real = Find("_ZN4absl@5Mutex10ReaderLockEv");
  Call<void>(real, this);
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  static void* const real = Find("_ZN4absl@5Mutex12ReaderUnlockEv");
  __tsan_release(this);
  Call<void>(real, this);
}

void Mutex::LockWhen(const Condition& condition) {
  static void* const real = Find("_ZN4absl@5Mutex8LockWhenERKNS0_9ConditionE");
  __tsan_release(this);  // other threads evaluate the condition
  Call<void, Mutex, const Condition&>(real, this, condition);
  __tsan_acquire(this);
}

void Mutex::Await(const Condition& condition) {
  static void* const real = Find("_ZN4absl@5Mutex5AwaitERKNS0_9ConditionE");
  __tsan_release(this);
  Call<void, Mutex, const Condition&>(real, this, condition);
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static void* const real =
      Find("_ZN4absl@5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  __tsan_release(this);
  const bool result = Call<bool, Mutex, const Condition&, Duration>(real, this, condition, timeout);
  __tsan_acquire(this);
  return result;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static void* const real = Find("_ZN4absl@5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  __tsan_release(this);
  const bool result = Call<bool, Mutex, const Condition&, Time>(real, this, condition, deadline);
  __tsan_acquire(this);
  return result;
}

void CondVar::Wait(Mutex* mutex) {
  static void* const real = Find("_ZN4absl@7CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  Call<void, CondVar, Mutex*>(real, this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static void* const real = Find("_ZN4absl@7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mutex);
  const bool result = Call<bool, CondVar, Mutex*, Duration>(real, this, mutex, timeout);
  __tsan_acquire(mutex);
  return result;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static void* const real = Find("_ZN4absl@7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool result = Call<bool, CondVar, Mutex*, Time>(real, this, mutex, deadline);
  __tsan_acquire(mutex);
  return result;
}

void Notification::Notify() {
  static void* const real = Find("_ZN4absl@12Notification6NotifyEv");
  __tsan_release(this);
  Call<void>(real, this);
}

void Notification::WaitForNotification() const {
  static void* const real = Find("_ZNK4absl@12Notification19WaitForNotificationEv");
  Call<void>(real, this);
  __tsan_acquire(const_cast<Notification*>(this));
}

bool BlockingCounter::DecrementCount() {
  static void* const real = Find("_ZN4absl@15BlockingCounter14DecrementCountEv");
  __tsan_release(this);
  return Call<bool>(real, this);
}

void BlockingCounter::Wait() {
  static void* const real = Find("_ZN4absl@15BlockingCounter4WaitEv");
  Call<void>(real, this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl

namespace {

// gRPC's function of that (mangled) name, whose type is that of `ours`.
template <typename Function>
Function* FindGrpc(Function*, const char* name) {
  void* const function = dlsym(RTLD_NEXT, name);
  if (function == nullptr) {
    std::fprintf(stderr, "tsan_absl: %s is not in the gRPC library\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(function);
}

}  // namespace

extern "C" grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count,
                                                 void* tag, void* reserved) {
  static auto* const real = FindGrpc(&grpc_call_start_batch, "grpc_call_start_batch");
  __tsan_release(tag);
  return real(call, ops, count, tag, reserved);
}

extern "C" grpc_event grpc_completion_queue_next(grpc_completion_queue* queue,
                                                 gpr_timespec deadline, void* reserved) {
  static auto* const real = FindGrpc(&grpc_completion_queue_next, "grpc_completion_queue_next");
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

// Of alarms, and of whatever else gRPC begins in C++.
bool grpc_cq_begin_op(grpc_completion_queue* queue, void* tag) {
  static auto* const real =
      FindGrpc(&grpc_cq_begin_op, "_Z16grpc_cq_begin_opP21grpc_completion_queuePv");
  __tsan_release(tag);
  return real(queue, tag);
}
