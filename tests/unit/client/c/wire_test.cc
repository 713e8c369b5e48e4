// Requests that are described and answers that are read without protobuf, against protobuf.
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "client/c/basebandd.h"

namespace baseband {
namespace {

static_assert(int{BASEBANDD_OUTPUT_PARITY} == int{v1::ENCODE_OUTPUT_PARITY});
static_assert(int{BASEBANDD_OUTPUT_CODEWORD} == int{v1::ENCODE_OUTPUT_CODEWORD});
static_assert(int{BASEBANDD_OUTPUT_FULL_CODEWORD} == int{v1::ENCODE_OUTPUT_FULL_CODEWORD});
static_assert(int{BASEBANDD_PRIORITY_HIGH} == int{v1::PRIORITY_HIGH});
static_assert(int{BASEBANDD_PRIORITY_LOW} == int{v1::PRIORITY_LOW});
static_assert(int{BASEBANDD_ENCODE} == int{v1::SubmitRequest::kEncodeFieldNumber});
static_assert(int{BASEBANDD_DECODE} == int{v1::SubmitRequest::kDecodeFieldNumber});
static_assert(int{BASEBANDD_RECOVER_CARRIER} == int{v1::SubmitRequest::kRecoverCarrierFieldNumber});
static_assert(int{BASEBANDD_DOWNCONVERT} == int{v1::SubmitRequest::kDownconvertFieldNumber});
static_assert(int{BASEBANDD_ENCODE_SHARED_CHANNEL} ==
              int{v1::SubmitRequest::kEncodeSharedChannelFieldNumber});
static_assert(int{BASEBANDD_DECODE_SHARED_CHANNEL} ==
              int{v1::SubmitRequest::kDecodeSharedChannelFieldNumber});

// Zero half of the time, else of any size, the largest too.
class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint32_t Uint() {
    if (random_() % 2 == 0) return 0;
    return random_() % 16 == 0 ? UINT32_MAX : static_cast<uint32_t>(random_() >> random_() % 64);
  }
  uint32_t Bool() { return random_() % 2; }
  uint32_t Enum(uint32_t last) { return static_cast<uint32_t>(random_() % (last + 1)); }
  float Float() {
    constexpr float kSpecial[] = {0.0F,
                                  -0.0F,
                                  1.0F,
                                  -2.5F,
                                  std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::denorm_min()};
    return kSpecial[random_() % 6];
  }
  size_t Count() { return 1 + random_() % 4; }
  std::string Bytes(size_t most) {
    std::string bytes(random_() % (most + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  uint64_t operator()() { return random_(); }

 private:
  std::mt19937_64 random_;
};

// What `describe` writes for the groups is what protobuf writes for `expected`, in any room.
template <typename Group, typename Message>
void ExpectDescribed(int (*describe)(const Group*, size_t, void*, size_t),
                     const std::vector<Group>& groups, const Message& expected) {
  const std::string bytes = expected.SerializeAsString();
  ASSERT_EQ(describe(groups.data(), groups.size(), nullptr, 0), static_cast<int>(bytes.size()));
  std::string written(bytes.size() + 3, '\x55');
  ASSERT_EQ(describe(groups.data(), groups.size(), written.data(), bytes.size()),
            static_cast<int>(bytes.size()));
  EXPECT_EQ(written, bytes + "\x55\x55\x55");
  ASSERT_EQ(describe(groups.data(), groups.size(), written.data(), bytes.size() - 1), -ENOSPC);
  EXPECT_EQ(basebandd_error(),
            "room " + std::to_string(bytes.size() - 1) +
                ": the description of these groups (count " + std::to_string(groups.size()) +
                ") has " + std::to_string(bytes.size()) + " bytes, which `to` needs room for");
  ASSERT_EQ(describe(groups.data(), 0, written.data(), written.size()), -EINVAL);
  Message parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(parsed, expected));
}

basebandd_nr_code RandomCode(Random* random, v1::LdpcCode* message) {
  const basebandd_nr_code code = {random->Uint(), random->Uint(), random->Uint()};
  message->mutable_nr()->set_base_graph(code.base_graph);
  message->mutable_nr()->set_zc(code.zc);
  message->set_parity_rows(code.parity_rows);
  return code;
}

TEST(SizesTest, FieldsThatAreOutOfRangeAreNamed) {
  basebandd_sizes sizes{};
  basebandd_decode_group good{};
  good.code = {2, 8, 4};
  good.count = 1;
  const auto refusal_of = [&](auto spoil) {
    basebandd_decode_group groups[] = {good, good};
    spoil(&groups[1]);
    EXPECT_EQ(basebandd_size_decode(groups, 2, &sizes), -EINVAL);
    return std::string(basebandd_error());
  };
  EXPECT_EQ(refusal_of([](auto* group) { group->code.base_graph = 3; }),
            "groups[1].code.base_graph 3 is not in [1, 2]");
  EXPECT_EQ(refusal_of([](auto* group) { group->code.zc = 385; }),
            "groups[1].code.zc 385 is not in [2, 384]");
  EXPECT_EQ(refusal_of([](auto* group) { group->code.parity_rows = 43; }),
            "groups[1].code.parity_rows 43 is not in [4, 42]");
  EXPECT_EQ(refusal_of([](auto* group) { group->count = 0; }),
            "groups[1].count 0 is not in [1, 4294967295]");
  EXPECT_EQ(refusal_of([](auto* group) { group->n_filler = 80; }),
            "groups[1].n_filler 80 is not in [0, 79]");
  EXPECT_EQ(refusal_of([](auto* group) { group->llr_count = 97; }),
            "groups[1].llr_count 97 is not in [0, 96]");
  const basebandd_encode_group encode = {{1, 8, 0}, 1, 0, 4};
  EXPECT_EQ(basebandd_size_encode(&encode, 1, &sizes), -EINVAL);
  EXPECT_STREQ(basebandd_error(), "groups[0].output 4 is not in [0, 3]");
  EXPECT_EQ(basebandd_size_encode(&encode, 0, &sizes), -EINVAL);
  EXPECT_EQ(basebandd_size_decode(nullptr, 1, &sizes), -EINVAL);
  EXPECT_STREQ(basebandd_error(), "groups is null");
}

TEST(SizesTest, OfBlocksWithoutNumberNoneIsWrong) {
  basebandd_sizes sizes{};
  basebandd_decode_group most{};
  most.code = {1, 384, 0};
  most.count = UINT32_MAX;
  most.soft_output = 1;
  ASSERT_EQ(basebandd_size_decode(&most, 1, &sizes), 0);
  EXPECT_EQ(sizes.payload_bytes, uint64_t{UINT32_MAX} * 66 * 384);
  EXPECT_EQ(sizes.reply_bytes,
            BASEBANDD_REPLY_BYTES(uint64_t{UINT32_MAX} * (22 * 384 / 8 + 68 * 384), UINT32_MAX));
  const std::vector<basebandd_decode_group> groups(2, most);
  EXPECT_EQ(basebandd_size_decode(groups.data(), groups.size(), &sizes), -EINVAL);
  EXPECT_STREQ(basebandd_error(),
               "the groups' counts are together 8589934590, which is not in [1, 4294967295]");
}

TEST(DescribeTest, EncodeIsWhatProtobufWrites) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<basebandd_encode_group> groups(random.Count());
    v1::EncodeRequest expected;
    for (basebandd_encode_group& group : groups) {
      v1::EncodeGroup* const message = expected.add_groups();
      group.code = RandomCode(&random, message->mutable_code());
      message->set_count(group.count = random.Uint());
      message->set_n_filler(group.n_filler = random.Uint());
      message->set_output(static_cast<v1::EncodeOutput>(group.output = random.Enum(3)));
    }
    ExpectDescribed(basebandd_describe_encode, groups, expected);
  }
}

TEST(DescribeTest, DecodeIsWhatProtobufWrites) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<basebandd_decode_group> groups(random.Count());
    v1::DecodeRequest expected;
    for (basebandd_decode_group& group : groups) {
      v1::DecodeGroup* const message = expected.add_groups();
      group.code = RandomCode(&random, message->mutable_code());
      message->set_count(group.count = random.Uint());
      message->set_n_filler(group.n_filler = random.Uint());
      message->set_llr_count(group.llr_count = random.Uint());
      message->set_algorithm(static_cast<v1::DecodeAlgorithm>(group.algorithm = random.Enum(3)));
      message->set_schedule(static_cast<v1::DecodeSchedule>(group.schedule = random.Enum(2)));
      message->set_max_iterations(group.max_iterations = random.Uint());
      message->set_fixed_iterations((group.fixed_iterations = random.Bool()) != 0);
      message->set_scale_factor(group.scale_factor = random.Float());
      message->set_llr_scale(group.llr_scale = random.Float());
      message->set_soft_output((group.soft_output = random.Bool()) != 0);
    }
    ExpectDescribed(basebandd_describe_decode, groups, expected);
  }
}

basebandd_shared_channel_block RandomBlock(Random* random, v1::SharedChannelBlock* message) {
  basebandd_shared_channel_block block{};
  block.is_code_block = random->Bool();
  block.base_graph = random->Uint();
  if (block.is_code_block != 0) {
    v1::CodeBlock* const code_block = message->mutable_code_block();
    code_block->set_base_graph(block.base_graph);
    code_block->set_zc(block.zc = random->Uint());
    code_block->set_n_filler(block.n_filler = random->Uint());
    code_block->set_n_cb(block.n_cb = random->Uint());
    code_block->set_e(block.e = random->Uint());
    code_block->set_crc(static_cast<v1::CodeBlockCrc>(block.crc = random->Enum(3)));
  } else {
    v1::TransportBlock* const transport_block = message->mutable_transport_block();
    transport_block->set_base_graph(block.base_graph);
    transport_block->set_tb_bytes(block.tb_bytes = random->Uint());
    transport_block->set_code_rate(block.code_rate = random->Float());
    transport_block->set_g(block.g = random->Uint());
    transport_block->set_tbs_lbrm(block.tbs_lbrm = random->Uint());
  }
  message->set_rv(block.rv = random->Uint());
  message->set_qm(block.qm = random->Uint());
  message->set_layers(block.layers = random->Uint());
  block.is_scrambled = random->Bool();
  block.c_init = random->Uint();
  if (block.is_scrambled != 0) message->set_c_init(block.c_init);
  return block;
}

TEST(DescribeTest, EncodeSharedChannelIsWhatProtobufWrites) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<basebandd_encode_shared_channel_group> groups(random.Count());
    v1::EncodeSharedChannelRequest expected;
    for (basebandd_encode_shared_channel_group& group : groups) {
      v1::EncodeSharedChannelGroup* const message = expected.add_groups();
      group.block = RandomBlock(&random, message->mutable_block());
      message->set_count(group.count = random.Uint());
      message->set_output(static_cast<v1::SharedChannelOutput>(group.output = random.Enum(4)));
      message->set_scale(group.scale = random.Float());
    }
    ExpectDescribed(basebandd_describe_encode_shared_channel, groups, expected);
  }
}

TEST(DescribeTest, DecodeSharedChannelIsWhatProtobufWrites) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<basebandd_decode_shared_channel_group> groups(random.Count());
    std::vector<std::string> keys(groups.size());
    v1::DecodeSharedChannelRequest expected;
    for (size_t i = 0; i < groups.size(); ++i) {
      basebandd_decode_shared_channel_group& group = groups[i];
      v1::DecodeSharedChannelGroup* const message = expected.add_groups();
      group.block = RandomBlock(&random, message->mutable_block());
      message->set_count(group.count = random.Uint());
      message->set_input(static_cast<v1::SharedChannelInput>(group.input = random.Enum(9)));
      message->set_llr_scale(group.llr_scale = random.Float());
      message->set_symbol_scale(group.symbol_scale = random.Float());
      group.has_noise_variance = random.Bool();
      group.noise_variance = random.Float();
      if (group.has_noise_variance != 0) message->set_noise_variance(group.noise_variance);
      message->set_log_sum((group.log_sum = random.Bool()) != 0);
      message->set_max_iterations(group.max_iterations = random.Uint());
      message->set_scale_factor(group.scale_factor = random.Float());
      message->set_early_stop(static_cast<v1::EarlyStop>(group.early_stop = random.Enum(3)));
      group.has_harq = random.Bool();
      if (group.has_harq == 0) continue;
      v1::Harq* const harq = message->mutable_harq();
      keys[i] = random.Bytes(64);
      harq->set_soft_in((group.harq_soft_in = random.Bool()) != 0);
      harq->set_soft_out((group.harq_soft_out = random.Bool()) != 0);
      harq->set_key(keys[i]);
      group.harq_key = keys[i].data();
      group.harq_key_bytes = static_cast<uint32_t>(keys[i].size());
      harq->set_transmission(group.harq_transmission = random.Uint());
      harq->set_block(group.harq_block = random.Uint());
      harq->set_llr_size(group.harq_llr_size = random.Uint());
    }
    ExpectDescribed(basebandd_describe_decode_shared_channel, groups, expected);
  }
}

TEST(DescribeTest, AKeyThatIsNotThereIsNamed) {
  basebandd_decode_shared_channel_group groups[2] = {};
  groups[1].harq_key_bytes = 4;
  EXPECT_GT(basebandd_describe_decode_shared_channel(groups, 2, nullptr, 0), 0) << "has no harq";
  groups[1].has_harq = 1;
  EXPECT_EQ(basebandd_describe_decode_shared_channel(groups, 2, nullptr, 0), -EINVAL);
  EXPECT_STREQ(basebandd_error(), "groups[1].harq_key is null, harq_key_bytes 4");
}

// ---- reading

// An answer with that header, in memory that ends with it.
struct Answer {
  explicit Answer(const std::string& bytes) : header(bytes.begin(), bytes.end()) {
    header.shrink_to_fit();
    answer.header = header.data();
    answer.header_bytes = header.size();
    answer.reply = reply;
    answer.reply_bytes = sizeof(reply);
    answer.reply_offset = 4096;
  }
  std::vector<char> header;
  char reply[512] = {};
  basebandd_answer answer{};
};

v1::DecodeResponse RandomDecodeResponse(Random* random) {
  v1::DecodeResponse response;
  response.mutable_timing()->set_kernel_us(random->Uint());
  for (uint64_t block = (*random)() % 300; block > 0; --block) {
    response.add_iterations(random->Uint());
    response.add_parity_ok(random->Bool() != 0);
  }
  v1::PlacedField* const placed = response.add_placed();
  placed->set_field(15);
  placed->set_offset(4096);
  placed->set_bytes(256);
  return response;
}

TEST(ReadTest, DecodeBringsWhatProtobufHasWritten) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const v1::DecodeResponse response = RandomDecodeResponse(&random);
    const Answer answer(response.SerializeAsString());
    const size_t room = random() % 400;
    std::vector<basebandd_code_block_result> results(room);
    ASSERT_EQ(basebandd_read_decode(&answer.answer, results.data(), room),
              response.iterations_size());
    for (int i = 0; i < response.iterations_size() && i < static_cast<int>(room); ++i) {
      ASSERT_EQ(results[static_cast<size_t>(i)].iterations, response.iterations(i));
      ASSERT_EQ(results[static_cast<size_t>(i)].parity_ok != 0, response.parity_ok(i));
    }
    const void* data = nullptr;
    size_t bytes = 0;
    ASSERT_EQ(basebandd_read_placed(&answer.answer, 15, &data, &bytes), 0);
    EXPECT_EQ(data, answer.reply);
    EXPECT_EQ(bytes, 256U);
    EXPECT_EQ(basebandd_read_placed(&answer.answer, 14, &data, &bytes), -ENOENT);
  }
}

v1::DecodeSharedChannelResponse RandomSharedChannelResponse(Random* random) {
  v1::DecodeSharedChannelResponse response;
  for (uint64_t block = random->Enum(8); block > 0; --block) {
    v1::SharedChannelResult* const result = response.add_blocks();
    result->set_crc_ok(random->Bool() != 0);
    result->set_code_blocks(random->Enum(20));
    result->set_unusable(random->Uint());
    result->set_harq(static_cast<v1::HarqOutcome>(random->Enum(6)));
    result->set_harq_message(random->Bytes(20).substr(0, 0) + "why");
    for (uint32_t i = 0; i < result->code_blocks(); ++i) {
      response.add_crc_ok(random->Bool() != 0);
      response.add_parity_ok(random->Bool() != 0);
      response.add_iterations(random->Enum(100));
    }
  }
  return response;
}

TEST(ReadTest, DecodeSharedChannelBringsWhatProtobufHasWritten) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const v1::DecodeSharedChannelResponse response = RandomSharedChannelResponse(&random);
    const Answer answer(response.SerializeAsString());
    std::vector<basebandd_block_result> blocks(random() % 12);
    std::vector<basebandd_code_block_result> code_blocks(random() % 200);
    size_t num_code_blocks = 12345;
    ASSERT_EQ(basebandd_read_decode_shared_channel(&answer.answer, blocks.data(), blocks.size(),
                                                   code_blocks.data(), code_blocks.size(),
                                                   &num_code_blocks),
              response.blocks_size());
    ASSERT_EQ(num_code_blocks, static_cast<size_t>(response.crc_ok_size()));
    for (size_t i = 0; i < blocks.size() && i < static_cast<size_t>(response.blocks_size()); ++i) {
      const v1::SharedChannelResult& expected = response.blocks(static_cast<int>(i));
      ASSERT_EQ(blocks[i].crc_ok != 0, expected.crc_ok());
      ASSERT_EQ(blocks[i].code_blocks, expected.code_blocks());
      ASSERT_EQ(blocks[i].unusable, expected.unusable());
      ASSERT_EQ(blocks[i].harq, expected.harq());
    }
    for (size_t i = 0; i < code_blocks.size() && i < num_code_blocks; ++i) {
      const int at = static_cast<int>(i);
      ASSERT_EQ(code_blocks[i].crc_ok != 0, response.crc_ok(at));
      ASSERT_EQ(code_blocks[i].parity_ok != 0, response.parity_ok(at));
      ASSERT_EQ(code_blocks[i].iterations, response.iterations(at));
    }
  }
}

TEST(ReadTest, ListsThatAreNotPackedAreReadToo) {
  // iterations 5, 300; parity_ok 1, 0
  const Answer answer(std::string("\x10\x05\x10\xac\x02\x18\x01\x18\x00", 9));
  basebandd_code_block_result results[2];
  ASSERT_EQ(basebandd_read_decode(&answer.answer, results, 2), 2);
  EXPECT_EQ(results[0].iterations, 5U);
  EXPECT_EQ(results[1].iterations, 300U);
  EXPECT_EQ(results[0].parity_ok, 1);
  EXPECT_EQ(results[1].parity_ok, 0);
}

TEST(ReadTest, ListsOfUnequalLengthAreNoResponse) {
  v1::DecodeResponse response;
  response.add_iterations(3);
  const Answer one(response.SerializeAsString());
  EXPECT_EQ(basebandd_read_decode(&one.answer, nullptr, 0), -EBADMSG);
  v1::DecodeSharedChannelResponse shared;
  shared.add_blocks()->set_code_blocks(UINT32_MAX);
  const Answer other(shared.SerializeAsString());
  EXPECT_EQ(basebandd_read_decode_shared_channel(&other.answer, nullptr, 0, nullptr, 0, nullptr),
            -EBADMSG);
}

TEST(ReadTest, AnAnswerThatIsAnErrorHasNoResults) {
  Answer answer("anything");
  answer.answer.code = 3;
  EXPECT_EQ(basebandd_read_decode(&answer.answer, nullptr, 0), 0);
  const void* data = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(basebandd_read_placed(&answer.answer, 15, &data, &bytes), -ENOENT);
}

TEST(ReadTest, PlacesOutsideOfTheReplyAreNoResponse) {
  struct Case {
    uint64_t offset;
    uint64_t bytes;
  };
  for (const Case& c : {Case{4095, 1}, Case{4096, 513}, Case{4608, 1}, Case{0, 1},
                        Case{4097, UINT64_MAX}, Case{UINT64_MAX, 2}}) {
    v1::DecodeResponse response;
    v1::PlacedField* const placed = response.add_placed();
    placed->set_field(15);
    placed->set_offset(c.offset);
    placed->set_bytes(c.bytes);
    const Answer answer(response.SerializeAsString());
    const void* data = nullptr;
    size_t bytes = 0;
    EXPECT_EQ(basebandd_read_placed(&answer.answer, 15, &data, &bytes), -EBADMSG) << c.offset;
  }
}

// Cut, changed and invented headers: never more than their bytes is read, which the sanitizer sees,
// and what is accepted is what protobuf accepts.
TEST(ReadTest, AnyBytesAreReadSafely) {
  int accepted = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    std::string bytes;
    switch (random.Enum(2)) {
      case 0:
        bytes = random.Bytes(60);
        break;
      case 1:
        bytes = RandomDecodeResponse(&random).SerializeAsString();
        break;
      default:
        bytes = RandomSharedChannelResponse(&random).SerializeAsString();
    }
    if (random.Bool() != 0) bytes.resize(bytes.size() - random() % (bytes.size() + 1));
    for (uint32_t changes = random.Enum(3); changes > 0 && !bytes.empty(); --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const Answer answer(bytes);
    basebandd_code_block_result code_blocks[8];
    basebandd_block_result blocks[4];
    size_t count = 0;
    const void* data = nullptr;
    size_t size = 0;
    const int decode = basebandd_read_decode(&answer.answer, code_blocks, 8);
    (void)basebandd_read_decode_shared_channel(&answer.answer, blocks, 4, code_blocks, 8, &count);
    if (basebandd_read_placed(&answer.answer, 15, &data, &size) == 0) {
      ASSERT_GE(data, static_cast<const void*>(answer.reply));
      ASSERT_LE(static_cast<const char*>(data) + size, answer.reply + sizeof(answer.reply));
    }
    v1::DecodeResponse parsed;
    if (decode >= 0 && parsed.ParseFromString(bytes)) {
      ASSERT_EQ(decode, parsed.iterations_size());
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace baseband
