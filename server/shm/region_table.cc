#include "server/shm/region_table.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/shm/region_messages.h"
#include "kernels/base/status_macros.h"
#include "server/jobs/layout.h"

namespace baseband::server {
namespace {

using shm::kHoldStates;
using shm::kRegionAlignment;
using shm::kRegionNameBytes;
using shm::kRegionPage;
using shm::kReleased;
using shm::kTaken;

// Of the kernel's randomness: whoever has seen many of them can tell no other.
std::string MakeName() {
  std::string name(kRegionNameBytes, '\0');
  // So few bytes come whole or not at all.
  if (getrandom(name.data(), name.size(), 0) != static_cast<ssize_t>(name.size())) std::abort();
  return name;
}

absl::Status CheckMultiple(const char* field, const char* part, uint64_t value) {
  return value % kRegionAlignment == 0
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(field, ".", part, " ", value,
                                                       " is not a multiple of ", kRegionAlignment));
}

// "64 bytes from offset 128 on".
std::string PlaceText(const MemoryRange& range) {
  return absl::StrCat(range.bytes, " bytes from offset ", range.offset, " on");
}

// Where `range` lies in `region`.
absl::StatusOr<uint8_t*> Within(const MemoryRegion& region, const char* field,
                                const MemoryRange& range) {
  BASEBAND_RETURN_IF_ERROR(CheckMultiple(field, "offset", range.offset));
  const auto size = static_cast<uint64_t>(region.bytes);
  if (range.offset > size || range.bytes > size - range.offset) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", PlaceText(range), " are not within a region of ", size));
  }
  return region.base + range.offset;
}

bool Overlap(const uint8_t* a, int64_t a_bytes, const uint8_t* b, int64_t b_bytes) {
  const std::less<const uint8_t*> before;
  return a != nullptr && b != nullptr && before(a, b + b_bytes) && before(b, a + a_bytes);
}

}  // namespace

RegionTable::RegionTable(const Limits& limits, Make make)
    : limits_(limits), make_(std::move(make)), server_id_(MakeName()) {}

absl::Status RegionTable::Reserve(const std::string& client, int64_t bytes) {
  if (bytes <= 0 || bytes > limits_.client_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("bytes ", bytes, " is not in [1, ",
                                                   limits_.client_bytes,
                                                   "] (--client-shm-mib, --shm-mib)"));
  }
  const absl::MutexLock lock(&mutex_);
  const auto found = holdings_.find(client);
  const Holding holding = found == holdings_.end() ? Holding() : found->second;
  if (holding.regions >= limits_.client_regions) {
    return absl::ResourceExhaustedError(absl::StrCat(client, " has ", holding.regions,
                                                     " regions, and may have ",
                                                     limits_.client_regions, " at a time"));
  }
  if (bytes > limits_.client_bytes - holding.bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("bytes ", bytes, ": ", client, " has ",
                                                     holding.bytes, " of ", limits_.client_bytes,
                                                     " bytes of shared memory (--client-shm-mib)"));
  }
  if (bytes > limits_.bytes - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("bytes ", bytes, ": clients have ", bytes_,
                                                     " of ", limits_.bytes,
                                                     " bytes of shared memory (--shm-mib)"));
  }
  Holding& grown = holdings_[client];
  grown.bytes += bytes;
  ++grown.regions;
  bytes_ += bytes;
  return absl::OkStatus();
}

void RegionTable::Release(const Region& region) {
  bytes_ -= region.bytes;
  const auto holding = holdings_.find(region.client);
  holding->second.bytes -= region.bytes;
  if (--holding->second.regions == 0) holdings_.erase(holding);
}

absl::StatusOr<RegionTable::Grant> RegionTable::Add(const std::string& client, int64_t bytes) {
  // Not rounded before it is known to be small.
  const int64_t whole =
      bytes <= 0 || bytes > limits_.client_bytes ? bytes : AlignUp(bytes, kRegionPage);
  absl::Status reserved = Reserve(client, whole);
  if (absl::IsResourceExhausted(reserved) && WaitForEnds()) reserved = Reserve(client, whole);
  BASEBAND_RETURN_IF_ERROR(reserved);
  Region region{client, whole, nullptr, /*is_sealed=*/false};
  absl::StatusOr<std::unique_ptr<SharedMemory>> memory = make_(whole);
  const absl::MutexLock lock(&mutex_);
  if (!memory.ok()) {
    Release(region);
    return memory.status();
  }
  region.memory = *std::move(memory);
  Grant grant{MakeName(), region.memory};
  regions_.emplace(grant.name, std::move(region));
  return grant;
}

void RegionTable::Remove(const std::string& name) {
  const absl::MutexLock lock(&mutex_);
  const auto found = regions_.find(name);
  if (found == regions_.end()) return;
  leaving_.push_back(std::move(found->second));
  regions_.erase(found);
}

bool RegionTable::Reap(const Run& run) {
  std::vector<Region> unused;
  bool is_used = false;
  {
    const absl::MutexLock lock(&mutex_);
    // Nobody finds them any more: who is alone with one stays so.
    const auto used = std::partition(leaving_.begin(), leaving_.end(), [](const Region& region) {
      return region.memory.use_count() > 1;
    });
    std::move(used, leaving_.end(), std::back_inserter(unused));
    leaving_.erase(used, leaving_.end());
    is_used = !leaving_.empty();
    ending_ += static_cast<int64_t>(unused.size());
  }
  for (Region& region : unused) {
    std::function<void()> end = [this, region = std::move(region)]() mutable {
      region.memory.reset();
      const absl::MutexLock lock(&mutex_);
      Release(region);
      --ending_;
    };
    if (run != nullptr) {
      run(std::move(end));
    } else {
      end();
    }
  }
  return is_used;
}

bool RegionTable::WaitForEnds() const {
  constexpr int kLooks = 20;
  constexpr absl::Duration kLook = absl::Milliseconds(5);
  for (int i = 0; i < kLooks; ++i) {
    {
      const absl::MutexLock lock(&mutex_);
      if (ending_ == 0) return i > 0;
    }
    absl::SleepFor(kLook);
  }
  return true;
}

absl::Status RegionTable::Seal(const std::string& name) {
  std::shared_ptr<const SharedMemory> memory;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = regions_.find(name);
    if (found == regions_.end()) return absl::NotFoundError("name is no region any more");
    if (found->second.is_sealed) return absl::OkStatus();
    memory = found->second.memory;
  }
  BASEBAND_RETURN_IF_ERROR(memory->Seal());
  const absl::MutexLock lock(&mutex_);
  const auto found = regions_.find(name);
  if (found == regions_.end()) return absl::NotFoundError("name is no region any more");
  found->second.is_sealed = true;
  return absl::OkStatus();
}

std::shared_ptr<const SharedMemory> RegionTable::Find(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = regions_.find(name);
  return found == regions_.end() || !found->second.is_sealed ? nullptr : found->second.memory;
}

absl::StatusOr<RegionTable::Place> RegionTable::PlaceOf(const char* field,
                                                        const MemoryRange& range) const {
  if (range.region.size() != kRegionNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat(field, ".region has ", range.region.size(),
                                                   " bytes: a name has ", kRegionNameBytes));
  }
  Place place;
  place.memory = Find(range.region);
  if (place.memory == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        field,
        ".region is none that this server has granted, or it was freed: ask for another; or its "
        "client has not said that it is mapped"));
  }
  BASEBAND_ASSIGN_OR_RETURN(place.data, Within(place.memory->region(), field, range));
  place.bytes = static_cast<int64_t>(range.bytes);
  return place;
}

absl::Status RegionTable::LookUp(Request* request) const {
  const auto use = std::make_shared<Use>();
  if (request->hold.has_value()) {
    const MemoryHold& hold = *request->hold;
    // 0 lies in memory that is new, or that somebody has taken out of its file: no client's number.
    if (hold.number == 0 || hold.number % kHoldStates != 0) {
      return absl::InvalidArgumentError(absl::StrCat("hold.number ", hold.number,
                                                     " is not a multiple of ", kHoldStates,
                                                     " from ", kHoldStates, " on"));
    }
    BASEBAND_ASSIGN_OR_RETURN(const Place place,
                              PlaceOf("hold", {hold.region, hold.offset, sizeof(uint64_t)}));
    if (!use->hold.Take(place, hold.number)) {
      return absl::FailedPreconditionError(
          "hold.number is not what lies there: the request was withdrawn, or has come before");
    }
  }
  if (request->payload_at.has_value()) {
    if (request->payload.bytes() > 0) {
      return absl::InvalidArgumentError("payload and payload_at are both set: only one may be");
    }
    BASEBAND_ASSIGN_OR_RETURN(use->payload, PlaceOf("payload_at", *request->payload_at));
    request->payload =
        Payload({{use->payload.data, use->payload.bytes, &use->payload.memory->region()}}, use);
  }
  if (request->reply_at.has_value()) {
    BASEBAND_RETURN_IF_ERROR(CheckMultiple("reply_at", "bytes", request->reply_at->bytes));
    BASEBAND_ASSIGN_OR_RETURN(use->reply, PlaceOf("reply_at", *request->reply_at));
    request->reply_place = {use->reply.data, use->reply.bytes,
                            static_cast<int64_t>(request->reply_at->offset),
                            &use->reply.memory->region(), use};
  }
  const Place& in = use->payload;
  const Place& out = use->reply;
  if (Overlap(in.data, in.bytes, out.data, out.bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("payload_at: its ",
                                                   PlaceText(*request->payload_at), " overlap the ",
                                                   PlaceText(*request->reply_at), " of reply_at"));
  }
  const uint8_t* const word = use->hold.word();
  const auto lies_in = [&](const char* field, const MemoryRange& range) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hold.offset ", request->hold->offset, " is within the ", PlaceText(range), " of ", field));
  };
  if (Overlap(word, sizeof(uint64_t), in.data, in.bytes)) {
    return lies_in("payload_at", *request->payload_at);
  }
  if (Overlap(word, sizeof(uint64_t), out.data, out.bytes)) {
    return lies_in("reply_at", *request->reply_at);
  }
  return absl::OkStatus();
}

bool RegionTable::Hold::Take(const Place& place, uint64_t number) {
  uint64_t there = number;
  auto* const word = reinterpret_cast<uint64_t*>(place.data);
  if (!__atomic_compare_exchange_n(word, &there, number + kTaken, /*weak=*/false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED)) {
    return false;
  }
  place_ = place;
  number_ = number;
  return true;
}

RegionTable::Hold::~Hold() {
  if (place_.data == nullptr) return;
  // Unless the client, who has its answer, has stored another number by now.
  uint64_t there = number_ + kTaken;
  __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(place_.data), &there, number_ + kReleased,
                              /*weak=*/false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

RegionTable::Usage RegionTable::usage() const {
  const absl::MutexLock lock(&mutex_);
  return {bytes_, static_cast<int64_t>(regions_.size() + leaving_.size()) + ending_};
}

}  // namespace baseband::server
