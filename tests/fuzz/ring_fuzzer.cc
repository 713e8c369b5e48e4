// A ring whose memory says anything: nothing outside of it is touched, every submission that was
// taken has one completion, and when the ring has ended nothing of it is left. The input is a list
// of commands: submissions that are nearly right, bytes anywhere in the region, turns of the thread
// that takes them.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "server/rings/ring_session.h"
#include "tests/fuzz/in_process_server.h"

namespace baseband::server {
namespace {

constexpr int64_t kRegionBytes = 256 << 10;
constexpr uint64_t kPayloadAt = 64 << 10;
constexpr uint64_t kReplyAt = 192 << 10;

void Check(bool holds) {
  if (!holds) std::abort();
}

// Requests that are right, without payloads, and how many bytes those have.
struct Seed {
  uint8_t operation = 0;
  std::string header;
  uint32_t payload_bytes = 0;
};

std::vector<Seed> MakeSeeds() {
  std::vector<Seed> seeds;
  v1::EncodeRequest encode;
  v1::EncodeGroup* const group = encode.add_groups();
  group->mutable_code()->mutable_nr()->set_base_graph(2);
  group->mutable_code()->mutable_nr()->set_zc(8);
  group->set_count(2);
  seeds.push_back({v1::SubmitRequest::kEncodeFieldNumber, encode.SerializeAsString(), 20});
  v1::DecodeRequest decode;
  *decode.add_groups()->mutable_code() = group->code();
  decode.mutable_groups(0)->set_count(1);
  decode.mutable_groups(0)->mutable_code()->set_parity_rows(4);
  seeds.push_back({v1::SubmitRequest::kDecodeFieldNumber, decode.SerializeAsString(), 96});
  v1::EncodeSharedChannelRequest slot;
  v1::SharedChannelBlock* const block = slot.add_groups()->mutable_block();
  block->mutable_transport_block()->set_tb_bytes(20);
  block->mutable_transport_block()->set_code_rate(0.5F);
  block->mutable_transport_block()->set_g(400);
  block->set_qm(2);
  block->set_layers(1);
  slot.mutable_groups(0)->set_count(1);
  seeds.push_back(
      {v1::SubmitRequest::kEncodeSharedChannelFieldNumber, slot.SerializeAsString(), 20});
  return seeds;
}

class Client {
 public:
  explicit Client(FuzzedDataProvider* data) : data_(*data) {}

  void Run() {
    environment_ = server_.environment();
    environment_.calls = &calls_;
    auto made = SharedMemory::Create(kRegionBytes, environment_.devices);
    if (!made.ok()) return;
    memory_ = *std::move(made);
    base_ = memory_->region().base;
    const uint32_t entries = 1U << data_.ConsumeIntegralInRange(0, 5);
    ring_ = baseband_ring_at(base_, entries);
    ring_.header->version = BASEBAND_RING_VERSION;
    ring_.header->entries = entries;
    auto opened = RingSession::Open(environment_, "client", memory_, 0);
    Check(opened.ok());
    session_ = *std::move(opened);
    while (data_.remaining_bytes() > 0) {
      switch (data_.ConsumeIntegralInRange(0, 5)) {
        case 0:
        case 1:
        case 2:
          Submit();
          break;
        case 3:
          Write();
          break;
        case 4:
          Turn();
          break;
        default:
          bool look_again = false;
          (void)session_->MaySleep(&look_again);
          session_->Awake();
      }
    }
    while (Turn()) environment_.dispatcher->WaitUntilIdle();
    if (data_.ConsumeBool()) session_->End();
    environment_.slow_path->Finish();
    environment_.dispatcher->WaitUntilIdle();
    calls_.WaitUntilNone();
    Check(!session_->is_full());
    session_.reset();
    Check(memory_.use_count() == 1);
  }

 private:
  void Submit() {
    static const auto& seeds = *new std::vector<Seed>(MakeSeeds());
    const Seed& seed = seeds[data_.ConsumeIntegralInRange<size_t>(0, seeds.size() - 1)];
    BasebandSubmission submission{};
    submission.id = submitted_;
    submission.header_offset = baseband_ring_bytes(ring_.entries);
    submission.header_bytes = static_cast<uint32_t>(seed.header.size());
    std::copy(seed.header.begin(), seed.header.end(), base_ + submission.header_offset);
    submission.payload_offset = kPayloadAt;
    submission.payload_bytes = seed.payload_bytes;
    submission.reply_offset = kReplyAt;
    submission.reply_bytes = 32 << 10;
    submission.operation = seed.operation;
    switch (data_.ConsumeIntegralInRange(0, 3)) {
      case 1:
        submission.kind = BASEBAND_RING_REGISTER;
        break;
      case 2:
        submission.job = data_.ConsumeIntegralInRange<uint32_t>(1, 4);
        submission.header_bytes = 0;
        submission.kind = data_.ConsumeBool() ? BASEBAND_RING_FORGET : BASEBAND_RING_RUN;
        break;
      default:
        break;
    }
    for (int changes = data_.ConsumeIntegralInRange(0, 3); changes > 0; --changes) {
      const std::string bytes = data_.ConsumeBytesAsString(8);
      const auto at = data_.ConsumeIntegralInRange<size_t>(0, sizeof(submission) - 8);
      std::memcpy(reinterpret_cast<char*>(&submission) + at, bytes.data(), bytes.size());
    }
    // As often as several are taken as one, and some more.
    for (int times = data_.ConsumeIntegralInRange(1, 6); times > 0; --times) {
      baseband_ring_submit(&ring_, submitted_++, &submission);
      submission.id = submitted_;
      submission.reply_offset += 1024;
    }
  }

  void Write() {
    const std::string bytes = data_.ConsumeBytesAsString(data_.ConsumeIntegralInRange(1, 64));
    const auto at = data_.ConsumeIntegralInRange<size_t>(0, kRegionBytes - bytes.size());
    std::memcpy(base_ + at, bytes.data(), bytes.size());
  }

  bool Turn() {
    const bool any = session_->Take();
    environment_.dispatcher->Dispatch();
    return any;
  }

  FuzzedDataProvider& data_;
  LiveCount calls_;
  InProcessServer server_;
  CallEnvironment environment_;
  std::shared_ptr<const SharedMemory> memory_;
  uint8_t* base_ = nullptr;
  BasebandRing ring_{};
  std::shared_ptr<RingSession> session_;
  uint64_t submitted_ = 0;
};

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  baseband::server::Client(&data).Run();
  return 0;
}
