// Frames for basebandd-ldpc-tool, and what the client library makes of them. For its tests.
#ifndef BASEBAND_TESTS_INTEGRATION_LDPC_TOOL_TEST_H_
#define BASEBAND_TESTS_INTEGRATION_LDPC_TOOL_TEST_H_

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"
#include "client/cpp/code_shape.h"
#include "tests/support/channel.h"
#include "tests/support/matchers.h"
#include "tests/support/piped_process.h"
#include "tests/support/server_process.h"

namespace baseband::testing {

// A code as the flags and as requests have it.
struct ToolCode {
  std::vector<std::string> flags;
  v1::LdpcCode code;

  client::CodeShape shape() const { return *client::ShapeOf(code); }
  size_t frame_bytes() const { return static_cast<size_t>(shape().sent()); }
};

inline ToolCode NrCode(int base_graph, int zc, int rows) {
  ToolCode code;
  code.flags = {absl::StrCat("--nr-bg=", base_graph), absl::StrCat("--zc=", zc),
                absl::StrCat("--rows=", rows)};
  code.code.mutable_nr()->set_base_graph(static_cast<uint32_t>(base_graph));
  code.code.mutable_nr()->set_zc(static_cast<uint32_t>(zc));
  code.code.set_parity_rows(static_cast<uint32_t>(rows));
  return code;
}
inline ToolCode WimaxCode() {
  ToolCode code;
  code.flags = {"--wimax=3/4A", "--n=1152"};
  code.code.mutable_wimax()->set_rate(v1::WimaxCode::RATE_3_4A);
  code.code.mutable_wimax()->set_n(1152);
  return code;
}
inline ToolCode WifiCode() {
  ToolCode code;
  code.flags = {"--wifi=1/2", "--n=648"};
  code.code.mutable_wifi()->set_rate(v1::WifiCode::RATE_1_2);
  code.code.mutable_wifi()->set_n(648);
  return code;
}

inline std::unique_ptr<client::Client> ClientOf(const std::string& target) {
  client::ClientOptions options;
  options.target = target;
  auto client = client::Client::Create(options);
  EXPECT_THAT(client, IsOk());
  return *std::move(client);
}

// One byte a bit: random code words, which the server has encoded.
inline std::vector<uint8_t> CodeWords(client::Client* client, const ToolCode& code, int frames,
                                      Random* random) {
  v1::EncodeRequest request;
  v1::EncodeGroup* const group = request.add_groups();
  *group->mutable_code() = code.code;
  group->set_count(static_cast<uint32_t>(frames));
  group->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  std::string info(static_cast<size_t>(frames * client::PackedBytes(code.shape().k())), '\0');
  for (char& byte : info) byte = static_cast<char>(random->Below(256));
  request.set_payload(info);
  const auto response = client->Encode(request);
  EXPECT_THAT(response, IsOk());
  const size_t bits = code.frame_bytes();
  const auto bytes = static_cast<size_t>(client::PackedBytes(static_cast<int64_t>(bits)));
  std::vector<uint8_t> words;
  for (int i = 0; i < frames; ++i) {
    for (size_t bit = 0; bit < bits; ++bit) {
      const char byte = response->payload()[static_cast<size_t>(i) * bytes + bit / 8];
      words.push_back(static_cast<uint8_t>(byte >> (7 - bit % 8) & 1));
    }
  }
  return words;
}

// What a receiver sees of them at Eb/N0.
inline std::string Received(const ToolCode& code, const std::vector<uint8_t>& words, double ebn0_db,
                            Random* random) {
  const double rate = static_cast<double>(code.shape().k()) / code.shape().sent();
  const std::vector<int8_t> llr =
      QuantiseLlr(SendOverAwgn(words, NoiseVariance(ebn0_db, rate), *random));
  return std::string(llr.begin(), llr.end());
}

struct Reference {
  std::string soft;  // of what is sent
  int failed = 0;
};

// What Decode makes of `llr`, all frames in one request.
inline Reference DecodeByLibrary(client::Client* client, const ToolCode& code,
                                 const std::string& llr, v1::DecodeGroup parameters = {}) {
  v1::DecodeRequest request;
  *request.add_groups() = std::move(parameters);
  v1::DecodeGroup* const group = request.mutable_groups(0);
  *group->mutable_code() = code.code;
  const size_t frames = llr.size() / code.frame_bytes();
  group->set_count(static_cast<uint32_t>(frames));
  group->set_llr_scale(4);
  group->set_soft_output(true);
  request.set_payload(llr);
  const auto response = client->Decode(request);
  EXPECT_THAT(response, IsOk());
  Reference reference;
  const size_t all = response->soft().size() / frames;
  for (size_t i = 0; i < frames; ++i) {
    reference.soft +=
        response->soft().substr((i + 1) * all - code.frame_bytes(), code.frame_bytes());
    reference.failed += response->parity_ok(static_cast<int>(i)) ? 0 : 1;
  }
  return reference;
}

// Bits of corrected frames, as whoever reads them has it: below 0 is a 1.
inline std::vector<uint8_t> BitsOf(absl::string_view corrected) {
  std::vector<uint8_t> bits;
  for (const char llr : corrected) bits.push_back(static_cast<signed char>(llr) < 0 ? 1 : 0);
  return bits;
}

struct PipeOutcome {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

class LdpcToolTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto server = ServerProcess::Start();
    ASSERT_THAT(server, IsOk());
    server_ = server->release();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  static std::unique_ptr<PipedProcess> Start(const std::string& target, const ToolCode& code,
                                             std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), code.flags.begin(), code.flags.end());
    flags.push_back("--target=" + target);
    return std::make_unique<PipedProcess>(ProgramPath("basebandd-ldpc-tool"), flags);
  }
  // From its first byte to its end.
  static PipeOutcome Run(const std::string& target, const ToolCode& code, const std::string& input,
                         std::vector<std::string> flags = {}) {
    const auto tool = Start(target, code, std::move(flags));
    std::thread writer([&] {
      tool->Write(input);
      tool->CloseInput();
    });
    PipeOutcome outcome;
    outcome.output = tool->ReadAll();
    writer.join();
    outcome.exit_code = tool->Wait().value_or(-1);
    outcome.errors = tool->Errors();
    return outcome;
  }
  static PipeOutcome Run(const ToolCode& code, const std::string& input,
                         std::vector<std::string> flags = {}) {
    return Run(server_->target(), code, input, std::move(flags));
  }

  inline static ServerProcess* server_ = nullptr;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_INTEGRATION_LDPC_TOOL_TEST_H_
