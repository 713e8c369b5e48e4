// Decoding what was encoded is the identity, for transport blocks of every size that 38.214 makes
// of its tables: from requests to answers, on the CPU device.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/nr/tbs.h"
#include "kernels/nr/transport_block.h"
#include "tests/support/matchers.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_answers.h"

namespace baseband::testing {
namespace {

// 38.214, clause 5.1.3: a receiver may skip what is sent at a higher rate, its CRCs included.
constexpr double kMostRate = 0.95;

struct Sent {
  v1::SharedChannelBlock block;
  std::string payload;
};

// A transport block of that scheme on `num_re` resource elements; without payload where none is
// sent so.
Sent BlockOf(const nr::Mcs& mcs, int layers, int64_t num_re, Random& random) {
  Sent sent;
  const int64_t bits = nr::TransportBlockBits(num_re, mcs, layers);
  const int64_t g = num_re * mcs.qm * layers;
  if (g > nr::kMaxCodedBits || static_cast<double>(bits + 24) > kMostRate * static_cast<double>(g))
    return sent;
  v1::TransportBlock& tb = *sent.block.mutable_transport_block();
  tb.set_tb_bytes(static_cast<uint32_t>(bits / 8));
  tb.set_code_rate(static_cast<float>(mcs.code_rate));
  tb.set_g(static_cast<uint32_t>(g));
  sent.block.set_qm(static_cast<uint32_t>(mcs.qm));
  sent.block.set_layers(static_cast<uint32_t>(layers));
  sent.block.set_c_init(static_cast<uint32_t>(random.Below(1 << 30)));
  sent.payload = RandomBytes(bits / 8, random);
  return sent;
}

// What has been there.
struct Seen {
  std::set<int64_t> sizes;
  std::set<std::pair<int, int>> modulations_and_layers;
};

// All blocks of a slot in one request there, as symbols or as bits, and in one request back.
void ExpectIdentity(const std::vector<Sent>& slot, bool as_symbols, Seen* seen) {
  v1::EncodeSharedChannelRequest there;
  for (const Sent& sent : slot) {
    v1::EncodeSharedChannelGroup& group = *there.add_groups();
    *group.mutable_block() = sent.block;
    group.set_count(1);
    group.set_output(as_symbols ? v1::SHARED_CHANNEL_OUTPUT_INT16 : v1::SHARED_CHANNEL_OUTPUT_BITS);
    there.mutable_payload()->append(sent.payload);
  }
  const std::string answer = AnswerTo(there).payload();

  v1::DecodeSharedChannelRequest back;
  size_t at = 0;
  for (const Sent& sent : slot) {
    v1::DecodeSharedChannelGroup& group = *back.add_groups();
    *group.mutable_block() = sent.block;
    group.set_count(1);
    const int64_t g = sent.block.transport_block().g();
    if (as_symbols) {
      group.set_input(v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16);
      group.set_noise_variance(1e-4F);
      const auto bytes = static_cast<size_t>(4 * g / sent.block.qm());
      back.mutable_payload()->append(answer, at, bytes);
      at += bytes;
    } else {
      for (int64_t bit = 0; bit < g; ++bit) {
        const int byte = answer[at + static_cast<size_t>(bit / 8)];
        back.mutable_payload()->push_back((byte >> (7 - bit % 8) & 1) != 0 ? -20 : 20);
      }
      at += static_cast<size_t>((g + 7) / 8);
    }
    back.mutable_payload()->resize((back.payload().size() + 3) / 4 * 4);
  }
  EXPECT_EQ(at, answer.size());
  const v1::DecodeSharedChannelResponse decoded = AnswerTo(back);
  ASSERT_EQ(decoded.blocks_size(), static_cast<int>(slot.size()));
  at = 0;
  for (size_t i = 0; i < slot.size(); ++i) {
    EXPECT_TRUE(decoded.blocks(static_cast<int>(i)).crc_ok()) << slot[i].block.ShortDebugString();
    EXPECT_TRUE(decoded.payload().substr(at, slot[i].payload.size()) == slot[i].payload)
        << slot[i].block.ShortDebugString();
    at += slot[i].payload.size();
    seen->sizes.insert(8 * static_cast<int64_t>(slot[i].payload.size()));
    seen->modulations_and_layers.emplace(slot[i].block.qm(), slot[i].block.layers());
  }
}

TEST(SharedChannelIdentityTest, HoldsForEachMcsAndNumberOfLayersOnAnyNumberOfResources) {
  Random random(18);
  Seen seen;
  for (int i = 0; i < 12; ++i) {
    const int layers = 1 + i % 4;
    for (int table = 1; table <= nr::kMcsTables; ++table) {
      std::vector<Sent> slot;
      for (nr::Mcs mcs : nr::McsTable(table)) {
        // pi/2-BPSK has the rates of QPSK where precoding is a transform.
        if (table == 3 && mcs.qm == 2 && random.Below(2) == 0) mcs.qm = 1;
        // As many small ones as large ones.
        const double share = static_cast<double>(random.Below(1000)) / 1000;
        Sent sent = BlockOf(mcs, layers, std::llround(24 * std::pow(200, share)), random);
        if (!sent.payload.empty()) slot.push_back(std::move(sent));
      }
      std::shuffle(slot.begin(), slot.end(), std::mt19937(static_cast<unsigned>(table)));
      ASSERT_NO_FATAL_FAILURE(ExpectIdentity(slot, (i + table) % 2 == 0, &seen));
    }
  }
  EXPECT_GT(seen.sizes.size(), 200);
  EXPECT_EQ(seen.modulations_and_layers.size(), 6 * 4);
}

TEST(SharedChannelIdentityTest, HoldsForEverySmallSizeOfTheTable) {
  Random random(19);
  Seen seen;
  for (const int16_t bits : nr::SmallTransportBlocks()) {
    std::vector<Sent> slot;
    for (const int qm : {1, 2, 4, 6, 8, 10}) {
      const int layers = 1 + random.Below(4);
      Sent sent;
      v1::TransportBlock& tb = *sent.block.mutable_transport_block();
      tb.set_tb_bytes(static_cast<uint32_t>(bits / 8));
      tb.set_base_graph(static_cast<uint32_t>(1 + random.Below(2)));
      tb.set_g(static_cast<uint32_t>((bits + 24) * 2 / (qm * layers) * qm * layers + qm * layers));
      sent.block.set_qm(static_cast<uint32_t>(qm));
      sent.block.set_layers(static_cast<uint32_t>(layers));
      sent.payload = RandomBytes(bits / 8, random);
      slot.push_back(std::move(sent));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectIdentity(slot, bits % 16 == 0, &seen));
  }
  EXPECT_EQ(*seen.sizes.begin(), 24);
  EXPECT_EQ(*seen.sizes.rbegin(), 3824);
}

TEST(SharedChannelIdentityTest, HoldsForTheLargestOfEachTable) {
  Random random(20);
  Seen seen;
  for (int table = 1; table <= nr::kMcsTables; ++table) {
    const nr::Mcs mcs = nr::McsTable(table).back();
    // 275 PRBs on four layers.
    Sent sent = BlockOf(mcs, 4, 275 * nr::kMostResourceElements, random);
    ASSERT_FALSE(sent.payload.empty());
    ASSERT_NO_FATAL_FAILURE(ExpectIdentity({sent}, table % 2 == 0, &seen));
  }
  EXPECT_THAT(seen.sizes, Contains(::testing::Ge(1277992))) << "of 273 PRBs of 256QAM";
}

}  // namespace
}  // namespace baseband::testing
