// A dispatcher under any schedule of any jobs, and what must hold of it all the same.
#ifndef BASEBAND_TESTS_SUPPORT_RANDOM_SCHEDULE_H_
#define BASEBAND_TESTS_SUPPORT_RANDOM_SCHEDULE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/batching/dispatcher.h"
#include "tests/support/puppet_device.h"
#include "tests/support/test_operations.h"

namespace baseband::server {

// Jobs of zero, tiny, huge and nonsensical work, of all classes, clients, shapes and deadlines
// come, run for any time and end in any order, well or not, while the clock moves as far as it
// likes.
class RandomSchedule {
 public:
  // All that is random: some value in [0, below).
  using Draw = std::function<uint32_t(uint32_t below)>;

  explicit RandomSchedule(Draw draw);
  ~RandomSchedule();

  // One random step.
  void Step();
  // Ends what runs until nothing waits.
  void Finish();
  // Whether two clients with steady work then share the device as they should, and deadlines are
  // judged as they should. After Finish.
  void CheckSteadyService();
  // What did not hold so far; empty: nothing. Of what Finish brings about, only after it.
  const std::string& fault() const { return fault_; }

 private:
  struct Client;  // of CheckSteadyService

  JobPtr RandomJob();
  // Whether it was accepted.
  bool Submit(JobPtr job, std::function<void(const Job&)> done = nullptr);
  JobPtr SteadyJob(const std::string& client);
  void EndOne(int run, absl::Status status);
  void CheckJob(const Job& job);
  void CheckMetrics();
  void Expect(bool holds, const std::string& what);

  const Draw draw_;
  std::string fault_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  Metrics metrics_{"test", TestOperations().counted()};
  PuppetDevice device_{2};
  std::vector<int> answers_;  // by accepted job
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_SUPPORT_RANDOM_SCHEDULE_H_
