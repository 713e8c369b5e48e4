#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/ldpc/code.h"
#include "server/operations/shared_channel/shared_channel_block.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_words.h"

namespace baseband::testing {
namespace {

constexpr int kMaxGroups = 3;
constexpr int kMaxBlocks = 3;
constexpr double kMaxCodedBits = 40000;  // but for one of each code block

// A size that divides into code blocks, of base graph `graph`, and how many these are.
int RandomSize(int graph, Random& random, v1::TransportBlock* message) {
  const int most_bits = graph == 1 ? 8448 : 3840;
  if (!OneIn(3, random)) {
    const int most = (most_bits - 24) / 8;
    message->set_tb_bytes(static_cast<uint32_t>(std::min(most, 2 + SomeCount(most, random))));
    return 1;
  }
  const int blocks = 2 + random.Below(3);
  const int most_bytes = (most_bits - 24) / 8;  // of payload and its CRC, in each
  const int least_bytes = std::max((blocks - 1) * most_bytes / blocks + 4, 244);
  const int bytes = least_bytes + random.Below(most_bytes - least_bytes + 1);
  message->set_tb_bytes(static_cast<uint32_t>(blocks * bytes - 3));
  return blocks;
}

void SetTransportBlock(int granularity, Random& random, v1::TransportBlock* message) {
  const int graph = 1 + random.Below(2);
  const int blocks = RandomSize(graph, random, message);
  message->set_base_graph(static_cast<uint32_t>(graph));
  const double bits = 8.0 * message->tb_bytes();
  if (OneIn(2, random)) {
    const auto rate = static_cast<float>(Between(0.05, 0.95, random));
    if (nr::ChooseBaseGraph(static_cast<int64_t>(bits), rate) == graph) {
      message->clear_base_graph();
      message->set_code_rate(rate);
    }
  }
  const double rate = OneIn(6, random) ? LogBetween(0.02, 0.3, random) : Between(0.3, 1.1, random);
  const auto symbols =
      static_cast<int>(std::ceil(std::min(bits / rate, kMaxCodedBits) / granularity));
  message->set_g(static_cast<uint32_t>(granularity * std::max(symbols, blocks)));
  if (OneIn(4, random)) {
    message->set_tbs_lbrm(
        static_cast<uint32_t>(std::ceil(8.0 * message->tb_bytes() * LogBetween(1.0, 4.0, random))));
  }
}

void SetCodeBlock(int qm, Random& random, v1::CodeBlock* message) {
  const auto sizes = ldpc::NrLiftingSizes();
  const int graph = 1 + random.Below(2);
  const int zc = sizes[static_cast<size_t>(random.Below(51))];
  const int k = (graph == 1 ? 22 : 10) * zc;
  const int n = (graph == 1 ? 66 : 50) * zc;
  message->set_base_graph(static_cast<uint32_t>(graph));
  message->set_zc(static_cast<uint32_t>(zc));
  message->set_crc(static_cast<v1::CodeBlockCrc>(random.Below(4)));
  const int most = std::min(k - 2 * zc - 1, k - 25);
  if (most < 0) message->clear_crc();
  if (OneIn(2, random)) {
    message->set_n_filler(static_cast<uint32_t>(random.Below(std::max(most, 0) + 1)));
  }
  if (OneIn(2, random)) {
    message->set_n_cb(
        static_cast<uint32_t>(OneIn(4, random) ? SomeCount(n, random) : n - random.Below(n / 2)));
  }
  const double e = OneIn(4, random) ? SomeCount(2 * n, random) : k * Between(0.9, 3.0, random);
  message->set_e(static_cast<uint32_t>(qm * std::max(1, static_cast<int>(e / qm))));
}

v1::SharedChannelBlock RandomBlock(Random& random) {
  v1::SharedChannelBlock block;
  const int qm = OneOf({1, 2, 4, 6, 8, 10}, random);
  block.set_qm(static_cast<uint32_t>(qm));
  block.set_rv(static_cast<uint32_t>(random.Below(4)));
  if (OneIn(2, random)) block.set_c_init(static_cast<uint32_t>(random.Next() >> 33));
  if (OneIn(3, random)) {
    block.set_layers(static_cast<uint32_t>(random.Below(2)));
    SetCodeBlock(qm, random, block.mutable_code_block());
  } else {
    const int layers = OneIn(8, random) ? 5 + random.Below(4) : random.Below(5);
    block.set_layers(static_cast<uint32_t>(layers));
    SetTransportBlock(qm * std::max(layers, 1), random, block.mutable_transport_block());
  }
  return block;
}

// Of a symbol, or of LLRs' bits: where its code works, where it does not, and far above.
double RandomSnrDb(const server::SharedChannelBlock& block, bool has_symbols, Random& random) {
  if (OneIn(4, random)) return 30.0;
  const double rate = static_cast<double>(block.plan.tb_bits) / static_cast<double>(block.plan.g());
  const double bits = std::min(rate * (has_symbols ? block.qm() : 2), 10.0);
  return 10 * std::log10(std::exp2(bits) - 1) + Between(-3.0, 5.0, random);
}

// Half of the options stay at their defaults.
void SetOptions(Random& random, v1::DecodeSharedChannelGroup* group) {
  group->set_input(static_cast<v1::SharedChannelInput>(random.Below(10)));
  if (HasSymbols(group->input())) {
    const double usual = group->input() == v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8    ? 50.0
                         : group->input() == v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16 ? 4000.0
                                                                                    : 1.0;
    if (OneIn(3, random)) {
      group->set_symbol_scale(static_cast<float>(usual * LogBetween(0.5, 2.0, random)));
    }
    if (OneIn(3, random)) group->set_llr_scale(static_cast<float>(LogBetween(0.5, 16.0, random)));
    group->set_log_sum(OneIn(3, random));
  } else if (group->input() > v1::SHARED_CHANNEL_INPUT_LLR_INT8 && OneIn(3, random)) {
    group->set_llr_scale(static_cast<float>(LogBetween(0.05, 50.0, random)));
  }
  group->set_max_iterations(static_cast<uint32_t>(OneIn(4, random)    ? 0
                                                  : OneIn(20, random) ? 100
                                                                      : 1 + random.Below(12)));
  if (OneIn(4, random)) group->set_scale_factor(static_cast<float>(random.Uniform()));
  const v1::SharedChannelBlock& block = group->block();
  const bool has_crc =
      !block.has_code_block() || block.code_block().crc() != v1::CODE_BLOCK_CRC_UNSPECIFIED;
  if (OneIn(2, random)) {
    group->set_early_stop(has_crc ? v1::EARLY_STOP_CRC : v1::EARLY_STOP_PARITY);
  } else if (OneIn(8, random)) {
    group->set_early_stop(v1::EARLY_STOP_NONE);
  }
  v1::Harq& harq = *group->mutable_harq();
  if (OneIn(10, random)) {
    harq.set_key(std::string(1, static_cast<char>('a' + random.Below(4))));
    harq.set_transmission(static_cast<uint32_t>(random.Below(3)));
    harq.set_llr_size(static_cast<uint32_t>(OneOf({0, 8, 6, 4}, random)));
    if (OneIn(3, random)) harq.set_block(static_cast<uint32_t>(random.Below(3)));
    group->set_count(1);
  } else {
    harq.set_soft_in(OneIn(3, random));
    harq.set_soft_out(OneIn(3, random));
  }
  const bool has_harq = harq.soft_in() || harq.soft_out() || !harq.key().empty();
  if (has_harq && group->input() == v1::SHARED_CHANNEL_INPUT_LLR_INT16 &&
      group->llr_scale() == 0.0F) {
    group->set_llr_scale(0.25F);  // none is chosen
  }
}

}  // namespace

v1::EncodeSharedChannelRequest RandomEncodeSharedChannelRequest(Random& random) {
  v1::EncodeSharedChannelRequest request;
  int64_t bytes = 0;
  for (int g = 1 + random.Below(kMaxGroups); g > 0; --g) {
    v1::EncodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = RandomBlock(random);
    group.set_count(static_cast<uint32_t>(1 + random.Below(kMaxBlocks)));
    group.set_output(static_cast<v1::SharedChannelOutput>(random.Below(5)));
    if (group.output() >= v1::SHARED_CHANNEL_OUTPUT_FLOAT32 && OneIn(3, random)) {
      group.set_scale(static_cast<float>(LogBetween(0.01, 1e5, random)));
    }
    const auto block = server::BlockFromProto(group.block());
    if (block.ok()) bytes += group.count() * block->payload_bytes();
  }
  request.set_payload(RandomBytes(bytes, random));
  return request;
}

v1::DecodeSharedChannelRequest RandomDecodeSharedChannelRequest(Random& random) {
  v1::DecodeSharedChannelRequest request;
  for (int g = 1 + random.Below(kMaxGroups); g > 0; --g) {
    v1::DecodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = RandomBlock(random);
    group.set_count(static_cast<uint32_t>(1 + random.Below(kMaxBlocks)));
    SetOptions(random, &group);
    const auto block = server::BlockFromProto(group.block());
    if (!block.ok()) continue;
    const double snr_db = RandomSnrDb(*block, HasSymbols(group.input()), random);
    if (HasSymbols(group.input()) && OneIn(2, random)) {
      const double variance = std::pow(10.0, -0.1 * snr_db) * LogBetween(0.5, 2.0, random);
      group.set_noise_variance(static_cast<float>(variance));
    }
    for (uint32_t b = 0; b < group.count(); ++b) {
      std::string soft;
      if (group.harq().soft_in()) {
        soft = OneIn(2, random) ? std::string(static_cast<size_t>(block->soft_bytes()), '\0')
                                : RandomBytes(block->soft_bytes(), random);
      }
      const std::string payload = RandomBytes(block->payload_bytes(), random);
      std::string received =
          ReceivedOf(*block, SentBitsOf(*block, payload), group, snr_db, random, soft);
      if (OneIn(6, random)) {  // nonsense, NaN and infinities included
        received = RandomBytes(static_cast<int64_t>(received.size()), random);
      }
      request.mutable_payload()->append(received);
    }
  }
  if (OneIn(8, random)) request.add_free_keys("a");
  return request;
}

}  // namespace baseband::testing
