// The C library with the real server: what it knows of the server's sizes, and what it is told.
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "client/c/basebandd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/sharing_server.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RingCTest : public SharingServerTest {
 protected:
  void Open() {
    Serve();
    ASSERT_EQ(basebandd_open(socket_.c_str(), nullptr, &client_), 0) << basebandd_error();
  }
  ~RingCTest() override { basebandd_close(client_); }

  // The code and text of a request with a payload of `sizes`, answered with as much room, less
  // `less`.
  std::string Call(uint8_t operation, const std::string& header, const basebandd_sizes& sizes,
                   uint64_t less = 0) {
    basebandd_request request{};
    void* const payload = basebandd_loan(client_, sizes.payload_bytes);
    std::memset(payload, 0, sizes.payload_bytes);
    request.operation = operation;
    request.header = header.data();
    request.header_bytes = header.size();
    request.payload = payload;
    request.payload_bytes = sizes.payload_bytes;
    request.reply_bytes = sizes.reply_bytes - less;
    request.reply = basebandd_loan(client_, request.reply_bytes);
    basebandd_answer answer{};
    EXPECT_EQ(basebandd_call(client_, &request, &answer, 60'000'000'000), 0) << basebandd_error();
    std::string said = std::to_string(answer.code);
    if (answer.code != 0) said += " " + std::string(answer.text, answer.text_bytes);
    EXPECT_EQ(basebandd_give_back(client_, payload), 0);
    EXPECT_EQ(basebandd_give_back(client_, request.reply), 0);
    return said;
  }

  basebandd_connection* client_ = nullptr;
};

uint32_t Below(uint32_t end, std::mt19937* random) {
  return static_cast<uint32_t>((*random)() % end);
}

basebandd_nr_code RandomCode(std::mt19937* random) {
  constexpr uint32_t kZc[] = {2, 3, 7, 8, 15, 64, 208, 384};
  const uint32_t rows = Below(3, random) == 0 ? 4 + Below(39, random) : 0;
  return {1 + Below(2, random), kZc[Below(8, random)], rows};
}

template <typename Group>
std::string Describe(int (*describe)(const Group*, size_t, void*, size_t),
                     const std::vector<Group>& groups) {
  std::string header(static_cast<size_t>(describe(groups.data(), groups.size(), nullptr, 0)), 0);
  describe(groups.data(), groups.size(), header.data(), header.size());
  return header;
}

TEST_F(RingCTest, SizesAreTheServers) {
  Open();
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    std::vector<basebandd_encode_group> words(1 + random() % 3);
    std::vector<basebandd_decode_group> blocks(1 + random() % 3);
    for (basebandd_encode_group& group : words) {
      group = {RandomCode(&random), 1 + Below(4, &random), Below(20, &random), Below(4, &random)};
    }
    for (basebandd_decode_group& group : blocks) {
      group.code = RandomCode(&random);
      group.count = 1 + Below(4, &random);
      group.n_filler = Below(3, &random);
      group.soft_output = Below(2, &random);
      group.max_iterations = 1;
    }
    basebandd_sizes sizes{};
    ASSERT_EQ(basebandd_size_encode(words.data(), words.size(), &sizes), 0) << basebandd_error();
    const std::string encode = Describe(basebandd_describe_encode, words);
    EXPECT_EQ(Call(BASEBANDD_ENCODE, encode, sizes), "0");
    EXPECT_THAT(Call(BASEBANDD_ENCODE, encode, sizes, 192), HasSubstr("11 reply_bytes"))
        << "and hardly more than it takes";
    ASSERT_EQ(basebandd_size_decode(blocks.data(), blocks.size(), &sizes), 0) << basebandd_error();
    const std::string decode = Describe(basebandd_describe_decode, blocks);
    EXPECT_EQ(Call(BASEBANDD_DECODE, decode, sizes), "0");
    EXPECT_THAT(Call(BASEBANDD_DECODE, decode, sizes, 192), HasSubstr("11 reply_bytes"));
    ++sizes.payload_bytes;
    EXPECT_THAT(Call(BASEBANDD_DECODE, decode, sizes), HasSubstr("3 payload"));
  }
}

TEST_F(RingCTest, MoreMemoryThanTheServerGrantsIsRefusedWithItsLimit) {
  Serve({"--client-shm-mib=32"});
  basebandd_options options{};
  options.memory_bytes = 32 << 20;
  ASSERT_EQ(basebandd_open(socket_.c_str(), &options, &client_), -EINVAL);
  EXPECT_THAT(
      basebandd_error(),
      AllOf(HasSubstr("memory_bytes 33554432 makes a region of 33591296 bytes with the ring"),
            HasSubstr("is not in [1, 33554432] (--client-shm-mib, --shm-mib)")));
}

}  // namespace
}  // namespace baseband::testing
