#include "server/operations/decode.h"
#include "server/operations/downconvert.h"
#include "server/operations/encode.h"
#include "server/operations/job.h"
#include "server/operations/minimize.h"
#include "server/operations/recover_carrier.h"

namespace baseband::server {

std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) {
  switch (jobs.front()->operation()) {
    case OperationKind::kEncode:
      return MakeEncodeBatch(std::move(jobs));
    case OperationKind::kDecode:
      return MakeDecodeBatch(std::move(jobs));
    case OperationKind::kRecoverCarrier:
      return MakeRecoverCarrierBatch(std::move(jobs));
    case OperationKind::kDownconvert:
      return MakeDownconvertBatch(std::move(jobs));
    case OperationKind::kMinimize:
      return MakeMinimizeBatch(std::move(jobs));
  }
  return nullptr;
}

}  // namespace baseband::server
