// The service as the transport serves it: the batched operations as raw bytes, GetCapabilities as
// messages.
#ifndef BASEBAND_SERVER_GRPC_ASYNC_SERVICE_H_
#define BASEBAND_SERVER_GRPC_ASYNC_SERVICE_H_

#include "baseband/v1/baseband.grpc.pb.h"

namespace baseband::server {

using AsyncService = v1::Baseband::WithRawMethod_Encode<v1::Baseband::WithRawMethod_Decode<
    v1::Baseband::WithRawMethod_RecoverCarrier<v1::Baseband::WithRawMethod_Downconvert<
        v1::Baseband::WithRawMethod_DownconvertStream<v1::Baseband::WithRawMethod_Minimize<
            v1::Baseband::WithRawMethod_Submit<v1::Baseband::Service>>>>>>>;

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_ASYNC_SERVICE_H_
