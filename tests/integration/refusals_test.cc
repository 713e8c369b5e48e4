// Any bytes: each wrong request gets a canonical code whose message names field, value and range;
// nothing is launched for it, and the connection goes on serving.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/raw_call.h"
#include "tests/support/server_test.h"
#include "tests/support/shared_channel_traffic.h"
#include "tests/support/test_files.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MATCHER_P2(Refuses, code, message, "") {
  *result_listener << "code " << arg.error_code() << ", message: " << arg.error_message();
  return arg.error_code() == code &&
         ::testing::ExplainMatchResult(message, arg.error_message(), result_listener);
}

auto Invalid(const std::string& message) {
  return Refuses(grpc::StatusCode::INVALID_ARGUMENT, HasSubstr(message));
}

std::string Admin() { return absl::StrCat("unix:", FolderOfTests(), "/admin"); }

class RefusalsTest : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--max-request-mib=4", "--lane-input-mib=4", "--lane-output-mib=4",
                 "--max-blocks-per-request=1000", "--staging-mib=32", "--reply-mib=32",
                 "--admin-listen=" + Admin()});
  }

  void SetUp() override {
    ServerTest::SetUp();
    if (HasFatalFailure()) return;
    batches_before_ = server_->Metric("baseband_batches_total");
  }

  // Whatever a test sent: nothing was launched, and a right request still works.
  void TearDown() override {
    EXPECT_EQ(server_->Metric("baseband_batches_total"), batches_before_);
    EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0));
    v1::EncodeResponse response;
    EXPECT_TRUE(Call(*stub_, EncodeOf(NrCode(2, 16), 1), &response).ok());
  }

  static grpc::Status Encode(const v1::EncodeRequest& request) {
    v1::EncodeResponse response;
    return Call(*stub_, request, &response);
  }
  static grpc::Status Decode(const v1::DecodeRequest& request) {
    v1::DecodeResponse response;
    return Call(*stub_, request, &response);
  }
  static grpc::Status EncodeCode(const v1::LdpcCode& code) {
    v1::EncodeRequest request;
    request.add_groups()->set_count(1);
    *request.mutable_groups(0)->mutable_code() = code;
    return Encode(request);
  }
  // A Decode group like this one, with the payload of a right request.
  static grpc::Status DecodeGroup(const v1::DecodeGroup& group) {
    v1::DecodeRequest request = DecodeOfZeros(NrCode(2, 16), 1);
    const v1::LdpcCode code = request.groups(0).code();
    *request.mutable_groups(0) = group;
    *request.mutable_groups(0)->mutable_code() = code;
    if (group.count() == 0) request.mutable_groups(0)->set_count(1);
    return Decode(request);
  }

  double batches_before_ = 0;
};

TEST_F(RefusalsTest, ZeroGroups) {
  EXPECT_THAT(Encode({}), Invalid("groups is empty"));
  EXPECT_THAT(Decode({}), Invalid("groups is empty"));
}

TEST_F(RefusalsTest, AreCountedByReason) {
  const std::vector<std::string> invalid = {"rpc=\"Encode\"", "reason=\"invalid_request\""};
  ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  const double before = server_->Metric("baseband_requests_unserved_total", invalid);
  const double all_before = server_->Metric("baseband_requests_unserved_total");

  EXPECT_THAT(Encode({}), Invalid("groups is empty"));
  EXPECT_THAT(Encode({}), Invalid("groups is empty"));

  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_unserved_total", invalid, before + 2));
  EXPECT_EQ(server_->Metric("baseband_requests_unserved_total"), all_before + 2);
}

TEST_F(RefusalsTest, NoCode) { EXPECT_THAT(EncodeCode({}), Invalid("groups[0].code is not set")); }

TEST_F(RefusalsTest, NrNumbersOutsideTheStandard) {
  EXPECT_THAT(EncodeCode(NrCode(0, 384)), Invalid("base_graph 0 is not in [1, 2]"));
  EXPECT_THAT(EncodeCode(NrCode(3, 384)), Invalid("base_graph 3 is not in [1, 2]"));
  EXPECT_THAT(EncodeCode(NrCode(1, 0)), Invalid("zc 0 is not a lifting size"));
  EXPECT_THAT(EncodeCode(NrCode(1, 17)), Invalid("zc 17 is not a lifting size"));
  EXPECT_THAT(EncodeCode(NrCode(1, -1)), Invalid("zc 4294967295 is not a lifting size"));
  EXPECT_THAT(EncodeCode(NrCode(1, 384, 3)),
              Invalid("parity_rows 3 is neither 0 (all) nor in [4, 46]"));
  EXPECT_THAT(EncodeCode(NrCode(2, 384, 43)),
              Invalid("parity_rows 43 is neither 0 (all) nor in [4, 42]"));
}

TEST_F(RefusalsTest, IeeeNumbersOutsideTheStandard) {
  EXPECT_THAT(EncodeCode(WimaxCode(v1::WimaxCode::RATE_UNSPECIFIED, 576)),
              Invalid("wimax.rate 0 is not in [1, 6]"));
  EXPECT_THAT(EncodeCode(WimaxCode(v1::WimaxCode::RATE_1_2, 577)), Invalid("n 577 is not a code"));
  EXPECT_THAT(EncodeCode(WifiCode(static_cast<v1::WifiCode::Rate>(99), 648)),
              Invalid("wifi.rate 99 is not in [1, 4]"));
  EXPECT_THAT(EncodeCode(WifiCode(v1::WifiCode::RATE_1_2, 0)), Invalid("n 0 is not a code length"));
  v1::LdpcCode part = WifiCode(v1::WifiCode::RATE_1_2, 648);
  part.set_parity_rows(4);
  EXPECT_THAT(EncodeCode(part), Invalid("parity_rows 4 is not 0"));
}

TEST_F(RefusalsTest, CustomMatricesOutOfShape) {
  v1::LdpcCode code = CustomCode(4, 8);
  code.mutable_custom()->set_zc(513);
  EXPECT_THAT(EncodeCode(code), Invalid("zc 513 is not in [1, 512]"));
  code = CustomCode(4, 8);
  code.mutable_custom()->set_rows(0);
  EXPECT_THAT(EncodeCode(code), Invalid("rows 0 is not in [1, 64]"));
  code.mutable_custom()->set_rows(65);
  EXPECT_THAT(EncodeCode(code), Invalid("rows 65 is not in [1, 64]"));
  code = CustomCode(4, 8);
  code.mutable_custom()->set_columns(4);
  EXPECT_THAT(EncodeCode(code), Invalid("columns 4 is not in [5, 128]"));
  code.mutable_custom()->set_columns(0xffffffff);
  EXPECT_THAT(EncodeCode(code), Invalid("columns 4294967295 is not in [5, 128]"));
  code = CustomCode(4, 8);
  code.mutable_custom()->set_punctured_columns(3);
  EXPECT_THAT(EncodeCode(code), Invalid("punctured_columns 3 is not in [0, 2]"));
  code = CustomCode(4, 8);
  code.mutable_custom()->mutable_shifts()->RemoveLast();
  EXPECT_THAT(EncodeCode(code), Invalid("shifts has 23 entries, not rows * columns = 24"));
  code = CustomCode(4, 8);
  code.mutable_custom()->set_shifts(5, 8);
  EXPECT_THAT(EncodeCode(code), Invalid("shifts[5] is 8, not in [-1, 7]"));
  code.mutable_custom()->set_shifts(5, -2);
  EXPECT_THAT(EncodeCode(code), Invalid("shifts[5] is -2, not in [-1, 7]"));
  code = CustomCode(4, 8);
  code.set_parity_rows(5);
  EXPECT_THAT(EncodeCode(code), Invalid("parity_rows 5 is not in [1, 4]"));
}

TEST_F(RefusalsTest, CountsThatAreZeroTooLargeOrOverflow) {
  v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 1);
  request.mutable_groups(0)->set_count(0);
  EXPECT_THAT(Encode(request), Invalid("groups[0].count 0 is not in [1, 1000]"));
  request.mutable_groups(0)->set_count(1001);
  EXPECT_THAT(Encode(request), Invalid("groups[0].count 1001 is not in [1, 1000]"));
  request.mutable_groups(0)->set_count(0xffffffff);
  EXPECT_THAT(Encode(request), Invalid("groups[0].count 4294967295 is not in [1, 1000]"));

  request = EncodeOf(NrCode(1, 2), 600);
  *request.add_groups() = request.groups(0);
  request.mutable_payload()->append(request.payload());
  EXPECT_THAT(Encode(request), Invalid("groups have 1200 code blocks together, not 1 to 1000"));
}

TEST_F(RefusalsTest, TooManyGroups) {
  v1::EncodeRequest request;
  for (int i = 0; i < 4097; ++i) *request.add_groups() = EncodeOf(NrCode(1, 2), 1).groups(0);
  EXPECT_THAT(Encode(request), Invalid("groups has 4097 entries, not 1 to 4096"));
}

TEST_F(RefusalsTest, PayloadsOfTheWrongLength) {
  v1::EncodeRequest encode = EncodeOf(NrCode(1, 384), 2);
  encode.mutable_payload()->pop_back();
  EXPECT_THAT(Encode(encode), Invalid("payload has 2111 bytes, the groups describe 2112"));
  encode.clear_payload();
  EXPECT_THAT(Encode(encode), Invalid("payload has 0 bytes, the groups describe 2112"));
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(2, 16), 3);
  decode.mutable_payload()->push_back(0);
  EXPECT_THAT(Decode(decode), Invalid("payload has 2401 bytes, the groups describe 2400"));
}

TEST_F(RefusalsTest, FillersBeyondTheInformation) {
  v1::EncodeRequest request = EncodeOf(NrCode(2, 16), 1);
  request.mutable_groups(0)->set_n_filler(160);
  EXPECT_THAT(Encode(request), Invalid("groups[0].n_filler 160 is not in [0, 159]"));
  request.mutable_groups(0)->set_n_filler(0xffffffff);
  EXPECT_THAT(Encode(request), Invalid("groups[0].n_filler 4294967295 is not in [0, 159]"));
}

TEST_F(RefusalsTest, TheGroupAtFaultIsNamed) {
  v1::EncodeRequest request = EncodeOf(NrCode(2, 16), 1);
  *request.add_groups() = request.groups(0);
  request.mutable_groups(1)->mutable_code()->mutable_nr()->set_zc(1);
  EXPECT_THAT(Encode(request), Invalid("groups[1]"));
}

TEST_F(RefusalsTest, EnumsNobodyKnows) {
  v1::EncodeRequest request = EncodeOf(NrCode(2, 16), 1);
  request.mutable_groups(0)->set_output(static_cast<v1::EncodeOutput>(4));
  EXPECT_THAT(Encode(request), Invalid("groups[0].output 4 is not in [0, 3]"));
  v1::DecodeGroup group;
  group.set_algorithm(static_cast<v1::DecodeAlgorithm>(-1));
  EXPECT_THAT(DecodeGroup(group), Invalid("groups[0].algorithm -1 is not in [0, 3]"));
  group.clear_algorithm();
  group.set_schedule(static_cast<v1::DecodeSchedule>(3));
  EXPECT_THAT(DecodeGroup(group), Invalid("groups[0].schedule 3 is not in [0, 2]"));
}

TEST_F(RefusalsTest, DecodeParametersOutOfRange) {
  v1::DecodeGroup group;
  group.set_max_iterations(101);
  EXPECT_THAT(DecodeGroup(group), Invalid("groups[0].max_iterations 101 is not in [0, 100]"));
  group.Clear();
  group.set_llr_count(801);
  EXPECT_THAT(DecodeGroup(group), Invalid("groups[0].llr_count 801 is not in [0, 800]"));
  group.Clear();
  for (const float factor : {-0.5F, 1.5F, std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity()}) {
    group.set_scale_factor(factor);
    EXPECT_THAT(DecodeGroup(group),
                Refuses(grpc::StatusCode::INVALID_ARGUMENT,
                        AllOf(HasSubstr("scale_factor"), HasSubstr("is not in (0, 1]"))));
  }
  group.Clear();
  group.set_llr_scale(128);
  EXPECT_THAT(DecodeGroup(group), Invalid("groups[0].llr_scale 128 is not in [0.001, 127]"));
  group.set_llr_scale(1e-4f);
  EXPECT_THAT(DecodeGroup(group), Invalid("groups[0].llr_scale 0.0001 is not in [0.001, 127]"));
}

TEST_F(RefusalsTest, MessagesAboveTheLimit) {
  v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), 400);  // 10 MB
  EXPECT_THAT(Decode(request), Refuses(grpc::StatusCode::RESOURCE_EXHAUSTED, HasSubstr("larger")));
}

TEST_F(RefusalsTest, PayloadsThatFitTheMessageButNoLane) {
  const grpc::Status status = Decode(DecodeOfZeros(NrCode(1, 384), 200));  // 5 MB
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("split the request"));
}

TEST_F(RefusalsTest, RepliesThatFitNoLane) {
  v1::DecodeGroup group;
  group.set_soft_output(true);
  group.set_llr_count(640);
  v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384, 4), 170);
  request.mutable_groups(0)->set_soft_output(true);
  const grpc::Status status = Decode(request);
  // 170 blocks of 8832 LLRs come in, 170 of 9984 soft values and 1056 bytes would leave: it fits.
  EXPECT_TRUE(status.ok()) << status.error_message();
  batches_before_ += 1;
  request = DecodeOfZeros(CustomCode(2, 500), 1000);
  request.mutable_groups(0)->set_soft_output(true);
  request.mutable_groups(0)->mutable_code()->mutable_custom()->set_punctured_columns(2);
  request.mutable_payload()->resize(size_t{1000} * 1000);
  EXPECT_TRUE(Decode(request).ok());  // 1 MB in, 2.1 MB out
  batches_before_ += 1;
}

// Three bytes that are to be sent eight million times.
TEST_F(RefusalsTest, RepliesThatNobodySends) {
  v1::EncodeSharedChannelRequest request;
  v1::EncodeSharedChannelGroup& group = *request.add_groups();
  group.set_count(1);
  group.mutable_block()->set_qm(1);
  group.mutable_block()->mutable_transport_block()->set_tb_bytes(3);
  group.mutable_block()->mutable_transport_block()->set_base_graph(2);
  group.mutable_block()->mutable_transport_block()->set_g(8388608);
  request.set_payload("abc");
  v1::EncodeSharedChannelResponse response;
  EXPECT_TRUE(Call(*stub_, request, &response).ok()) << "1 MiB of bits";
  batches_before_ += 1;
  EXPECT_EQ(response.payload().size(), size_t{1} << 20);
  group.set_output(v1::SHARED_CHANNEL_OUTPUT_FLOAT32);
  EXPECT_THAT(Call(*stub_, request, &response), Invalid("the reply would have 67108864 bytes"));
  group.set_output(v1::SHARED_CHANNEL_OUTPUT_BITS);
  group.set_count(5);
  request.set_payload("abcdefghijklmno");
  EXPECT_THAT(Call(*stub_, request, &response), Invalid("split the request"));
}

// The same RPCs with bytes of our own.
class RawBytesTest : public RefusalsTest {
 protected:
  static grpc::Status Send(const std::string& method, const std::string& bytes) {
    return CallRaw(grpc::CreateChannel(server_->target(), grpc::InsecureChannelCredentials()),
                   "/baseband.v1.Baseband/" + method, bytes);
  }
};

TEST_F(RawBytesTest, TruncatedMessages) {
  const std::string whole = EncodeOf(NrCode(2, 16), 3).SerializeAsString();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(Send("Encode", whole.substr(0, length)).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << length << " of " << whole.size() << " bytes";
  }
}

TEST_F(RawBytesTest, LengthsThatPromiseMoreThanCame) {
  for (const char* bytes : {"\x7a\xff\xff\xff\xff\x0f", "\x7a\xff\xff\xff\xff\x07",
                            "\x7a\x05"
                            "ab",
                            "\x0a\xff\xff\xff\xff\x7f",
                            "\x7a\x80\x80\x80\x80\x80\x80\x80\x80\x80"
                            "\x80\x80"}) {
    EXPECT_THAT(Send("Decode", bytes), Invalid("not a well-formed"));
  }
}

TEST_F(RawBytesTest, EveryMethodSaysThatBytesAreNoMessage) {
  const std::string broken = "\x0a\xff\xff\xff\xff\x07";
  for (const char* method : {"Encode", "Decode", "EncodeSharedChannel", "DecodeSharedChannel",
                             "RecoverCarrier", "Downconvert", "GetCapabilities"}) {
    EXPECT_THAT(Send(method, broken), Invalid("not a well-formed")) << method;
  }
  const auto admin = grpc::CreateChannel(Admin(), grpc::InsecureChannelCredentials());
  for (const char* method :
       {"GetConfig", "SetLogLevel", "Drain", "InjectFault", "GetFlightRecords"}) {
    EXPECT_THAT(CallRaw(admin, absl::StrCat("/baseband.v1.Admin/", method), broken),
                Invalid("not a well-formed"))
        << method;
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_unserved_total",
                                     {"rpc=\"Admin\"", "reason=\"invalid_request\""}, 5));
}

TEST_F(RawBytesTest, GroupsWithinGroupsWithoutEnd) {
  EXPECT_THAT(Send("Decode", std::string(1000000, '\x0b')), Invalid("not a well-formed"));
}

TEST_F(RawBytesTest, HeadersWithoutEnd) {
  std::string bytes;
  while (bytes.size() < (5 << 20)) bytes += std::string("\x0a\x00", 2);  // empty groups
  EXPECT_THAT(Send("Decode", bytes), Invalid("the fields besides the payload take more than"));
}

TEST_F(RawBytesTest, RandomBytesNeverMoveAnything) {
  std::mt19937 random(20);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(Send(i % 2 == 0 ? "Encode" : "Decode", bytes).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(RawBytesTest, MethodsNobodyServes) {
  EXPECT_EQ(Send("Modulate", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  // Of many at once gRPC's own answers ended the process.
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([] {
      const auto channel = OwnChannel(server_->target());
      for (int call = 0; call < 1000; ++call) {
        const grpc::Status status = CallRaw(channel, "/baseband.v1.Baseband/Modulate", "");
        ASSERT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(Send("Encode", "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace baseband::testing
