#include "tests/bench/contention.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "tests/bench/workloads.h"

namespace baseband::bench {
namespace {

constexpr int kSearches = 1000;
constexpr int kSearchesPerEncode = 4;

// Searches 2^36 points over and over until it is destroyed.
class LongSearch {
 public:
  explicit LongSearch(const std::string& target)
      : stub_(v1::Baseband::NewStub(Connect(target))), thread_([this] { Work(); }) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int64_t* points) { return *points > 0; }, &points_));
  }
  ~LongSearch() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      context_->TryCancel();
    }
    thread_.join();
  }
  // Searched so far.
  int64_t points() {
    absl::MutexLock lock(&mutex_);
    return points_;
  }

 private:
  void Work() {
    v1::MinimizeRequest request = SchwefelSearch(int64_t{1} << 36);
    request.set_progress_interval_ms(10);
    for (int64_t before = 0;; before = points()) {
      {
        absl::MutexLock lock(&mutex_);
        if (stopping_) return;
        context_ = std::make_unique<grpc::ClientContext>();
      }
      const auto reader = stub_->Minimize(context_.get(), request);
      for (v1::MinimizeResponse response; reader->Read(&response);) {
        const uint64_t points =
            response.has_answer() ? response.answer().evaluations() : response.progress().points();
        absl::MutexLock lock(&mutex_);
        points_ = before + static_cast<int64_t>(points);
      }
      const grpc::Status status = reader->Finish();
      absl::MutexLock lock(&mutex_);
      if (!status.ok() && !stopping_) Fail(absl::StrCat("long search: ", status.error_message()));
    }
  }

  const std::unique_ptr<v1::Baseband::Stub> stub_;
  absl::Mutex mutex_;
  std::unique_ptr<grpc::ClientContext> context_;
  int64_t points_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: uses all of the above
};

struct Times {
  std::vector<double> searches_us;
  std::vector<double> encodes_us;
};

Times CallAll(Caller& caller, const Workload& search, const Workload& encode) {
  Times times;
  grpc::ByteBuffer reply;
  const auto call = [&](const Workload& workload, std::vector<double>* us) {
    us->push_back(caller.Call(workload.method, workload.request, &reply));
    if (!workload.is_right(reply)) Fail(absl::StrCat(workload.name, ": a reply is wrong"));
  };
  for (int i = 0; i < kSearches; ++i) {
    call(search, &times.searches_us);
    if (i % kSearchesPerEncode == 0) call(encode, &times.encodes_us);
  }
  return times;
}

void Print(const std::string& name, std::vector<double>& idle, std::vector<double>& beside) {
  const auto row = [](const std::string& label, std::vector<double>& us) {
    std::printf("%-36s %9.1f %9.1f %9.1f %9zu\n", label.c_str(), Percentile(us, 0.5),
                Percentile(us, 0.9), Percentile(us, 0.99), us.size());
  };
  row(absl::StrCat(name, ", idle"), idle);
  row("  beside the long search", beside);
  std::printf("  p99 beside / idle: %.2f, to be at most 3\n",
              Percentile(beside, 0.99) / Percentile(idle, 0.99));
}

}  // namespace

void MeasureContention(const std::string& target) {
  Caller caller(target);
  const Workload search = MinimizeWorkload(caller, 1000);
  const Workload encode = EncodeWorkload(caller, 1);
  (void)CallAll(caller, search, encode);  // warm
  Times idle = CallAll(caller, search, encode);
  Times beside;
  double points = 0;
  {
    LongSearch long_search(target);
    const int64_t before = long_search.points();
    beside = CallAll(caller, search, encode);
    points = static_cast<double>(long_search.points() - before);
  }
  std::printf("\ncontention, one call at a time beside a search of 2^36 points, one connection\n");
  std::printf("%-36s %9s %9s %9s %9s\n", "", "p50 us", "p90 us", "p99 us", "calls");
  Print(search.name, idle.searches_us, beside.searches_us);
  Print(encode.name, idle.encodes_us, beside.encodes_us);
  double us = 0;
  for (const auto* times : {&beside.searches_us, &beside.encodes_us}) {
    for (const double time : *times) us += time;
  }
  std::printf("  the long search meanwhile: %.3g points/s\n", points / us * 1e6);
}

}  // namespace baseband::bench
