// Whatever is wrong with a request, the refusal begins with the path of a field that the request's
// .proto has, and tells the number that is there: tried with every field at its extremes, and every
// two of them.
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/operations/ldpc/ldpc_codes.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/support/convert_request.h"
#include "tests/support/field_extremes.h"
#include "tests/support/field_path.h"
#include "tests/support/test_operations.h"
#include "tests/support/timing_frames.h"

namespace baseband::testing {
namespace {

using server::Request;
using ::testing::AllOf;

TEST(FieldPathTest, APathIsOneOfTheMessage) {
  const google::protobuf::Descriptor& request = *v1::DownconvertRequest::descriptor();
  for (const char* path : {"payload", "retunes", "setup.channels[3].filter.mask.pass_edge_hz",
                           "retunes[0].frequency.fraction.den", "retunes[1].frequency.frequency",
                           "setup.channels[1].filter.taps[17]"}) {
    EXPECT_EQ(WrongInPath(request, path), "") << path;
  }
  for (const char* path : {"", "the", "setup.channels.gain", "setup.channels[].gain", "setup[0]",
                           "setup.channels[x].gain", "pass_edge", "payload.size",
                           "setup.channels[0].filter.pass_edge", "setup.", "frequency"}) {
    EXPECT_NE(WrongInPath(request, path), "") << path;
  }
}

void SetTaps(const timing::PulseTaps& taps, v1::SymbolTiming* message) {
  message->clear_taps();
  message->mutable_taps()->Add(taps.values.begin(), taps.values.end());
  message->set_taps_per_symbol(static_cast<uint32_t>(taps.per_symbol));
}

class RefusalsTest : public ::testing::Test {
 protected:
  // Of a right request: whatever makes it a wrong one is told by name.
  template <typename Message>
  void TryExtremes(const Message& request,
                   const std::function<absl::Status(const Request&)>& convert) {
    const google::protobuf::Descriptor* const type = request.GetDescriptor();
    const auto convert_message = [&convert](const google::protobuf::Message& message) {
      return convert(server::RequestOf(static_cast<const Message&>(message)));
    };
    int refused = 0;
    const auto expect = [&](const google::protobuf::Message& changed) {
      const absl::Status status = convert_message(changed);
      if (absl::IsInvalidArgument(status)) {
        EXPECT_THAT(status, AllOf(RefusesFieldOf(type), TellsTheNumberIn(&changed)))
            << changed.ShortDebugString().substr(0, 500);
        ++refused;
      }
    };
    EXPECT_THAT(convert_message(request), IsOk());
    const auto copy_of = [](const google::protobuf::Message& message) {
      std::unique_ptr<google::protobuf::Message> copy(message.New());
      copy->CopyFrom(message);
      return copy;
    };
    const auto one = copy_of(request);
    ForEachExtreme(one.get(), [&] { expect(*one); });
    EXPECT_GE(refused, 15);
    // Pairs: what is asked of one field may come of another.
    std::mt19937 random(1);
    ForEachExtreme(one.get(), [&] {
      if (random() % 8 != 0) return;
      const auto two = copy_of(*one);
      ForEachExtreme(two.get(), [&] {
        if (random() % 16 == 0) expect(*two);
      });
    });
  }
  template <typename Message>
  void TryExtremes(absl::string_view operation, const Message& request) {
    TryExtremes(request, [this, operation](const Request& changed) {
      return Make(operation, changed, may_continue_);
    });
  }
  absl::Status Make(absl::string_view operation, const Request& request,
                    const ContinueCheck& may_continue) {
    auto conversion = server::TestOperation(operation).Convert(request, limits_);
    if (!conversion.ok() || conversion->job != nullptr) return conversion.status();
    return conversion->preparation->Finish(may_continue).status();
  }

  RefusalsTest() {
    limits_.max_blocks_per_request = 1000;
    limits_.max_input_bytes = 1 << 20;
  }

  server::RequestLimits limits_;
  ContinueCheck may_continue_;
};

TEST_F(RefusalsTest, Downconvert) {
  // Designs take longer than there is time here.
  may_continue_ = [] { return absl::ResourceExhaustedError("mask: no time"); };
  v1::DownconvertRequest request;
  v1::DownconvertSetup& setup = *request.mutable_setup();
  setup.set_sample_rate_hz(1e6);
  setup.set_format(v1::WIDEBAND_FORMAT_COMPLEX_INT16);
  setup.set_scale(0.5F);
  for (const bool has_hz : {true, false}) {
    v1::DownconvertChannel& channel = *setup.add_channels();
    if (has_hz) {
      channel.mutable_frequency()->set_hz(1e5);
    } else {
      channel.mutable_frequency()->mutable_fraction()->set_num(1);
      channel.mutable_frequency()->mutable_fraction()->set_den(7);
    }
    for (int k = 0; k < 8; ++k) channel.mutable_filter()->add_taps(0.125F);
    channel.mutable_filter()->set_down(4);
    channel.mutable_filter()->set_up(1);
    v1::Retune& retune = *request.add_retunes();
    retune.set_channel(has_hz ? 0 : 1);
    retune.set_index(10);
    retune.mutable_frequency()->set_hz(2e5);
  }
  request.set_zero_history(true);
  request.set_payload(std::string(4000, '\1'));
  TryExtremes("Downconvert", request);

  // A mask, and its own extremes.
  v1::ChannelFilter& filter = *setup.mutable_channels(1)->mutable_filter();
  filter.clear_taps();
  filter.mutable_mask()->set_pass_edge_hz(5e4);
  EXPECT_THAT(Make("Downconvert", server::RequestOf(request), {}), IsOk());
  TryExtremes("Downconvert", request);
}

v1::LdpcCode NrCode() {
  v1::LdpcCode code;
  code.mutable_nr()->set_base_graph(2);
  code.mutable_nr()->set_zc(16);
  return code;
}

std::vector<v1::LdpcCode> Codes() {
  std::vector<v1::LdpcCode> codes(4, NrCode());
  codes[1].mutable_wimax()->set_rate(v1::WimaxCode::RATE_1_2);
  codes[1].mutable_wimax()->set_n(576);
  codes[2].mutable_wifi()->set_rate(v1::WifiCode::RATE_1_2);
  codes[2].mutable_wifi()->set_n(648);
  v1::CustomCode& custom = *codes[3].mutable_custom();
  custom.set_rows(2);
  custom.set_columns(4);
  custom.set_zc(8);
  for (const int shift : {1, 2, 0, -1, 3, 4, 0, 0}) custom.add_shifts(shift);
  return codes;
}

TEST_F(RefusalsTest, Encode) {
  for (const v1::LdpcCode& code : Codes()) {
    v1::EncodeRequest request;
    *request.add_groups()->mutable_code() = code;
    request.mutable_groups(0)->set_count(1);
    const auto job = server::LdpcCodes().FromProto(code);
    ASSERT_THAT(job, IsOk());
    request.set_payload(std::string(static_cast<size_t>(((*job)->k() + 7) / 8), '\0'));
    TryExtremes("Encode", request);
  }
}

TEST_F(RefusalsTest, Decode) {
  for (const v1::LdpcCode& code : Codes()) {
    v1::DecodeRequest request;
    *request.add_groups()->mutable_code() = code;
    request.mutable_groups(0)->set_count(1);
    const auto job = server::LdpcCodes().FromProto(code);
    ASSERT_THAT(job, IsOk());
    request.set_payload(std::string(static_cast<size_t>((*job)->num_sent()), '\0'));
    TryExtremes("Decode", request);
  }
}

// A transport block, or a code block alone, of 100 bits that are sent.
v1::SharedChannelBlock SharedChannelBlock(bool is_code_block) {
  v1::SharedChannelBlock block;
  block.set_qm(2);
  block.set_c_init(7);
  if (is_code_block) {
    block.mutable_code_block()->set_base_graph(2);
    block.mutable_code_block()->set_zc(8);
    block.mutable_code_block()->set_e(100);
    block.mutable_code_block()->set_crc(v1::CODE_BLOCK_CRC_16);
  } else {
    block.mutable_transport_block()->set_tb_bytes(8);
    block.mutable_transport_block()->set_base_graph(2);
    block.mutable_transport_block()->set_g(100);
  }
  return block;
}

TEST_F(RefusalsTest, EncodeSharedChannel) {
  for (const bool is_code_block : {false, true}) {
    v1::EncodeSharedChannelRequest request;
    v1::EncodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = SharedChannelBlock(is_code_block);
    group.set_count(1);
    group.set_output(v1::SHARED_CHANNEL_OUTPUT_INT16);
    request.set_payload(std::string(8, '\0'));
    TryExtremes("EncodeSharedChannel", request);
  }
}

TEST_F(RefusalsTest, DecodeSharedChannel) {
  for (const bool is_code_block : {false, true}) {
    v1::DecodeSharedChannelRequest request;
    v1::DecodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = SharedChannelBlock(is_code_block);
    group.set_count(1);
    group.set_input(v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8);
    group.set_noise_variance(0.1F);
    request.set_payload(std::string(100, '\0'));
    TryExtremes("DecodeSharedChannel", request);

    group.clear_noise_variance();
    group.set_input(v1::SHARED_CHANNEL_INPUT_LLR_INT8);
    group.mutable_harq()->set_key("key");
    group.mutable_harq()->set_transmission(1);
    request.add_free_keys("key");
    TryExtremes("DecodeSharedChannel", request);
  }
}

TEST_F(RefusalsTest, RecoverCarrier) {
  v1::RecoverCarrierRequest request;
  v1::CarrierGroup& group = *request.add_groups();
  group.mutable_constellation()->set_name("QPSK");
  group.set_count(1);
  group.set_frame_symbols(64);
  group.mutable_known()->add_positions(3);
  group.mutable_known()->add_values(1.0F);
  group.mutable_known()->add_values(0.0F);
  group.mutable_sweep()->set_guard_bins(1);
  group.mutable_pll()->set_bandwidth(0.01F);
  request.set_payload(std::string(64 * 8, '\0'));
  TryExtremes("RecoverCarrier", request);

  group.clear_known();
  group.mutable_constellation()->clear_name();
  for (const float part : {1.0F, 0.0F, 0.0F, 1.0F, -1.0F, 0.0F, 0.0F, -1.0F}) {
    group.mutable_constellation()->add_points(part);
  }
  TryExtremes("RecoverCarrier", request);

  group.clear_frame_symbols();
  group.set_frame_samples(300);
  group.mutable_timing()->set_samples_per_symbol_numerator(5);
  group.mutable_timing()->set_samples_per_symbol_denominator(2);
  group.mutable_timing()->set_roll_off(0.3);
  group.mutable_timing()->set_max_clock_error(1e-5);
  request.set_payload(std::string(300 * 8, '\0'));
  EXPECT_THAT(Make("RecoverCarrier", server::RequestOf(request), may_continue_), IsOk());
  TryExtremes("RecoverCarrier", request);

  SetTaps(*WindowedTaps(0.2, 4, 5), group.mutable_timing());
  TryExtremes("RecoverCarrier", request);
}

// Taps that no timing can be found of are, once they are looked at, refused by their name.
TEST_F(RefusalsTest, TapsAreNamedWhenThePulseIsMade) {
  v1::RecoverCarrierRequest request;
  for (int g = 0; g < 2; ++g) {
    v1::CarrierGroup& group = *request.add_groups();
    group.mutable_constellation()->set_name("BPSK");
    group.set_count(1);
    group.set_frame_samples(300);
    group.mutable_timing()->set_samples_per_symbol_numerator(4);
    group.mutable_timing()->set_roll_off(0.3);
    SetTaps(*WindowedTaps(0.2, 4, 5 + g), group.mutable_timing());
  }
  request.set_payload(std::string(2 * 300 * 8, '\0'));
  EXPECT_THAT(Make("RecoverCarrier", server::RequestOf(request), may_continue_), IsOk());
  request.mutable_groups(1)->mutable_timing()->set_roll_off(0.05);
  EXPECT_THAT(Make("RecoverCarrier", server::RequestOf(request), may_continue_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::MatchesRegex("groups\\[1\\]\\.timing\\.taps have .* of their "
                                               "energy beyond the band of roll_off 0.05.*")));
  // Too many are refused for their number, whatever they are, and before any pulse is made.
  request.mutable_groups(1)->mutable_timing()->mutable_taps()->Resize(1 << 20, NAN);
  const ContinueCheck stop = [] { return absl::CancelledError("something was begun"); };
  EXPECT_THAT(Make("RecoverCarrier", server::RequestOf(request), stop),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("groups[1].timing.taps are 1048576, not an odd number "
                                            "in [3, 513]")));
}

// Nor a pulse, which asks, too.
TEST_F(RefusalsTest, APulseIsMadeLast) {
  v1::RecoverCarrierRequest request;
  for (int g = 0; g < 2; ++g) {
    v1::CarrierGroup& group = *request.add_groups();
    group.mutable_constellation()->set_name("BPSK");
    group.set_count(1);
    group.set_frame_samples(300);
    group.mutable_timing()->set_samples_per_symbol_numerator(1234);
    group.mutable_timing()->set_samples_per_symbol_denominator(567);
    group.mutable_timing()->set_roll_off(0.123);
  }
  request.set_payload(std::string(2 * 300 * 8, '\0'));
  const ContinueCheck stop = [] { return absl::CancelledError("something was begun"); };
  ASSERT_THAT(Make("RecoverCarrier", server::RequestOf(request), stop),
              StatusIs(absl::StatusCode::kCancelled, "something was begun"));
  request.mutable_groups(1)->mutable_timing()->set_roll_off(2.0);
  EXPECT_THAT(Make("RecoverCarrier", server::RequestOf(request), stop),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("groups[1].timing.roll_off 2 is not in [0.05, 1]")));
}

// Of the second group, whatever the first one's points take.
TEST_F(RefusalsTest, AMistakeIsFoundBeforeAnyModelIsMade) {
  v1::RecoverCarrierRequest right;
  for (int g = 0; g < 2; ++g) {
    v1::CarrierGroup& group = *right.add_groups();
    for (const float part : {0.9F, 0.0F, 0.0F, 1.0F, -0.8F, 0.0F, 0.0F, -1.1F}) {
      group.mutable_constellation()->add_points(part);
    }
    group.set_count(1);
    group.set_frame_symbols(64);
  }
  right.set_payload(std::string(2 * 64 * 8, '\0'));
  server::Operation& operation = server::TestOperation("RecoverCarrier");
  const auto convert = [&](const std::function<void(v1::CarrierGroup*)>& change) {
    v1::RecoverCarrierRequest request = right;
    change(request.mutable_groups(1));
    return operation.Convert(server::RequestOf(request), limits_);
  };
  const auto unchanged = convert([](v1::CarrierGroup*) {});
  ASSERT_THAT(unchanged.status(), IsOk());
  EXPECT_EQ(unchanged->job, nullptr);  // there is a model to make

  const auto expect_refused = [&](const char* field, const auto& change) {
    EXPECT_THAT(convert(change).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::HasSubstr(std::string("groups[1].") + field)));
  };
  expect_refused("sweep.step", [](v1::CarrierGroup* group) {
    group->set_fine(v1::FINE_METHOD_SWEEP);
    group->mutable_sweep()->set_step(1.0);
  });
  expect_refused("pll.damping", [](v1::CarrierGroup* group) {
    group->set_fine(v1::FINE_METHOD_PLL);
    group->mutable_pll()->set_damping(11.0F);
  });
  expect_refused("known.values", [](v1::CarrierGroup* group) {
    group->set_coarse(v1::COARSE_METHOD_KNOWN_SYMBOLS);
  });
  expect_refused("power", [](v1::CarrierGroup* group) { group->set_power(65); });
  expect_refused("amplitude", [](v1::CarrierGroup* group) {
    group->set_amplitude(static_cast<v1::AmplitudeWeight>(4));
  });
  expect_refused("max_frequency", [](v1::CarrierGroup* group) {
    group->mutable_constellation()->clear_points();
    group->mutable_constellation()->set_name("QPSK");
    group->set_max_frequency(0.2);
  });

  // What own points cannot tell is found before their model is begun, which would ask.
  right.mutable_groups()->DeleteSubrange(0, 1);
  right.mutable_groups(0)->set_max_frequency(0.5);
  for (const int at : {0, 4}) {
    right.mutable_groups(0)->mutable_constellation()->set_points(at, at == 0 ? 1.2F : -1.2F);
  }
  right.mutable_groups(0)->mutable_constellation()->set_points(7, -1.0F);
  right.set_payload(std::string(64 * 8, '\0'));
  const auto stop = [] { return absl::CancelledError("a model was begun"); };
  EXPECT_THAT(Make("RecoverCarrier", server::RequestOf(right), stop),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("groups[0].max_frequency 0.5")));
}

TEST_F(RefusalsTest, Minimize) {
  const auto convert = [](const Request& changed) {
    const auto parsed = server::ParseSearch(changed);
    return parsed.ok() ? server::MakeSearch(*parsed, changed.payload).status() : parsed.status();
  };
  v1::MinimizeRequest request;
  v1::GridAxis& axis = *request.add_axes();
  axis.set_step(0.01);
  axis.set_count(100);
  request.add_separation(1);
  request.mutable_expression()->set_text("k * x + a[0]");
  request.mutable_expression()->add_scalars()->set_name("k");
  request.mutable_expression()->add_arrays()->set_name("a");
  request.mutable_expression()->mutable_arrays(0)->set_size(2);
  request.set_payload(std::string(16, '\0'));
  TryExtremes(request, convert);

  request.mutable_sinusoids()->set_num_samples(16);
  request.mutable_sinusoids()->set_sampling_interval_s(0.1);
  request.set_payload(std::string(16 * 8, '\1'));
  TryExtremes(request, convert);

  request.mutable_sinusoids()->set_is_complex(true);
  request.set_payload(std::string(2 * 16 * 8, '\x40'));  // numbers of 32.5
  TryExtremes(request, convert);

  *request.add_axes() = request.axes(0);
  request.add_separation(1);
  TryExtremes(request, convert);
  request.mutable_chirp()->set_num_samples(16);
  request.mutable_chirp()->set_sampling_interval_s(0.1);
  TryExtremes(request, convert);
  request.mutable_delay_doppler()->set_num_samples(16);
  request.mutable_delay_doppler()->set_sampling_interval_s(0.1);
  request.set_payload(std::string(4 * 16 * 8, '\x40'));
  TryExtremes(request, convert);
}

}  // namespace
}  // namespace baseband::testing
