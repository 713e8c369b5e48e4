// Regions and requests that name parts of them, in any order: what is found lies within memory that
// is granted, what is granted keeps to the limits, and the word of a hold is taken and released as
// MemoryHold says whatever a client writes there. The input is a list of commands.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/shm/region_messages.h"
#include "server/shm/region_table.h"

namespace baseband::server {
namespace {

constexpr int64_t kPage = 4096;

void Check(bool holds) {
  if (!holds) std::abort();
}

constexpr RegionTable::Limits kLimits = {16 * kPage, 8 * kPage, 4};

class Session {
 public:
  explicit Session(FuzzedDataProvider* data) : data_(*data) {}

  void Run() {
    while (data_.remaining_bytes() > 0) {
      switch (data_.ConsumeIntegralInRange(0, 6)) {
        case 0:
          Grant();
          break;
        case 1:
          if (!granted_.empty()) Remove();
          break;
        case 2:
          table_.Reap();
          break;
        case 3:
          if (!under_way_.empty()) EndOne();
          break;
        case 4:
          if (!under_way_.empty()) EndAPart();
          break;
        case 5:
          if (!granted_.empty()) Store();
          break;
        default:
          LookUp();
      }
      Check(table_.usage().bytes <= kLimits.bytes);
    }
    while (!under_way_.empty()) EndOne();
    while (!granted_.empty()) Remove();
    Check(!table_.Reap());
    Check(table_.usage().bytes == 0 && table_.usage().regions == 0);
  }

 private:
  struct Region {
    std::string name;
    uint8_t* base = nullptr;
    int64_t bytes = 0;
  };
  // A request that was found, and the word of its hold.
  struct UnderWay {
    Request request;
    std::string region;  // of the word
    uint8_t* word = nullptr;
    uint64_t number = 0;
  };

  void Grant() {
    const std::string client(1, data_.PickValueInArray({'a', 'b', 'c'}));
    const auto bytes = data_.ConsumeBool() ? data_.ConsumeIntegralInRange<int64_t>(-1, 9 * kPage)
                                           : data_.ConsumeIntegral<int64_t>();
    absl::StatusOr<RegionTable::Grant> grant = table_.Add(client, bytes);
    if (!grant.ok()) return;
    Check(bytes > 0 && grant->memory->region().bytes >= bytes);
    Check(grant->memory->region().bytes <= kLimits.client_bytes);
    if (data_.ConsumeBool()) {
      Check(table_.Seal(grant->name).ok());
    } else {
      Check(table_.Find(grant->name) == nullptr);
      table_.Remove(grant->name);
      gone_.push_back(grant->name);
      return;
    }
    granted_.push_back({grant->name, grant->memory->region().base, grant->memory->region().bytes});
  }
  void Remove() {
    const auto removed = granted_.begin() + Index(granted_.size());
    table_.Remove(removed->name);
    gone_.push_back(removed->name);
    granted_.erase(removed);
  }
  int Index(size_t size) {
    return data_.ConsumeIntegralInRange<int>(0, static_cast<int>(size) - 1);
  }
  // Null: there is none of that name.
  const Region* Find(const std::string& name) const {
    for (const Region& region : granted_) {
      if (region.name == name) return &region;
    }
    return nullptr;
  }
  std::string Name() {
    const int kind = data_.ConsumeIntegralInRange(0, 3);
    if (kind == 0) return data_.ConsumeRandomLengthString(20);
    if (kind == 1 && !gone_.empty()) return gone_.back();
    return granted_.empty() ? std::string() : granted_[Index(granted_.size())].name;
  }
  uint64_t Size() {
    return data_.ConsumeBool() ? 64 * data_.ConsumeIntegralInRange<uint64_t>(0, 200)
                               : data_.ConsumeIntegral<uint64_t>();
  }
  MemoryRange Range() {
    MemoryRange range;
    range.region = Name();
    range.offset = Size();
    range.bytes = Size();
    return range;
  }
  // One of few, that they meet again, in each state that there is; or any.
  uint64_t Number() {
    return data_.ConsumeBool() ? data_.ConsumeIntegralInRange<uint64_t>(0, 4 * shm::kHoldStates)
                               : data_.ConsumeIntegral<uint64_t>();
  }
  // The client writes where a word may lie, whoever has it.
  void Store() {
    const Region& region = granted_[Index(granted_.size())];
    const int64_t words = region.bytes / shm::kRegionAlignment;
    Write(region.base + shm::kRegionAlignment * data_.ConsumeIntegralInRange<int64_t>(0, words - 1),
          Number());
  }
  static uint64_t Read(const uint8_t* word) {
    uint64_t number = 0;
    std::memcpy(&number, word, sizeof number);
    return number;
  }
  static void Write(uint8_t* word, uint64_t number) { std::memcpy(word, &number, sizeof number); }

  // The oldest request gives up all that it has of the regions, and its word with it.
  void EndOne() {
    const UnderWay& oldest = under_way_.front();
    Release(oldest, [this] { under_way_.front().request = Request(); });
    under_way_.erase(under_way_.begin());
  }
  // It gives up one of two parts: the other has the word.
  void EndAPart() {
    UnderWay& oldest = under_way_.front();
    Request& request = oldest.request;
    if (request.payload_at.has_value() && request.reply_at.has_value()) {
      const uint64_t before = oldest.word == nullptr ? 0 : Read(oldest.word);
      if (data_.ConsumeBool()) {
        request.payload = Payload();
        request.payload_at = absl::nullopt;
      } else {
        request.reply_place = ReplyPlace();
        request.reply_at = absl::nullopt;
      }
      Check(oldest.word == nullptr || Read(oldest.word) == before);
    }
  }
  template <typename End>
  void Release(const UnderWay& use, End end) {
    if (use.word == nullptr) return end();
    // The word is mapped as long as it is taken, also where its region was freed.
    const uint64_t before = Read(use.word);
    end();
    if (Find(use.region) == nullptr) return;
    Check(Read(use.word) ==
          (before == use.number + shm::kTaken ? use.number + shm::kReleased : before));
  }
  // Whether `range` is as it must be, in numbers that do not overflow.
  bool IsWithin(const MemoryRange& range) const {
    const Region* const region = Find(range.region);
    return region != nullptr && range.offset % 64 == 0 &&
           static_cast<unsigned __int128>(range.offset) + range.bytes <=
               static_cast<unsigned __int128>(region->bytes);
  }
  void LookUp() {
    UnderWay use;
    Request& request = use.request;
    if (data_.ConsumeBool()) request.payload_at = Range();
    if (data_.ConsumeBool()) request.reply_at = Range();
    uint64_t there = 0;
    if (data_.ConsumeBool()) {
      request.hold = MemoryHold{Name(), Size(), Number()};
      use.region = request.hold->region;
      use.number = request.hold->number;
      if (IsWithin({use.region, request.hold->offset, sizeof(uint64_t)})) {
        use.word = Find(use.region)->base + request.hold->offset;
        // What was agreed lies there, mostly.
        if (data_.ConsumeBool()) Write(use.word, use.number);
        there = Read(use.word);
      }
    }
    const absl::Status status = table_.LookUp(&request);
    if (request.hold.has_value()) {
      const bool is_taken = use.word != nullptr && there == use.number && use.number != 0 &&
                            use.number % shm::kHoldStates == 0;
      if (!is_taken) {
        Check(!status.ok() && (use.word == nullptr || Read(use.word) == there));
        return;
      }
    }
    if (!status.ok()) {
      request = Request();
      Check(use.word == nullptr || Read(use.word) == use.number + shm::kReleased);
      return;
    }
    if (request.payload_at.has_value()) {
      Check(IsWithin(*request.payload_at));
      Check(request.payload.bytes() == static_cast<int64_t>(request.payload_at->bytes));
      Touch(const_cast<uint8_t*>(request.payload.data()), request.payload.bytes());
    }
    if (request.reply_at.has_value()) {
      Check(IsWithin(*request.reply_at) && request.reply_at->bytes % 64 == 0);
      Touch(request.reply_place.data, request.reply_place.bytes);
    }
    // Who has no part has the word no more, and it is in neither part.
    const bool has_a_part = request.payload_at.has_value() || request.reply_at.has_value();
    Check(use.word == nullptr ||
          Read(use.word) == use.number + (has_a_part ? shm::kTaken : shm::kReleased));
    if (!has_a_part) return;
    if (under_way_.size() < 8) {
      under_way_.push_back(std::move(use));
    } else {
      Release(use, [&request] { request = Request(); });
    }
  }
  // Memory that is not there ends the process.
  static void Touch(uint8_t* data, int64_t bytes) {
    if (bytes == 0) return;
    data[0] = 1;
    data[bytes - 1] = 1;
  }

  FuzzedDataProvider& data_;
  RegionTable table_{kLimits, [](int64_t bytes) { return SharedMemory::Create(bytes, {}); }};
  std::vector<Region> granted_;  // in this order: names are random
  std::vector<std::string> gone_;
  std::vector<UnderWay> under_way_;
};

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  baseband::server::Session(&data).Run();
  return 0;
}
