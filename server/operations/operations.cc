#include "server/operations/operations.h"

#include "server/operations/decode/decode_operation.h"
#include "server/operations/downconvert/downconvert_operation.h"
#include "server/operations/encode/encode_operation.h"
#include "server/operations/minimize/minimize_operation.h"
#include "server/operations/recover_carrier/recover_carrier_operation.h"
#include "server/operations/shared_channel/decode_shared_channel_operation.h"
#include "server/operations/shared_channel/encode_shared_channel_operation.h"

namespace baseband::server {

OperationTable MakeOperations(const OperationCaches& caches) {
  OperationTable operations;
  operations.Add(MakeEncodeOperation(caches.codes));
  operations.Add(MakeDecodeOperation(caches.codes));
  operations.Add(MakeEncodeSharedChannelOperation());
  operations.Add(MakeDecodeSharedChannelOperation());
  operations.Add(MakeRecoverCarrierOperation(caches.models));
  operations.Add(MakeDownconvertOperation(caches.filters));
  operations.Add(MakeMinimizeOperation());
  return operations;
}

}  // namespace baseband::server
