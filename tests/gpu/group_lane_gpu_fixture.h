// Fixture of the tests that hold jobs of groups on the lanes of a GPU against the same on the CPU.
#ifndef BASEBAND_TESTS_GPU_GROUP_LANE_GPU_FIXTURE_H_
#define BASEBAND_TESTS_GPU_GROUP_LANE_GPU_FIXTURE_H_

#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "server/operations/decode/decode.h"
#include "server/operations/encode/encode.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "tests/gpu/lane_gpu_fixture.h"

namespace baseband::server {

// Whose jobs these are.
template <typename J>
Operation& OperationOf() {
  return TestOperation(std::is_same_v<J, EncodeJob>   ? "Encode"
                       : std::is_same_v<J, DecodeJob> ? "Decode"
                                                      : "RecoverCarrier");
}

// Jobs of groups, and payloads drawn for them.
class GroupLaneGpuTest : public LaneGpuTest {
 protected:
  template <typename J, typename Group>
  JobPtr MakeJob(const std::vector<Group>& groups, const std::string& payload) {
    return WithPayload(std::make_unique<J>(OperationOf<J>(), groups), payload);
  }
  std::string Random(int64_t bytes) { return Random(bytes, &random_); }
  static std::string Random(int64_t bytes, std::mt19937* random) {
    std::string text;
    for (int64_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>((*random)()));
    return text;
  }

  std::mt19937 random_{5};
};

inline std::vector<ldpc::CodePtr> Codes() {
  return {*ldpc::NrCode(1, 384),  *ldpc::NrCode(2, 3),           *ldpc::NrCode(2, 13, 7),
          *ldpc::NrCode(1, 20),   *ldpc::WimaxCode("3/4B", 672), *ldpc::WifiCode("5/6", 648),
          *ldpc::NrCode(1, 64, 4)};
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_GPU_GROUP_LANE_GPU_FIXTURE_H_
