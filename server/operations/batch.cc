#include "server/operations/decode.h"
#include "server/operations/encode.h"
#include "server/operations/job.h"

namespace baseband::server {

std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) {
  switch (jobs.front()->operation()) {
    case OperationKind::kEncode:
      return MakeEncodeBatch(std::move(jobs));
    case OperationKind::kDecode:
      return MakeDecodeBatch(std::move(jobs));
  }
  return nullptr;
}

}  // namespace baseband::server
