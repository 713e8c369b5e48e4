#include "tests/support/shared_channel_traffic.h"

#include <string>

#include "absl/time/clock.h"

namespace baseband::testing {

v1::EncodeSharedChannelRequest RandomSlot(std::mt19937* random) {
  const auto below = [random](uint32_t n) { return static_cast<uint32_t>((*random)() % n); };
  v1::EncodeSharedChannelRequest request;
  for (uint32_t g = 1 + below(4); g > 0; --g) {
    constexpr uint32_t kQm[] = {1, 2, 4, 6, 8, 10};
    v1::EncodeSharedChannelGroup& group = *request.add_groups();
    group.set_count(1 + below(3));
    v1::SharedChannelBlock& block = *group.mutable_block();
    block.set_qm(kQm[below(6)]);
    block.set_layers(1 + below(4));
    if (below(2) == 0) block.set_c_init(static_cast<uint32_t>((*random)() >> 1));
    // One code block, or two of 4512 bits and their CRCs.
    v1::TransportBlock& tb = *block.mutable_transport_block();
    tb.set_base_graph(1);
    tb.set_tb_bytes(below(4) == 0 ? 1125 : 3 + below(1000));
    const uint32_t granularity = block.qm() * block.layers();
    const uint32_t sent = 8 * tb.tb_bytes() * 4 / (2 + below(2)) + 100;  // rates 1/2 and 3/4
    tb.set_g((sent / granularity + 2) * granularity);
    for (uint32_t i = group.count() * tb.tb_bytes(); i > 0; --i) {
      request.mutable_payload()->push_back(static_cast<char>((*random)()));
    }
  }
  return request;
}

v1::DecodeSharedChannelRequest DecodeOf(const v1::EncodeSharedChannelRequest& slot,
                                        const v1::EncodeSharedChannelResponse& bits) {
  v1::DecodeSharedChannelRequest request;
  size_t at = 0;
  for (const v1::EncodeSharedChannelGroup& sent : slot.groups()) {
    v1::DecodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = sent.block();
    group.set_count(sent.count());
    const uint32_t g = sent.block().transport_block().g();
    for (uint32_t b = 0; b < sent.count(); ++b, at += (g + 7) / 8) {
      for (uint32_t i = 0; i < g; ++i) {
        const bool one = (bits.payload()[at + i / 8] >> (7 - i % 8) & 1) != 0;
        request.mutable_payload()->push_back(one ? -60 : 60);
      }
      request.mutable_payload()->resize((request.payload().size() + 3) / 4 * 4);
    }
  }
  return request;
}

grpc::Status Call(v1::Baseband::Stub& stub, const v1::EncodeSharedChannelRequest& request,
                  v1::EncodeSharedChannelResponse* response, absl::Duration timeout) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return stub.EncodeSharedChannel(&context, request, response);
}

grpc::Status Call(v1::Baseband::Stub& stub, const v1::DecodeSharedChannelRequest& request,
                  v1::DecodeSharedChannelResponse* response, absl::Duration timeout) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return stub.DecodeSharedChannel(&context, request, response);
}

}  // namespace baseband::testing
