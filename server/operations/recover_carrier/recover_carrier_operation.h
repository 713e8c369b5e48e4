// RecoverCarrier as the server knows it.
#ifndef BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_OPERATION_H_
#define BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_OPERATION_H_

#include <memory>

#include "server/jobs/operation.h"
#include "server/operations/recover_carrier/carrier_models.h"

namespace baseband::server {

std::unique_ptr<Operation> MakeRecoverCarrierOperation(std::shared_ptr<CarrierModels> models);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_OPERATION_H_
