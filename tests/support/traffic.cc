#include "tests/support/traffic.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/code_shape.h"

namespace baseband::testing {
namespace {

using client::CodeShape;
using client::PackedBytes;

constexpr char kSureZero = 40;
constexpr char kSureOne = -40;

int Pick(std::mt19937* random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(*random);
}

v1::LdpcCode RandomCode(std::mt19937* random) {
  constexpr std::array<int, 8> kLiftingSizes = {2, 7, 16, 36, 64, 120, 208, 384};
  switch (Pick(random, 0, 4)) {
    case 0:
      return WimaxCode(static_cast<v1::WimaxCode::Rate>(Pick(random, 1, 6)),
                       576 + 96 * Pick(random, 0, 18));
    case 1:
      return WifiCode(static_cast<v1::WifiCode::Rate>(Pick(random, 1, 4)),
                      648 * Pick(random, 1, 3));
    case 2:
      return CustomCode(Pick(random, 2, 6), Pick(random, 1, 80));
    default:
      break;
  }
  const int base_graph = Pick(random, 1, 2);
  const int zc = kLiftingSizes[static_cast<size_t>(Pick(random, 0, 7))];
  return NrCode(base_graph, zc, Pick(random, 0, 1) == 0 ? 0 : Pick(random, 4, 42));
}

CodeShape Shape(const v1::LdpcCode& code) { return client::ShapeOf(code).value(); }

// Appends `count` blocks of `bits` random bits each, filled up with zero bits.
void AddRandomBlocks(int count, int bits, std::mt19937* random, std::string* payload) {
  for (int block = 0; block < count; ++block) {
    for (int64_t byte = 0; byte < PackedBytes(bits); ++byte) {
      payload->push_back(static_cast<char>((*random)() & 0xff));
    }
    if (bits % 8 != 0)
      payload->back() = static_cast<char>(payload->back() & (0xff00 >> (bits % 8)));
  }
}

}  // namespace

v1::LdpcCode NrCode(int base_graph, int zc, int parity_rows) {
  v1::LdpcCode code;
  code.mutable_nr()->set_base_graph(static_cast<uint32_t>(base_graph));
  code.mutable_nr()->set_zc(static_cast<uint32_t>(zc));
  code.set_parity_rows(static_cast<uint32_t>(parity_rows));
  return code;
}

v1::LdpcCode WimaxCode(v1::WimaxCode::Rate rate, int n) {
  v1::LdpcCode code;
  code.mutable_wimax()->set_rate(rate);
  code.mutable_wimax()->set_n(static_cast<uint32_t>(n));
  return code;
}

v1::LdpcCode WifiCode(v1::WifiCode::Rate rate, int n) {
  v1::LdpcCode code;
  code.mutable_wifi()->set_rate(rate);
  code.mutable_wifi()->set_n(static_cast<uint32_t>(n));
  return code;
}

v1::LdpcCode CustomCode(int rows, int zc) {
  v1::LdpcCode code;
  v1::CustomCode& custom = *code.mutable_custom();
  const int columns = rows + 2;
  custom.set_rows(static_cast<uint32_t>(rows));
  custom.set_columns(static_cast<uint32_t>(columns));
  custom.set_zc(static_cast<uint32_t>(zc));
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const bool information = column < 2;
      const bool parity = column == row + 2 || column == row + 1;
      custom.add_shifts(information || parity ? (7 * row + 3 * column) % zc : -1);
    }
  }
  return code;
}

v1::EncodeRequest EncodeOf(const v1::LdpcCode& code, int count, int n_filler) {
  v1::EncodeRequest request;
  v1::EncodeGroup& group = *request.add_groups();
  *group.mutable_code() = code;
  group.set_count(static_cast<uint32_t>(count));
  group.set_n_filler(static_cast<uint32_t>(n_filler));
  group.set_output(v1::ENCODE_OUTPUT_CODEWORD);
  std::mt19937 random(static_cast<unsigned>(count));
  AddRandomBlocks(count, Shape(code).k() - n_filler, &random, request.mutable_payload());
  return request;
}

v1::DecodeRequest DecodeOfZeros(const v1::LdpcCode& code, int count) {
  v1::DecodeRequest request;
  v1::DecodeGroup& group = *request.add_groups();
  *group.mutable_code() = code;
  group.set_count(static_cast<uint32_t>(count));
  request.mutable_payload()->assign(static_cast<size_t>(count) * Shape(code).sent(), kSureZero);
  return request;
}

v1::DecodeRequest SlowDecode(int blocks) {
  v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), blocks);
  request.mutable_groups(0)->set_max_iterations(100);
  request.mutable_groups(0)->set_fixed_iterations(true);
  return request;
}

v1::EncodeRequest RandomEncode(std::mt19937* random) {
  v1::EncodeRequest request;
  for (int groups = Pick(random, 1, 4); groups > 0; --groups) {
    v1::EncodeGroup& group = *request.add_groups();
    *group.mutable_code() = RandomCode(random);
    const int k = Shape(group.code()).k();
    group.set_count(static_cast<uint32_t>(Pick(random, 1, 4)));
    group.set_n_filler(static_cast<uint32_t>(Pick(random, 0, 1) * Pick(random, 0, k / 2)));
    group.set_output(v1::ENCODE_OUTPUT_CODEWORD);
    AddRandomBlocks(static_cast<int>(group.count()), k - static_cast<int>(group.n_filler()), random,
                    request.mutable_payload());
  }
  return request;
}

v1::DecodeRequest DecodeOf(const v1::EncodeRequest& request, const v1::EncodeResponse& words) {
  v1::DecodeRequest decode;
  size_t at = 0;
  for (const v1::EncodeGroup& encoded : request.groups()) {
    v1::DecodeGroup& group = *decode.add_groups();
    *group.mutable_code() = encoded.code();
    group.set_count(encoded.count());
    group.set_n_filler(encoded.n_filler());
    group.set_max_iterations(20);
    const int sent = Shape(encoded.code()).sent();
    for (uint32_t block = 0; block < encoded.count(); ++block) {
      for (int bit = 0; bit < sent; ++bit) {
        const auto byte = static_cast<unsigned char>(words.payload().at(at + bit / 8));
        const bool one = (byte >> (7 - bit % 8) & 1) != 0;
        decode.mutable_payload()->push_back(one ? kSureOne : kSureZero);
      }
      at += static_cast<size_t>(PackedBytes(sent));
    }
  }
  return decode;
}

std::shared_ptr<grpc::Channel> OwnChannel(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // a test wants to see what the server says
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

std::unique_ptr<v1::Baseband::Stub> Connect(const std::string& target) {
  return v1::Baseband::NewStub(OwnChannel(target));
}

grpc::Status Call(v1::Baseband::Stub& stub, const v1::EncodeRequest& request,
                  v1::EncodeResponse* response, absl::Duration timeout) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);  // many clients that connect at once
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return stub.Encode(&context, request, response);
}

grpc::Status Call(v1::Baseband::Stub& stub, const v1::DecodeRequest& request,
                  v1::DecodeResponse* response, absl::Duration timeout) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);  // many clients that connect at once
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return stub.Decode(&context, request, response);
}

std::string RoundTrip(v1::Baseband::Stub& stub, std::mt19937* random) {
  const v1::EncodeRequest request = RandomEncode(random);
  v1::EncodeResponse words;
  if (const grpc::Status status = Call(stub, request, &words); !status.ok()) {
    return absl::StrCat("Encode: ", status.error_code(), " ", status.error_message());
  }
  v1::DecodeResponse decoded;
  if (const grpc::Status status = Call(stub, DecodeOf(request, words), &decoded); !status.ok()) {
    return absl::StrCat("Decode: ", status.error_code(), " ", status.error_message());
  }
  if (decoded.payload() != request.payload()) {
    return absl::StrCat("the decoded information differs for ", request.groups(0).DebugString());
  }
  const auto& ok = decoded.parity_ok();
  if (!std::all_of(ok.begin(), ok.end(), [](bool block) { return block; })) {
    return "a block without noise failed its parity checks";
  }
  return "";
}

}  // namespace baseband::testing
