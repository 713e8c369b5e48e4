// EncodeSharedChannel and DecodeSharedChannel requests of `load`: slots of a cell.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/load/load_signals.h"
#include "client/ctl/shared_channel/early_stop.h"
#include "client/ctl/shared_channel/local_transmitter.h"
#include "client/ctl/shared_channel/symbol_channel.h"
#include "client/ctl/shared_channel/transport_format.h"

namespace baseband::ctl {
namespace {

// How far above its threshold all blocks decode, and below it two transmissions together do.
constexpr double kComfortableDb = 1.5;
constexpr double kSecondDb = -1;
constexpr float kLlrScale = 6;  // of soft bits that are made here, too
constexpr int kSecondVersion = 2;

std::vector<std::string> RandomBlocks(const TransportFormat& format, int count, Random* random) {
  std::vector<std::string> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back(random->Bytes(format.tb_bytes()));
  return blocks;
}

// What a DecodeSharedChannelResponse has to be.
struct Expected {
  std::vector<std::string> blocks;
  uint32_t code_blocks = 0;  // of each
  uint32_t most_iterations = 0;
};

// How many transport blocks did not decode, of an answer that is right as far as it is known: each
// one whose CRC holds is the one that was sent.
absl::StatusOr<int64_t> CheckDecoded(const v1::DecodeSharedChannelResponse& response,
                                     const Expected& expected) {
  const int blocks = static_cast<int>(expected.blocks.size());
  const int code_blocks = blocks * static_cast<int>(expected.code_blocks);
  const size_t bytes = expected.blocks[0].size();
  if (response.blocks_size() != blocks || response.iterations_size() != code_blocks ||
      response.crc_ok_size() != code_blocks || response.parity_ok_size() != code_blocks ||
      response.payload().size() != static_cast<size_t>(blocks) * bytes ||
      !response.soft().empty()) {
    return Wrong("DecodeSharedChannel answered with other sizes than were asked for");
  }
  for (const uint32_t iterations : response.iterations()) {
    if (iterations < 1 || iterations > expected.most_iterations) {
      return Wrong(absl::StrCat("DecodeSharedChannel: a code block took ", iterations,
                                " iterations of 1 .. ", expected.most_iterations));
    }
  }
  int64_t failed = 0;
  for (int i = 0; i < blocks; ++i) {
    const v1::SharedChannelResult& result = response.blocks(i);
    if (result.code_blocks() != expected.code_blocks || result.unusable() != 0 ||
        result.harq() != v1::HARQ_OUTCOME_UNSPECIFIED || !result.harq_message().empty()) {
      return Wrong(absl::StrCat("DecodeSharedChannel: block ", i, " is not what was asked for"));
    }
    const auto index = static_cast<size_t>(i);
    const bool is_sent =
        response.payload().compare(index * bytes, bytes, expected.blocks[index]) == 0;
    failed += !result.crc_ok();
    if (result.crc_ok() && !is_sent) {
      return Wrong(absl::StrCat("DecodeSharedChannel: block ", i, " is not the one that was sent"));
    }
  }
  return failed;
}

double SnrDb(const TrafficSpec& spec, const TransportFormat& format, bool second) {
  return spec.snr_db.value_or(ThresholdSnrDb(format.mcs) + (second ? kSecondDb : kComfortableDb));
}

SymbolChannel ChannelOf(const TrafficSpec& spec, const TransportFormat& format, bool second) {
  return {ParseReceivedType(spec.input), format.mcs.qm, SnrDb(spec, format, second)};
}

// What is asked of the server, for all blocks of a request.
v1::DecodeSharedChannelGroup GroupOf(const TrafficSpec& spec, const TransportFormat& format,
                                     const SymbolChannel& channel, bool second) {
  v1::DecodeSharedChannelGroup group;
  *group.mutable_block() = format.block;
  group.set_count(static_cast<uint32_t>(spec.blocks));
  channel.Tell(&group);
  if (!IsLlr(ParseReceivedType(spec.input))) {
    group.set_llr_scale(kLlrScale);
  }
  group.set_max_iterations(static_cast<uint32_t>(spec.decode.iterations));
  group.set_scale_factor(spec.decode.scale_factor);
  group.set_early_stop(ParseEarlyStop(spec.early_stop));
  group.mutable_block()->set_rv(second ? kSecondVersion : 0);
  group.mutable_harq()->set_soft_in(second);
  return group;
}

}  // namespace

load::Settings EncodeSharedSettings() { return {{"output", "int16"}}; }

load::Settings DecodeSharedSettings(const TrafficSpec& spec, bool second) {
  const TransportFormat format = *ToTransportFormat(spec.format, spec.mcs);
  const v1::DecodeSharedChannelGroup group =
      GroupOf(spec, format, ChannelOf(spec, format, second), second);
  load::Settings settings = {{"input", spec.input},
                             {"early_stop", spec.early_stop},
                             {"iterations", static_cast<double>(group.max_iterations())},
                             {"snr_db", SnrDb(spec, format, second)}};
  // 0: as the LLRs come, or as the server chooses.
  if (group.llr_scale() != 0) settings.emplace_back("llr_scale", group.llr_scale());
  if (group.scale_factor() != 0) settings.emplace_back("scale_factor", group.scale_factor());
  return settings;
}

absl::StatusOr<load::Request> EncodeSharedRequest(const TrafficSpec& spec, int kinds_of_devices,
                                                  Random* random) {
  const TransportFormat format = *ToTransportFormat(spec.format, spec.mcs);
  v1::EncodeSharedChannelRequest request;
  v1::EncodeSharedChannelGroup& group = *request.add_groups();
  *group.mutable_block() = format.block;
  group.set_count(static_cast<uint32_t>(spec.blocks));
  group.set_output(v1::SHARED_CHANNEL_OUTPUT_INT16);
  v1::EncodeSharedChannelResponse expected;
  for (const std::string& block : RandomBlocks(format, spec.blocks, random)) {
    const absl::StatusOr<std::string> bits = CodedBitsHere(format, 0, block);
    if (!bits.ok()) {
      return bits.status();
    }
    request.mutable_payload()->append(block);
    expected.mutable_payload()->append(SymbolsHere(format, *bits));
  }
  auto made = ToRequest<v1::EncodeSharedChannelResponse>(
      request, kinds_of_devices,
      [symbols = expected.payload()](
          const v1::EncodeSharedChannelResponse& response) -> absl::StatusOr<int64_t> {
        if (response.payload() == symbols) {
          return 0;
        }
        return Wrong("EncodeSharedChannel: not the right symbols");
      });
  if (made.ok()) {
    made->answers->Add(expected.SerializeAsString(), 0, load::Answer::State::kRight);
  }
  return made;
}

absl::StatusOr<load::Request> DecodeSharedRequest(const TrafficSpec& spec, bool second,
                                                  int kinds_of_devices, Random* random) {
  const TransportFormat format = *ToTransportFormat(spec.format, spec.mcs);
  const SymbolChannel channel = ChannelOf(spec, format, second);
  v1::DecodeSharedChannelRequest request;
  v1::DecodeSharedChannelGroup& group = *request.add_groups();
  group = GroupOf(spec, format, channel, second);

  Expected expected;
  expected.blocks = RandomBlocks(format, spec.blocks, random);
  expected.code_blocks = static_cast<uint32_t>(format.plan.num_blocks);
  expected.most_iterations = group.max_iterations();
  std::string& payload = *request.mutable_payload();
  v1::EncodeSharedChannelGroup asked;
  channel.Ask(&asked);
  const auto receive = [&](const std::string& block, int version,
                           std::string* received) -> absl::Status {
    const absl::StatusOr<std::string> bits = CodedBitsHere(format, version, block);
    if (bits.ok()) {
      channel.Transmit(SymbolsHere(format, *bits, asked.output()), random, received);
    }
    return bits.status();
  };
  for (const std::string& block : expected.blocks) {
    std::string first;
    absl::Status status = second ? receive(block, 0, &first) : absl::OkStatus();
    if (second && status.ok()) {
      payload += SoftBitsHere(format, 0, group, first);
    }
    status.Update(receive(block, static_cast<int>(group.block().rv()), &payload));
    if (!status.ok()) {
      return status;
    }
    payload.resize((payload.size() + 3) / 4 * 4, '\0');
  }
  return ToRequest<v1::DecodeSharedChannelResponse>(
      request, kinds_of_devices, [expected](const v1::DecodeSharedChannelResponse& response) {
        return CheckDecoded(response, expected);
      });
}

}  // namespace baseband::ctl
