// Coded bits, symbols and soft bits made by the client are those of the slow, obvious chain.
#include "client/ctl/shared_channel/local_transmitter.h"

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "client/ctl/common/random.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/shared_channel/symbol_channel.h"
#include "kernels/nr/reference.h"
#include "kernels/nr/symbols_reference.h"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

struct Case {
  int table, mcs, prbs, layers;
  int64_t tbs_lbrm;
  int rv;
};

TransportFormat FormatOf(const Case& of) {
  FormatFlags flags;
  flags.table = of.table;
  flags.prbs = of.prbs;
  flags.layers = of.layers;
  flags.tbs_lbrm = of.tbs_lbrm;
  return *ToTransportFormat(flags, of.mcs);
}

std::vector<uint8_t> Unpack(const std::string& packed, int64_t bits) {
  std::vector<uint8_t> unpacked;
  for (int64_t i = 0; i < bits; ++i) unpacked.push_back(GetBit(packed, i));
  return unpacked;
}

// Scrambled.
std::vector<uint8_t> ReferenceBits(const TransportFormat& format, int rv, const std::string& tb) {
  nr::TransportBlock block = format.parameters;
  block.rv = rv;
  std::vector<uint8_t> bits = nr::ReferenceSend(block, Unpack(tb, format.plan.tb_bits));
  const auto gold = nr::reference::GoldSequence(format.block.c_init(), format.plan.g());
  for (size_t i = 0; i < bits.size(); ++i) bits[i] ^= gold[i];
  return bits;
}

const Case kCases[] = {{2, 0, 1, 1, 0, 0},  {2, 10, 3, 2, 0, 2},      {2, 27, 12, 1, 0, 0},
                       {1, 17, 7, 3, 0, 3}, {2, 20, 20, 1, 20000, 1}, {4, 26, 8, 1, 0, 2},
                       {3, 0, 60, 4, 0, 0}};

TEST(LocalTransmitterTest, CodedBitsAndSymbolsAreThoseOfTheReference) {
  for (const Case& of : kCases) {
    const TransportFormat format = FormatOf(of);
    const std::string tb = Random(3).Bytes(format.tb_bytes());
    const auto bits = CodedBitsHere(format, of.rv, tb);
    ASSERT_THAT(bits, IsOk());
    const std::vector<uint8_t> expected = ReferenceBits(format, of.rv, tb);
    EXPECT_EQ(Unpack(*bits, format.plan.g()), expected) << of.table << " " << of.mcs;

    const std::vector<Complex> symbols =
        ToComplex(SymbolsHere(format, *bits), v1::SAMPLE_FORMAT_INT16, 1);
    const auto points = nr::reference::Modulate(format.mcs.qm, expected);
    ASSERT_EQ(symbols.size(), points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_LE(std::abs(symbols[i].real() - 8192 * points[i].real()), 0.51);
      EXPECT_LE(std::abs(symbols[i].imag() - 8192 * points[i].imag()), 0.51);
    }
  }
}

TEST(LocalTransmitterTest, SoftBitsAreThoseOfTheReference) {
  for (const Case& of : kCases) {
    const TransportFormat format = FormatOf(of);
    const std::string tb = Random(4).Bytes(format.tb_bytes());
    const SymbolChannel channel(ReceivedType::kInt16, format.mcs.qm, 8);
    v1::DecodeSharedChannelGroup group;
    channel.Tell(&group);
    group.set_llr_scale(4);
    Random random(5);
    std::string received;
    channel.Transmit(SymbolsHere(format, *CodedBitsHere(format, of.rv, tb)), &random, &received);
    const std::string soft = SoftBitsHere(format, of.rv, group, received);

    nr::DemapParameters parameters;
    parameters.qm = format.mcs.qm;
    parameters.layout.format = nr::SymbolFormat::kInt16;
    parameters.layout.scale = group.symbol_scale();
    parameters.noise_variance = group.noise_variance();
    parameters.llr_scale = 4;
    std::vector<int8_t> llr(static_cast<size_t>(format.plan.g()));
    nr::reference::Demap(parameters, reinterpret_cast<const uint8_t*>(received.data()), nullptr, 0,
                         format.num_symbols(), llr.data());
    const auto gold = nr::reference::GoldSequence(format.block.c_init(), format.plan.g());
    for (size_t i = 0; i < llr.size(); ++i) {
      llr[i] = static_cast<int8_t>(gold[i] != 0 ? -llr[i] : llr[i]);
    }
    std::string expected;
    for (int r = 0; r < format.plan.num_blocks; ++r) {
      nr::CodeBlock block;
      block.base_graph = format.plan.base_graph;
      block.zc = format.plan.zc;
      block.num_filler = format.plan.num_filler();
      block.n_cb = static_cast<int>(format.plan.of_long.n_cb);
      block.rv = of.rv;
      block.qm = format.mcs.qm;
      block.e = format.plan.e(r);
      const auto begin = llr.begin() + format.plan.e_begin(r);
      const std::vector<int8_t> one =
          nr::ReferenceRateDematch(block, {begin, begin + format.plan.e(r)}, {});
      expected.append(reinterpret_cast<const char*>(one.data()), one.size());
    }
    ASSERT_EQ(soft.size(), expected.size());
    for (size_t i = 0; i < soft.size(); ++i) {
      // Where halves are rounded, the double of the reference may go the other way.
      ASSERT_LE(std::abs(static_cast<int8_t>(soft[i]) - static_cast<int8_t>(expected[i])), 1)
          << of.table << " " << of.mcs << " " << i;
    }
  }
}

}  // namespace
}  // namespace baseband::ctl
