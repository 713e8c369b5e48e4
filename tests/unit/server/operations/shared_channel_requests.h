// Right requests of shared channels, to be changed by tests of what is wrong.
#ifndef BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_SHARED_CHANNEL_REQUESTS_H_
#define BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_SHARED_CHANNEL_REQUESTS_H_

#include <string>

#include "baseband/v1/baseband.pb.h"
#include "tests/support/convert_request.h"
#include "tests/support/test_operations.h"

namespace baseband::server {

inline v1::SharedChannelBlock TransportBlock() {
  v1::SharedChannelBlock block;
  block.set_qm(4);
  block.mutable_transport_block()->set_tb_bytes(100);
  block.mutable_transport_block()->set_base_graph(1);
  block.mutable_transport_block()->set_g(1600);
  return block;
}

inline v1::SharedChannelBlock CodeBlock() {
  v1::SharedChannelBlock block;
  block.set_qm(4);
  block.mutable_code_block()->set_base_graph(2);
  block.mutable_code_block()->set_zc(16);
  block.mutable_code_block()->set_e(400);
  return block;
}

inline v1::EncodeSharedChannelRequest EncodeOf(const v1::SharedChannelBlock& block, int64_t bytes) {
  v1::EncodeSharedChannelRequest request;
  *request.add_groups()->mutable_block() = block;
  request.mutable_groups(0)->set_count(1);
  request.set_payload(std::string(static_cast<size_t>(bytes), '\0'));
  return request;
}
inline v1::DecodeSharedChannelRequest DecodeOf(const v1::SharedChannelBlock& block, int64_t bytes) {
  v1::DecodeSharedChannelRequest request;
  *request.add_groups()->mutable_block() = block;
  request.mutable_groups(0)->set_count(1);
  request.set_payload(std::string(static_cast<size_t>(bytes), '\0'));
  return request;
}

inline absl::StatusOr<JobPtr> Convert(const v1::EncodeSharedChannelRequest& request) {
  return ConvertRequest(TestOperation("EncodeSharedChannel"), request);
}
inline absl::StatusOr<JobPtr> Convert(const v1::DecodeSharedChannelRequest& request,
                                      int64_t max_blocks = 1 << 20) {
  return ConvertRequest(TestOperation("DecodeSharedChannel"), RequestOf(request), max_blocks);
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_SHARED_CHANNEL_REQUESTS_H_
