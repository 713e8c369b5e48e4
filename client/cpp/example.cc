// Encodes random blocks, flips the sign of a few LLRs, and decodes them again, with several
// requests in flight. Usage: example [TARGET]
#include <atomic>
#include <cstdio>
#include <future>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "client/cpp/code_shape.h"
#include "client/cpp/process_tuning.h"

namespace {

namespace client = baseband::client;
namespace v1 = baseband::v1;

constexpr int kBlocks = 16;

v1::LdpcCode Code() {
  v1::LdpcCode code;
  code.mutable_wimax()->set_rate(v1::WimaxCode::RATE_1_2);
  code.mutable_wimax()->set_n(2304);
  return code;
}

v1::EncodeRequest MakeEncodeRequest(const client::CodeShape& shape) {
  v1::EncodeRequest request;
  v1::EncodeGroup* group = request.add_groups();
  *group->mutable_code() = Code();
  group->set_count(kBlocks);
  group->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  request.set_payload(std::string(kBlocks * client::PackedBytes(shape.k()), '\x5a'));
  return request;
}

// A clean channel but for every 100th bit, which arrives with the wrong sign.
v1::DecodeRequest MakeDecodeRequest(const std::string& code_words) {
  std::string llr;
  for (size_t bit = 0; bit < code_words.size() * 8; ++bit) {
    const bool one = (code_words[bit / 8] >> (7 - bit % 8)) & 1;
    const bool wrong = bit % 100 == 0;
    llr.push_back(one != wrong ? -20 : 20);  // positive means 0
  }
  v1::DecodeRequest request;
  v1::DecodeGroup* group = request.add_groups();
  *group->mutable_code() = Code();
  group->set_count(kBlocks);
  group->set_max_iterations(20);
  request.set_payload(std::move(llr));
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  client::ApplyMallocTuning();
  client::LockWithoutChecks();
  client::ClientOptions options;
  if (argc > 1) {
    options.target = argv[1];
  }
  absl::StatusOr<std::unique_ptr<client::Client>> created = client::Client::Create(options);
  const absl::StatusOr<client::CodeShape> shape = client::ShapeOf(Code());
  if (!created.ok() || !shape.ok()) {
    return 1;
  }
  client::Client& baseband = **created;

  // Blocking.
  v1::EncodeRequest encode = MakeEncodeRequest(*shape);
  const std::string sent = encode.payload();
  const absl::StatusOr<v1::EncodeResponse> encoded = baseband.Encode(std::move(encode));
  if (!encoded.ok()) {
    std::fprintf(stderr, "Encode: %s\n", encoded.status().ToString().c_str());
    return 1;
  }

  // Asynchronous: eight requests in flight, each with a deadline of two seconds.
  constexpr int kRequests = 8;
  std::atomic<int> right{0};
  std::atomic<int> left{kRequests};
  std::promise<void> all_done;
  client::CallOptions call;
  call.timeout = absl::Seconds(2);
  for (int i = 0; i < kRequests; ++i) {
    baseband.Decode(MakeDecodeRequest(encoded->payload()), call,
                    [&](absl::StatusOr<v1::DecodeResponse> decoded) {
                      right += decoded.ok() && decoded->payload() == sent;
                      if (--left == 0) {
                        all_done.set_value();
                      }
                    });
  }
  all_done.get_future().wait();
  std::printf("%d of %d requests decoded to what was sent\n", right.load(), kRequests);
  return right == kRequests ? 0 : 1;
}
