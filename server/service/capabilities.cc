#include "server/service/capabilities.h"

#include <string>

#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"

namespace baseband::server {

v1::GetCapabilitiesResponse DescribeServer(const Config& config) {
  v1::GetCapabilitiesResponse response;
  response.set_version(std::string(Version()));
  response.set_max_request_bytes(static_cast<uint64_t>(MibToBytes(config.max_request_mib)));
  response.set_max_blocks_per_request(static_cast<uint32_t>(config.max_blocks_per_request));
  response.set_queue_capacity_requests(static_cast<uint32_t>(config.queue_requests));
  response.set_queue_capacity_bytes(static_cast<uint64_t>(MibToBytes(config.queue_mib)));
  v1::LdpcCapabilities& ldpc = *response.mutable_ldpc();
  for (const int zc : ldpc::NrLiftingSizes()) {
    ldpc.add_nr_lifting_sizes(static_cast<uint32_t>(zc));
  }
  for (const char* rate : {"1/2", "2/3A", "2/3B", "3/4A", "3/4B", "5/6"}) {
    ldpc.add_wimax_rates(rate);
  }
  for (uint32_t n = 576; n <= 2304; n += 96) {
    ldpc.add_wimax_n(n);
  }
  for (const char* rate : {"1/2", "2/3", "3/4", "5/6"}) {
    ldpc.add_wifi_rates(rate);
  }
  for (const uint32_t n : {648U, 1296U, 1944U}) {
    ldpc.add_wifi_n(n);
  }
  ldpc.set_max_custom_rows(ldpc::kMaxRows);
  ldpc.set_max_custom_columns(ldpc::kMaxColumns);
  ldpc.set_max_custom_zc(ldpc::kMaxZc);
  ldpc.set_max_custom_blocks(ldpc::kMaxEdges);
  ldpc.set_max_iterations(ldpc::kMaxIterations);
  ldpc.set_llr_bits(8);
  ldpc.set_recommended_llr_scale(4.0F);
  return response;
}

void AddDevices(absl::Span<Device* const> devices, v1::GetCapabilitiesResponse* response) {
  for (const Device* device : devices) {
    v1::DeviceCapabilities& entry = *response->add_devices();
    entry.set_kind(device->kind());
    entry.set_name(device->name());
    entry.set_lanes(static_cast<uint32_t>(device->lanes().size()));
    entry.set_memory_bytes(static_cast<uint64_t>(device->memory_bytes()));
    entry.set_healthy(device->healthy());
  }
}

}  // namespace baseband::server
