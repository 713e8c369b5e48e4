// What RecoverCarrier of the real server refuses.
#ifndef BASEBAND_TESTS_INTEGRATION_CARRIER_REFUSALS_H_
#define BASEBAND_TESTS_INTEGRATION_CARRIER_REFUSALS_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/support/carrier_traffic.h"
#include "tests/support/server_test.h"

namespace baseband::testing {

class CarrierRefusalsTest : public ServerTest {
 protected:
  // The message that `group`, with float32 zeros for each of its frames, is refused with.
  static std::string Refusal(const v1::CarrierGroup& group) {
    const size_t received = group.has_timing() ? group.frame_samples() : group.frame_symbols();
    v1::RecoverCarrierRequest request;
    *request.add_groups() = group;
    request.set_payload(std::string(8 * received * group.count(), '\0'));
    v1::RecoverCarrierResponse response;
    const grpc::Status status = Call(*stub_, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  }
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_INTEGRATION_CARRIER_REFUSALS_H_
