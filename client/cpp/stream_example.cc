// What a program that sends every slot does: Decode requests on one Submit stream, each with a
// deadline of its own; and a wideband signal through a server that remembers its past.
// Usage: stream_example [TARGET]
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "client/cpp/client.h"

namespace {

namespace v1 = baseband::v1;
using baseband::client::Client;
using baseband::client::ClientOptions;
using baseband::client::SubmitOptions;

constexpr int kSlots = 100;
constexpr int kPieces = 10;

// A block of zeros as it arrives: each LLR is positive.
v1::DecodeRequest Slot() {
  v1::DecodeRequest request;
  v1::DecodeGroup* group = request.add_groups();
  group->mutable_code()->mutable_wimax()->set_rate(v1::WimaxCode::RATE_1_2);
  group->mutable_code()->mutable_wimax()->set_n(2304);
  group->set_count(1);
  request.set_payload(std::string(2304, '\x14'));
  return request;
}

v1::DownconvertSetup EighthOfTheBand() {
  v1::DownconvertSetup setup;
  setup.set_sample_rate_hz(64e6);
  setup.set_format(v1::WIDEBAND_FORMAT_COMPLEX_INT16);
  v1::DownconvertChannel* channel = setup.add_channels();
  channel->mutable_frequency()->set_hz(9.1e6);
  channel->mutable_filter()->set_down(8);
  channel->mutable_filter()->mutable_mask()->set_pass_edge_hz(3e6);
  return setup;
}

absl::Status SendSlots(Client* client, int* right) {
  auto stream = client->OpenSubmitStream();
  if (!stream.ok()) return stream.status();
  std::atomic<int> decoded{0};

  SubmitOptions options;
  options.timeout = absl::Seconds(1);
  absl::Status status;
  for (int slot = 0; slot < kSlots && status.ok(); ++slot) {
    status = (*stream)->Submit(Slot(), options, [&](absl::StatusOr<v1::DecodeResponse> response) {
      decoded += response.ok() && response->parity_ok(0);
    });
  }
  status.Update((*stream)->Finish());  // returns once each request is answered

  *right = decoded;
  return status;
}

absl::Status SendSignal(Client* client, int64_t* samples) {
  auto stream = client->OpenDownconvertStream();
  if (!stream.ok()) return stream.status();

  v1::DownconvertRequest request;
  *request.mutable_setup() = EighthOfTheBand();  // in the first message only
  request.set_payload(std::string(4 * 65536, '\0'));
  for (int piece = 0; piece < kPieces && (*stream)->Write(request); ++piece) {
    request.clear_setup();
    v1::DownconvertResponse response;
    if ((*stream)->Read(&response)) *samples += response.channels(0).count();
  }
  return (*stream)->Finish();  // why it ended, if it did so early
}

}  // namespace

int main(int argc, char** argv) {
  ClientOptions options;
  if (argc > 1) options.target = argv[1];
  const auto client = Client::Create(options);
  int right = 0;
  int64_t samples = 0;
  absl::Status status = client.status();
  if (status.ok()) status = SendSlots(client->get(), &right);
  if (status.ok()) status = SendSignal(client->get(), &samples);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("%d of %d slots decoded, %lld samples of the channel\n", right, kSlots,
              static_cast<long long>(samples));
  return 0;
}
