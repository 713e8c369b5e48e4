#include "server/operations/minimize/minimize_operation.h"

#include <utility>

#include "baseband/v1/baseband.pb.h"
#include "server/operations/minimize/minimize.h"
#include "server/operations/minimize/minimize_metrics.h"

namespace baseband::server {
namespace {

class MinimizeOperation final : public Operation {
 public:
  MinimizeOperation() : Operation(Describe()) {}

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<MinimizeMetrics>(registry);
  }

  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return MakeMinimizeBatch(std::move(jobs));
  }
  absl::Status PrepareCuda() const override { return PrepareMinimizeCuda(); }
  absl::Status SelfTest(SelfTestBench& bench) const override { return TestMinimize(*this, bench); }

 private:
  static Description Describe() {
    Description description;
    description.name = "Minimize";
    description.method = Method::kSearch;
    description.payload_field = v1::MinimizeRequest::kPayloadFieldNumber;
    description.is_cut_for_devices = true;
    return description;
  }
};

}  // namespace

std::unique_ptr<Operation> MakeMinimizeOperation() { return std::make_unique<MinimizeOperation>(); }

}  // namespace baseband::server
