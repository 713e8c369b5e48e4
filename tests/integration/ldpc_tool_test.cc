// basebandd-ldpc-tool between two pipes: what comes out of it, against code words and the library.
#include "tests/integration/ldpc_tool_test.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/sharing_server.h"

namespace baseband::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::StartsWith;

TEST_F(LdpcToolTest, NoisyFramesOfEveryFamilyComeBackAsTheirCodeWords) {
  const auto client = ClientOf(server_->target());
  Random random(1);
  for (const auto& [code, ebn0_db] : std::vector<std::pair<ToolCode, double>>{
           {NrCode(1, 384, 46), 3}, {NrCode(2, 52, 20), 4}, {WimaxCode(), 5}, {WifiCode(), 5}}) {
    const std::vector<uint8_t> words = CodeWords(client.get(), code, 50, &random);
    const std::string llr = Received(code, words, ebn0_db, &random);
    const PipeOutcome outcome = Run(code, llr, {"--trials=20", "--batch-size=7", "-v"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(BitsOf(outcome.output), words) << code.flags[0];
    EXPECT_NE(BitsOf(llr), words);
    EXPECT_THAT(outcome.errors, StartsWith("50 frames of "));
    EXPECT_THAT(outcome.errors, ContainsRegex(": 0 failed, [0-9.]+ iterations on average"));
  }
}

// Every third frame is noise alone.
TEST_F(LdpcToolTest, FramesThatDoNotDecodeKeepTheirPlaceAndAllAreAsDecodeHasThem) {
  const auto client = ClientOf(server_->target());
  const ToolCode code = NrCode(2, 20, 12);
  Random random(2);
  std::string llr = Received(code, CodeWords(client.get(), code, 600, &random), 3.5, &random);
  for (size_t i = 0; i < llr.size(); ++i) {
    if (i / code.frame_bytes() % 3 == 2) llr[i] = static_cast<char>(random.Below(255) - 127);
  }
  for (const auto algorithm :
       {v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM, v1::DECODE_ALGORITHM_BIT_FLIPPING}) {
    v1::DecodeGroup parameters;
    parameters.set_algorithm(algorithm);
    parameters.set_max_iterations(10);
    const Reference reference = DecodeByLibrary(client.get(), code, llr, parameters);
    EXPECT_GE(reference.failed, 200);
    const PipeOutcome outcome =
        Run(code, llr,
            {"--batch-size=5", "--in-flight=16", "--verbose",
             algorithm == v1::DECODE_ALGORITHM_BIT_FLIPPING ? "--algorithm=bit-flipping"
                                                            : "--algorithm=min-sum"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_TRUE(outcome.output == reference.soft);
    EXPECT_THAT(outcome.errors, HasSubstr(absl::StrCat(": ", reference.failed, " failed")));
  }
}

// Its soft values are rounded, so that a zero may stand for either.
TEST_F(LdpcToolTest, OfSumProductNoInformationBitIsLostInAZero) {
  const auto client = ClientOf(server_->target());
  const ToolCode code = WifiCode();
  Random random(3);
  const std::string llr = Received(code, CodeWords(client.get(), code, 300, &random), -1, &random);
  v1::DecodeRequest request;
  v1::DecodeGroup* const group = request.add_groups();
  *group->mutable_code() = code.code;
  group->set_count(300);
  group->set_algorithm(v1::DECODE_ALGORITHM_SUM_PRODUCT);
  group->set_max_iterations(10);
  request.set_payload(llr);
  const auto response = client->Decode(request);
  ASSERT_THAT(response, IsOk());
  const PipeOutcome outcome = Run(code, llr, {"--algorithm=sum-product", "--llr-scale=4"});
  ASSERT_EQ(outcome.output.size(), llr.size()) << outcome.errors;
  const std::vector<uint8_t> bits = BitsOf(outcome.output);
  const int k = code.shape().k();
  int wrong = 0;
  for (int i = 0; i < 300 * k; ++i) {
    const int byte =
        response->payload()[static_cast<size_t>(i / k * client::PackedBytes(k) + i % k / 8)];
    wrong += bits[static_cast<size_t>(i / k) * code.frame_bytes() + static_cast<size_t>(i % k)] !=
             (byte >> (7 - i % k % 8) & 1);
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(LdpcToolTest, OfFewerLlrsAndFillersAFrameIsAsLongAsItsLlrs) {
  const auto client = ClientOf(server_->target());
  ToolCode code = NrCode(1, 64, 46);
  code.flags = {"--nr-bg=1", "--zc=64", "--llr-count=2000", "--filler=100"};
  v1::EncodeRequest request;
  *request.add_groups()->mutable_code() = code.code;
  request.mutable_groups(0)->set_count(2);
  request.mutable_groups(0)->set_n_filler(100);
  request.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  request.set_payload(
      std::string(static_cast<size_t>(2 * client::PackedBytes(22 * 64 - 100)), 'x'));
  const auto encoded = client->Encode(request);
  ASSERT_THAT(encoded, IsOk());
  std::string llr;
  for (size_t frame = 0; frame < 2; ++frame) {
    for (size_t bit = 0; bit < 2000; ++bit) {
      const char byte = encoded->payload()[frame * encoded->payload().size() / 2 + bit / 8];
      llr.push_back((byte >> (7 - bit % 8) & 1) != 0 ? -9 : 9);
    }
  }
  const PipeOutcome outcome = Run(code, llr);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(outcome.output.size(), llr.size());
  EXPECT_EQ(BitsOf(outcome.output), BitsOf(llr));
}

TEST_F(LdpcToolTest, ALoneFrameDoesNotWaitForOthers) {
  const ToolCode code = WifiCode();
  const auto tool = Start(server_->target(), code, {"--batch-size=64"});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(tool->Write(std::string(code.frame_bytes(), 20)));  // all zeros, a code word
    const std::string corrected = tool->Read(code.frame_bytes());
    EXPECT_EQ(corrected.size(), code.frame_bytes());
    EXPECT_EQ(BitsOf(corrected), std::vector<uint8_t>(code.frame_bytes(), 0));
  }
  tool->CloseInput();
  EXPECT_EQ(tool->ReadAll(), "");
  EXPECT_EQ(tool->Wait(), 0) << tool->Errors();
}

TEST_F(LdpcToolTest, NoFramesAreNoError) {
  const PipeOutcome outcome = Run(WifiCode(), "", {"-v"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, StartsWith("0 frames of 802.11n"));
}

// Who does not read its output stops its input, and nothing is lost by it.
TEST_F(LdpcToolTest, WhatNobodyReadsStopsTheInput) {
  const auto client = ClientOf(server_->target());
  const ToolCode code = NrCode(1, 64, 46);
  Random random(4);
  const std::string some = Received(code, CodeWords(client.get(), code, 500, &random), 4, &random);
  std::string llr;
  for (int i = 0; i < 6; ++i) llr += some;  // 12.7 MB
  const std::string expected = DecodeByLibrary(client.get(), code, some).soft;

  const auto tool = Start(server_->target(), code, {"--batch-size=4", "--in-flight=2"});
  const size_t taken = tool->WriteWhileTaken(llr, absl::Seconds(1));
  EXPECT_LE(taken,
            (size_t{2} << 20) + 16 * code.frame_bytes());  // two pipes, and what is in flight
  std::thread writer([&] {
    tool->Write(llr.substr(taken));
    tool->CloseInput();
  });
  const std::string output = tool->ReadAll();
  writer.join();
  EXPECT_EQ(tool->Wait(), 0) << tool->Errors();
  ASSERT_EQ(output.size(), llr.size());
  for (size_t at = 0; at < output.size(); at += expected.size()) {
    EXPECT_TRUE(output.substr(at, expected.size()) == expected);
  }
}

class LdpcToolRingTest : public SharingServerTest {};

TEST_F(LdpcToolRingTest, SharedMemoryAndRingsBringTheSame) {
  Serve();
  const auto client = ClientOf(server_->target());
  const ToolCode code = NrCode(1, 128, 20);
  Random random(5);
  const std::string llr = Received(code, CodeWords(client.get(), code, 200, &random), 3, &random);
  const std::string expected = DecodeByLibrary(client.get(), code, llr).soft;
  for (const char* const way : {"--shared-memory", "--ring"}) {
    const double before = server_->Metric("baseband_shared_memory_bytes_total");
    std::vector<std::string> flags = code.flags;
    flags.insert(flags.end(), {way, "--target=" + server_->target()});
    PipedProcess tool(ProgramPath("basebandd-ldpc-tool"), flags);
    std::thread writer([&] {
      tool.Write(llr);
      tool.CloseInput();
    });
    const std::string output = tool.ReadAll();
    writer.join();
    EXPECT_EQ(tool.Wait(), 0) << tool.Errors();
    EXPECT_TRUE(output == expected) << way;
    EXPECT_GT(server_->Metric("baseband_shared_memory_bytes_total"), before);
  }
}

}  // namespace
}  // namespace baseband::testing
