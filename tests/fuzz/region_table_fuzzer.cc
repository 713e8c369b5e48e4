// Regions and requests that name parts of them, in any order: what is found lies within memory that
// is granted, and what is granted keeps to the limits. The input is a list of commands.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

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
      switch (data_.ConsumeIntegralInRange(0, 4)) {
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
          if (!requests_.empty()) requests_.erase(requests_.begin());
          break;
        default:
          LookUp();
      }
      Check(table_.usage().bytes <= kLimits.bytes);
    }
    requests_.clear();
    while (!granted_.empty()) Remove();
    Check(!table_.Reap());
    Check(table_.usage().bytes == 0 && table_.usage().regions == 0);
  }

 private:
  void Grant() {
    const std::string client(1, data_.PickValueInArray({'a', 'b', 'c'}));
    const auto bytes = data_.ConsumeBool() ? data_.ConsumeIntegralInRange<int64_t>(-1, 9 * kPage)
                                           : data_.ConsumeIntegral<int64_t>();
    absl::StatusOr<RegionTable::Grant> grant = table_.Add(client, bytes);
    if (!grant.ok()) return;
    Check(bytes > 0 && grant->memory->region().bytes >= bytes);
    Check(grant->memory->region().bytes <= kLimits.client_bytes);
    granted_[grant->name] = grant->memory->region().bytes;
  }
  void Remove() {
    const auto removed = std::next(
        granted_.begin(), data_.ConsumeIntegralInRange<int>(0, static_cast<int>(granted_.size()) - 1));
    table_.Remove(removed->first);
    gone_.push_back(removed->first);
    granted_.erase(removed);
  }
  MemoryRange Range() {
    MemoryRange range;
    const int kind = data_.ConsumeIntegralInRange(0, 3);
    if (kind == 0) {
      range.region = data_.ConsumeRandomLengthString(20);
    } else if (kind == 1 && !gone_.empty()) {
      range.region = gone_.back();
    } else if (!granted_.empty()) {
      range.region = granted_.begin()->first;
    }
    const auto number = [this]() -> uint64_t {
      return data_.ConsumeBool() ? 64 * data_.ConsumeIntegralInRange<uint64_t>(0, 200)
                                 : data_.ConsumeIntegral<uint64_t>();
    };
    range.offset = number();
    range.bytes = number();
    return range;
  }
  // Whether `range` is as it must be, in numbers that do not overflow.
  bool IsWithin(const MemoryRange& range) const {
    const auto found = granted_.find(range.region);
    return found != granted_.end() && range.offset % 64 == 0 &&
           static_cast<unsigned __int128>(range.offset) + range.bytes <=
               static_cast<unsigned __int128>(found->second);
  }
  void LookUp() {
    Request request;
    if (data_.ConsumeBool()) request.payload_at = Range();
    if (data_.ConsumeBool()) request.reply_at = Range();
    const absl::Status status = table_.LookUp(&request);
    if (!status.ok()) return;
    if (request.payload_at.has_value()) {
      Check(IsWithin(*request.payload_at));
      Check(request.payload.bytes() == static_cast<int64_t>(request.payload_at->bytes));
      Touch(const_cast<uint8_t*>(request.payload.data()), request.payload.bytes());
    }
    if (request.reply_at.has_value()) {
      Check(IsWithin(*request.reply_at) && request.reply_at->bytes % 64 == 0);
      Touch(request.reply_place.data, request.reply_place.bytes);
    }
    if (requests_.size() < 8) requests_.push_back(std::move(request));
  }
  // Memory that is not there ends the process.
  static void Touch(uint8_t* data, int64_t bytes) {
    if (bytes == 0) return;
    data[0] = 1;
    data[bytes - 1] = 1;
  }

  FuzzedDataProvider& data_;
  RegionTable table_{kLimits, [](int64_t bytes) { return SharedMemory::Create(bytes, {}); }};
  std::map<std::string, int64_t> granted_;
  std::vector<std::string> gone_;
  std::vector<Request> requests_;  // that are under way
};

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  baseband::server::Session(&data).Run();
  return 0;
}
