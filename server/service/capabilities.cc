#include "server/service/capabilities.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/shm/ring.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/recover.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/grid.h"
#include "kernels/nr/soft_pack.h"
#include "kernels/nr/transport_block.h"
#include "kernels/timing/timing.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

constexpr int kMaxPointsOf = 256;

v1::SharedChannelCapabilities DescribeSharedChannel(const Config& config) {
  v1::SharedChannelCapabilities channel;
  channel.set_llr_size(8);
  channel.set_llr_decimals(2);  // natural LLRs are best taken times 4 to 7
  for (const int mode :
       {v1::SharedChannelBlock::kTransportBlock, v1::SharedChannelBlock::kCodeBlock}) {
    channel.add_modes(v1::SharedChannelBlock::descriptor()->FindFieldByNumber(mode)->name());
  }
  for (const auto crc : {v1::CODE_BLOCK_CRC_24A, v1::CODE_BLOCK_CRC_24B, v1::CODE_BLOCK_CRC_16}) {
    channel.add_code_block_crcs(crc);
  }
  for (const uint32_t qm : {1U, 2U, 4U, 6U, 8U, 10U}) {
    channel.add_qm(qm);
  }
  channel.set_max_layers(nr::kMaxLayers);
  channel.set_max_tb_bytes(nr::kMaxTransportBlockBytes);
  channel.set_max_coded_bits(nr::kMaxCodedBits);
  channel.set_max_tbs_lbrm(nr::kMaxTbsLbrm);
  channel.set_max_iterations(ldpc::kMaxIterations);
  for (int input = v1::SHARED_CHANNEL_INPUT_LLR_INT8; input <= v1::SharedChannelInput_MAX;
       ++input) {
    channel.add_inputs(static_cast<v1::SharedChannelInput>(input));
  }
  for (int output = v1::SHARED_CHANNEL_OUTPUT_BITS; output <= v1::SharedChannelOutput_MAX;
       ++output) {
    channel.add_outputs(static_cast<v1::SharedChannelOutput>(output));
  }
  for (int stop = v1::EARLY_STOP_PARITY; stop <= v1::EarlyStop_MAX; ++stop) {
    channel.add_early_stops(static_cast<v1::EarlyStop>(stop));
  }
  for (const char* flag : {"INTERLEAVER_BYPASS", "RATE_MATCH", "CRC_24A_ATTACH", "CRC_24B_ATTACH",
                           "CRC_16_ATTACH", "ENC_CONCATENATION"}) {
    channel.add_encode_flags(flag);
  }
  for (const char* flag : {"CRC_TYPE_24A_CHECK", "CRC_TYPE_24B_CHECK", "CRC_TYPE_24B_DROP",
                           "CRC_TYPE_16_CHECK", "DEINTERLEAVER_BYPASS", "HQ_COMBINE_IN_ENABLE",
                           "HQ_COMBINE_OUT_ENABLE", "ITERATION_STOP_ENABLE", "LLR_COMPRESSION"}) {
    channel.add_decode_flags(flag);
  }
  channel.set_harq_memory_bytes(static_cast<uint64_t>(MibToBytes(config.object_mib)));
  if (config.object_mib > 0) {
    for (const char* flag :
         {"INTERNAL_HARQ_MEMORY_IN_ENABLE", "INTERNAL_HARQ_MEMORY_OUT_ENABLE",
          "INTERNAL_HARQ_MEMORY_FILLERS", "HARQ_6BIT_COMPRESSION", "HARQ_4BIT_COMPRESSION"}) {
      channel.add_decode_flags(flag);
    }
    for (const int size : nr::kHeldSoftSizes) {
      channel.add_harq_llr_sizes(static_cast<uint32_t>(size));
    }
  }
  return channel;
}

}  // namespace

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
  v1::CarrierCapabilities& carrier = *response.mutable_carrier();
  for (const std::string& name : carrier::ConstellationNames()) {
    carrier.add_constellations(name);
  }
  carrier.set_min_frame_symbols(carrier::kMinSymbols);
  carrier.set_max_frame_symbols(carrier::kMaxSymbols);
  carrier.set_max_points(carrier::kMaxPoints);
  carrier.set_max_power(carrier::kMaxPower);
  carrier.set_max_sweep_bins(carrier::kMaxSweepBins);
  v1::TimingCapabilities& timing = *carrier.mutable_timing();
  timing.set_min_samples_per_symbol(timing::kMinSamplesPerSymbol);
  timing.set_max_samples_per_symbol(timing::kMaxSamplesPerSymbol);
  timing.set_max_samples_per_symbol_term(timing::kMaxRateTerm);
  timing.set_min_roll_off(timing::kMinRolloff);
  timing.set_max_roll_off(timing::kMaxRolloff);
  timing.set_max_clock_error(timing::kMaxClockError);
  timing.set_max_taps_per_symbol(timing::kMaxTapsPerSymbol);
  timing.set_max_taps_reach(timing::kMaxTapsReach);
  v1::DownconvertCapabilities& downconvert = *response.mutable_downconvert();
  downconvert.set_max_channels(downconvert::kMaxChannels);
  downconvert.set_max_taps(downconvert::kMaxTaps);
  downconvert.set_max_up(downconvert::kMaxUp);
  downconvert.set_max_down(downconvert::kMaxDown);
  downconvert.set_max_streams(static_cast<uint32_t>(config.max_streams));
  v1::MinimizeCapabilities& searches = *response.mutable_minimize();
  searches.set_max_axes(minimize::kMaxAxes);
  searches.set_max_points(minimize::kMaxPoints);
  searches.set_max_array_elements(minimize::kMaxArrayElements);
  searches.set_max_searches(static_cast<uint32_t>(config.max_searches));
  *response.mutable_shared_channel() = DescribeSharedChannel(config);
  return response;
}

absl::StatusOr<bool> AddPoints(const v1::GetCapabilitiesRequest& request, CarrierModels& models,
                               const ContinueCheck* may_continue,
                               v1::GetCapabilitiesResponse* response) {
  if (request.points_of_size() > kMaxPointsOf) {
    return absl::InvalidArgumentError(absl::StrCat("points_of has ", request.points_of_size(),
                                                   " names: at most ", kMaxPointsOf,
                                                   " go at once"));
  }
  for (const std::string& name : request.points_of()) {
    v1::Constellation message;
    message.set_name(name);
    absl::StatusOr<carrier::ModelPtr> model =
        models.FromProto(message, v1::AMPLITUDE_WEIGHT_OPTIMAL, 0, may_continue);
    BASEBAND_RETURN_IF_ERROR(Within("points_of: ", model.status()));
    if (*model == nullptr) return false;
    const carrier::Constellation& constellation = (*model)->constellation();
    v1::NamedConstellation& entry = *response->mutable_carrier()->add_points();
    entry.set_name(constellation.name());
    for (const carrier::Iq& point : constellation.points()) {
      entry.add_points(point.i);
      entry.add_points(point.q);
    }
    entry.set_symmetry(static_cast<uint32_t>(constellation.symmetry()));
    entry.set_operating_snr_db(constellation.operating_snr_db());
    entry.set_power(static_cast<uint32_t>((*model)->power()));
  }
  return true;
}

void AddSharedMemory(const Config& config, const RegionTable& regions,
                     v1::GetCapabilitiesResponse* response) {
  v1::SharedMemoryCapabilities& shared = *response->mutable_shared_memory();
  shared.set_listen(config.shm_listen);
  shared.set_server_id(regions.server_id());
  shared.set_max_bytes(static_cast<uint64_t>(regions.limits().client_bytes));
  shared.set_max_ring_entries(BASEBAND_RING_MAX_ENTRIES);
}

void AddDevices(absl::Span<Device* const> devices, v1::GetCapabilitiesResponse* response) {
  for (const Device* device : devices) {
    v1::DeviceCapabilities& entry = *response->add_devices();
    entry.set_kind(device->kind());
    entry.set_name(device->name());
    entry.set_lanes(static_cast<uint32_t>(device->lanes().size()));
    entry.set_memory_bytes(static_cast<uint64_t>(device->memory_bytes()));
    entry.set_healthy(device->healthy());
    entry.set_id(device->id());
    entry.set_standby(device->standby());
  }
}

}  // namespace baseband::server
