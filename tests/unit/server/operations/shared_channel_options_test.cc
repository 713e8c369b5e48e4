// Options of the shared channels' requests that are refused: by the field, its value and its range.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/field_path.h"
#include "tests/support/matchers.h"
#include "tests/unit/server/operations/shared_channel_requests.h"

namespace baseband::server {
namespace {

using ::baseband::testing::RefusesFieldOf;

TEST(SharedChannelOptionsTest, EncodesOptionsAreRefusedByName) {
  const auto expect = [](const std::function<void(v1::EncodeSharedChannelGroup*)>& change,
                         const std::string& message) {
    v1::EncodeSharedChannelRequest request = EncodeOf(TransportBlock(), 100);
    change(request.mutable_groups(0));
    EXPECT_THAT(Convert(request), IsInvalid("groups[0]." + message));
  };
  const auto scale = [](float value) {
    return [value](v1::EncodeSharedChannelGroup* group) {
      group->set_output(v1::SHARED_CHANNEL_OUTPUT_INT16);
      group->set_scale(value);
    };
  };
  expect([](auto* group) { group->set_count(0); }, "count 0 is not in [1, ");
  expect([](auto* group) { group->set_output(static_cast<v1::SharedChannelOutput>(5)); },
         "output 5 is not in [0, 4]");
  expect(scale(-1.0F), "scale -1 is not in [1e-09, 1e+09]");
  expect(scale(2e9F), "scale 2e+09 is not in ");
  expect(scale(std::numeric_limits<float>::quiet_NaN()), "scale nan is not in ");
  expect([](auto* group) { group->set_scale(2.0F); }, "scale 2 is set: output has bits");
  EXPECT_THAT(Convert(EncodeOf(TransportBlock(), 99)),
              IsInvalid("payload has 99 bytes, the groups describe 100"));
  EXPECT_THAT(Convert(v1::EncodeSharedChannelRequest()), IsInvalid("groups is empty"));
}

TEST(SharedChannelOptionsTest, DecodesOptionsAreRefusedByName) {
  using Group = v1::DecodeSharedChannelGroup;
  const auto expect = [](const std::function<void(Group*)>& change, const std::string& message) {
    v1::DecodeSharedChannelRequest request = DecodeOf(TransportBlock(), 1600);
    change(request.mutable_groups(0));
    EXPECT_THAT(Convert(request), IsInvalid("groups[0]." + message));
    EXPECT_THAT(Convert(request), RefusesFieldOf(v1::DecodeSharedChannelRequest::descriptor()));
  };
  const auto symbols = [](const std::function<void(Group*)>& change) {
    return [change](Group* group) {
      group->set_input(v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16);
      change(group);
    };
  };
  const auto llrs = [](const std::function<void(Group*)>& change) {
    return [change](Group* group) {
      group->set_input(v1::SHARED_CHANNEL_INPUT_LLR_FLOAT16);
      change(group);
    };
  };
  // A scale that is chosen of each transmission would make noise weigh as much as all else.
  for (const auto& set :
       std::vector<std::function<void(v1::Harq*)>>{[](v1::Harq* harq) { harq->set_soft_in(true); },
                                                   [](v1::Harq* harq) { harq->set_soft_out(true); },
                                                   [](v1::Harq* harq) { harq->set_key("a"); }}) {
    expect(
        [set](Group* group) {
          group->set_input(v1::SHARED_CHANNEL_INPUT_LLR_INT16);
          set(group->mutable_harq());
        },
        "llr_scale is 0, to be chosen from each block");
  }
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  expect([](Group* group) { group->set_count(0); }, "count 0 is not in [1, ");
  expect([](Group* group) { group->set_input(static_cast<v1::SharedChannelInput>(10)); },
         "input 10 is not in [0, 9]");
  expect(llrs([](Group* group) { group->set_llr_scale(2e6F); }),
         "llr_scale 2e+06 is not in [1e-06");
  expect(llrs([](Group* group) { group->set_llr_scale(-1.0F); }), "llr_scale -1 is not in ");
  expect(llrs([](Group* group) { group->set_llr_scale(kNan); }), "llr_scale nan is not in ");
  expect(symbols([](Group* group) { group->set_llr_scale(1025.0F); }),
         "llr_scale 1025 is not in [0.000976562, 1024]");
  expect([](Group* group) { group->set_llr_scale(2.0F); }, "llr_scale 2 is set: LLR_INT8 are ");
  expect([](Group* group) { group->set_symbol_scale(2.0F); }, "symbol_scale 2 is set");
  expect([](Group* group) { group->set_noise_variance(1.0F); }, "noise_variance 1 is set");
  expect([](Group* group) { group->set_log_sum(true); }, "log_sum is set");
  expect(symbols([](Group* group) { group->set_symbol_scale(kInfinity); }),
         "symbol_scale inf is not in [1e-09, 1e+09]");
  expect(symbols([](Group* group) { group->set_noise_variance(0.0F); }),
         "noise_variance 0 is not in [1e-09, 1e+09]");
  v1::DecodeSharedChannelRequest least = DecodeOf(TransportBlock(), 1600);
  symbols([](Group* group) { group->set_noise_variance(1e-9F); })(least.mutable_groups(0));
  least.set_payload(std::string(static_cast<size_t>(least.groups(0).block().transport_block().g() /
                                                    least.groups(0).block().qm() * 4),
                                'x'));
  EXPECT_THAT(Convert(least), IsOk()) << "the bound itself";
  expect(symbols([](Group* group) { group->set_noise_variance(kNan); }),
         "noise_variance nan is not");
  expect([](Group* group) { group->set_max_iterations(101); },
         "max_iterations 101 is not in [0, 100]");
  expect([](Group* group) { group->set_early_stop(static_cast<v1::EarlyStop>(4)); },
         "early_stop 4 is not in [0, 3]");
  expect([](Group* group) { group->set_scale_factor(1.5F); }, "scale_factor 1.5 is not in (0, 1]");
  expect([](Group* group) { group->set_scale_factor(-0.5F); }, "scale_factor -0.5 is not in ");
}

TEST(SharedChannelOptionsTest, ACodeBlockWithoutCrcHasNoneThatStopsIt) {
  v1::DecodeSharedChannelRequest request = DecodeOf(CodeBlock(), 400);
  for (int stop = 0; stop <= v1::EarlyStop_MAX; ++stop) {
    request.mutable_groups(0)->set_early_stop(static_cast<v1::EarlyStop>(stop));
    if (stop != v1::EARLY_STOP_CRC) {
      EXPECT_THAT(Convert(request), IsOk());
      continue;
    }
    EXPECT_THAT(Convert(request), IsInvalid("groups[0].early_stop is EARLY_STOP_CRC: the code "
                                            "block has no crc"));
    EXPECT_THAT(Convert(request), RefusesFieldOf(v1::DecodeSharedChannelRequest::descriptor()));
  }
  request.mutable_groups(0)->set_early_stop(v1::EARLY_STOP_CRC);
  for (const auto crc : {v1::CODE_BLOCK_CRC_24A, v1::CODE_BLOCK_CRC_24B, v1::CODE_BLOCK_CRC_16}) {
    request.mutable_groups(0)->mutable_block()->mutable_code_block()->set_crc(crc);
    EXPECT_THAT(Convert(request), IsOk());
  }
}

TEST(SharedChannelOptionsTest, KeysOfHeldSoftBitsAreRefusedByName) {
  const auto expect = [](const std::function<void(v1::DecodeSharedChannelRequest*)>& change,
                         const std::string& message) {
    v1::DecodeSharedChannelRequest request = DecodeOf(TransportBlock(), 2 * 1600);
    request.mutable_groups(0)->mutable_harq()->set_key("a");
    *request.add_groups() = request.groups(0);
    request.mutable_groups(1)->mutable_harq()->set_key("b");
    ASSERT_THAT(Convert(request), IsOk());
    change(&request);
    EXPECT_THAT(Convert(request), IsInvalid(message));
    EXPECT_THAT(Convert(request), RefusesFieldOf(v1::DecodeSharedChannelRequest::descriptor()));
  };
  const auto harq = [](auto set) {
    return [set](v1::DecodeSharedChannelRequest* request) {
      set(request->mutable_groups(1)->mutable_harq());
    };
  };
  using Harq = v1::Harq;
  expect(harq([](Harq* m) { m->set_key(std::string(65, 'k')); }),
         "groups[1].harq.key has 65 bytes, not 1 to 64");
  expect(harq([](Harq* m) { m->set_key("a"); }), "groups[1].harq.key is that of ");
  expect(harq([](Harq* m) { m->set_soft_in(true); }), "groups[1].harq.key is set beside soft_in");
  expect(harq([](Harq* m) { m->set_soft_out(true); }), "groups[1].harq.key is set beside soft_in");
  expect(harq([](Harq* m) { m->set_llr_size(5); }), "groups[1].harq.llr_size 5 is not 8, 6 or 4");
  expect(harq([](Harq* m) {
           m->clear_key();
           m->set_llr_size(4);
         }),
         "groups[1].harq.llr_size 4 is set without a key");
  expect(harq([](Harq* m) { m->set_transmission(256); }),
         "groups[1].harq.transmission 256 is not in [0, 255]");
  expect(harq([](Harq* m) {
           m->clear_key();
           m->set_transmission(1);
         }),
         "groups[1].harq.transmission 1 is set without a key");
  expect([](auto* request) { request->mutable_groups(1)->set_count(2); },
         "groups[1].harq.key is set for 2 blocks");
  expect(harq([](Harq* m) {
           m->clear_key();
           m->set_block(4);
         }),
         "groups[1].harq.block 4 is set without a key");
  expect([](auto* request) { request->add_free_keys(""); },
         "free_keys[0] has 0 bytes, not 1 to 64");
  expect(
      [](auto* request) {
        request->add_free_keys("a");
        request->add_free_keys(std::string(65, 'k'));
      },
      "free_keys[1] has 65 bytes, not 1 to 64");
  expect(
      [](auto* request) {
        for (int i = 0; i <= 4096; ++i) request->add_free_keys("x");
      },
      "free_keys has 4097 keys");
}

// A client whose block brought a device down does not get by its quarantine with another name.
TEST(SharedChannelOptionsTest, NamesOfSoftBitsAreNoPartOfWhatARequestAsksFor) {
  v1::DecodeSharedChannelRequest request = DecodeOf(TransportBlock(), 1600);
  request.mutable_groups(0)->mutable_harq()->set_key("a");
  const uint64_t fingerprint = (*Convert(request))->fingerprint;
  EXPECT_NE(fingerprint, 0U);
  v1::DecodeSharedChannelRequest like = request;
  like.mutable_groups(0)->mutable_harq()->set_key("b");
  like.mutable_groups(0)->mutable_harq()->set_transmission(3);
  like.mutable_groups(0)->mutable_harq()->set_block(4);
  like.add_free_keys("a");
  EXPECT_EQ((*Convert(like))->fingerprint, fingerprint);
  like.mutable_groups(0)->set_max_iterations(7);
  EXPECT_NE((*Convert(like))->fingerprint, fingerprint);
}

}  // namespace
}  // namespace baseband::server
