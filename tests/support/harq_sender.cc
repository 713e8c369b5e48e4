// Sends transmissions whose soft bits the server has to hold, a block of two of them every 100 ms,
// until it is ended.
//
//   harq_sender TARGET
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/shared_channel_traffic.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: harq_sender TARGET\n");
    return 2;
  }
  const auto stub = baseband::v1::Baseband::NewStub(
      grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  constexpr uint32_t kBits = 1000;
  baseband::v1::DecodeSharedChannelRequest request;
  baseband::v1::DecodeSharedChannelGroup& group = *request.add_groups();
  group.set_count(1);
  group.mutable_block()->set_qm(2);
  baseband::v1::TransportBlock& block = *group.mutable_block()->mutable_transport_block();
  block.set_tb_bytes(40);
  block.set_base_graph(2);
  block.set_g(kBits);
  request.set_payload(std::string(kBits, '\x10'));
  for (uint32_t sent = 0;; ++sent) {
    group.mutable_harq()->set_key(std::to_string(sent / 2 % 16));
    group.mutable_harq()->set_transmission(sent % 2);
    baseband::v1::DecodeSharedChannelResponse response;
    (void)baseband::testing::Call(*stub, request, &response);
    absl::SleepFor(absl::Milliseconds(50));
  }
}
