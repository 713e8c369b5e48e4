// The operations of this server.
#ifndef BASEBAND_SERVER_OPERATIONS_OPERATIONS_H_
#define BASEBAND_SERVER_OPERATIONS_OPERATIONS_H_

#include <memory>

#include "server/jobs/operation.h"
#include "server/operations/downconvert/downconvert_setup.h"
#include "server/operations/ldpc/ldpc_codes.h"
#include "server/operations/recover_carrier/carrier_models.h"

namespace baseband::server {

// What requests name and is costly to make; shared by operations and whoever describes them.
struct OperationCaches {
  std::shared_ptr<LdpcCodes> codes = std::make_shared<LdpcCodes>();
  std::shared_ptr<CarrierModels> models = std::make_shared<CarrierModels>();
  std::shared_ptr<DownconvertFilters> filters = std::make_shared<DownconvertFilters>();
};

// All of them. A new operation adds its line.
OperationTable MakeOperations(const OperationCaches& caches = OperationCaches());

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_OPERATIONS_H_
