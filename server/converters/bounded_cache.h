// What requests name and is costly to make, kept from request to request: bounded in bytes, what is
// in use included, and shared among the clients whose requests they are.
//
//   BoundedCache<Model> models("models", 256 << 20);
//   if (auto known = models.Find(key, client)) return known;
//   ... model ...
//   return models.Insert(key, model, model->bytes(), {}, client);
#ifndef BASEBAND_SERVER_CONVERTERS_BOUNDED_CACHE_H_
#define BASEBAND_SERVER_CONVERTERS_BOUNDED_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "kernels/base/status_macros.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

// Keeps what was asked for last. What somebody still uses is never let go of: it would take its
// memory all the same; if such values leave too little room, a new one is refused.
//
// A value is its client's who asked for it or, of several, his who has less here. Where room is
// needed, it is he who has most that loses what he has not used for longest, if he does not use all
// of it just then: so nobody loses anything because of what others keep as long as he has no more
// than any of them. Clients are who their names say; who has many names has many parts.
// Thread-safe.
template <typename Value>
class BoundedCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // `noun`: what they are, in the plural, for messages.
  BoundedCache(const char* noun, int64_t max_bytes) : noun_(noun), max_bytes_(max_bytes) {}

  // Null: there is none.
  Pointer Find(const std::string& key, absl::string_view client = "") {
    absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    Touch(found->second, client);
    return found->second->value;
  }

  // The value that is kept: an earlier one, if another thread was faster. ResourceExhausted: with
  // the `bytes` of `value` and its key, those in use would take more than there may be.
  // InvalidArgument: so would this one alone, or with those of `own`, which the same request uses.
  absl::StatusOr<Pointer> Insert(const std::string& key, Pointer value, int64_t bytes,
                                 absl::Span<const Pointer> own = {},
                                 absl::string_view client = "") {
    absl::MutexLock lock(&mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      return found->second->value;
    }
    const int64_t all_bytes = EntryBytes(key, bytes);
    if (!MakeRoom(all_bytes)) {
      BASEBAND_RETURN_IF_ERROR(CheckRequest(BytesOf(own) + all_bytes));
      return Because(
          UnservedReason::kPreparation,
          absl::ResourceExhaustedError(absl::StrCat(
              "the ", noun_, " that requests in flight use take ", bytes_, " bytes: with ",
              all_bytes, " for this request's they would take more than ", max_bytes_)));
    }
    Client& keeper = ClientOf(client);
    keeper.recent.push_front({key, std::move(value), all_bytes, &keeper});
    by_key_.emplace(key, keeper.recent.begin());
    Grow(keeper, all_bytes);
    return keeper.recent.front().value;
  }

  // What a value of `bytes` takes here, with its `key`.
  static int64_t EntryBytes(const std::string& key, int64_t bytes) {
    return bytes + static_cast<int64_t>(2 * key.size()) + kNodeBytes;
  }
  // Whether a request can ever have values that take so much together: InvalidArgument.
  absl::Status CheckRequest(int64_t bytes) const {
    if (bytes <= max_bytes_) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the ", noun_, " of the request take ", bytes,
                                                   " bytes, more than ", max_bytes_,
                                                   ": divide it, or ask for less"));
  }

  // The value of `key`, if it is there, has come to take `bytes`.
  void Resize(const std::string& key, int64_t bytes) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    Entry& entry = *found->second;
    const int64_t all_bytes = EntryBytes(key, bytes);
    Grow(*entry.client, all_bytes - entry.bytes);
    entry.bytes = all_bytes;
    Touch(found->second, entry.client->name);
    while (bytes_ > max_bytes_ && DropOne()) continue;
  }

  // Lets go of all that nobody uses.
  void DropUnused() {
    absl::MutexLock lock(&mutex_);
    for (auto found = by_key_.begin(); found != by_key_.end();) {
      const auto entry = (found++)->second;
      if (IsUnused(*entry)) Drop(entry);
    }
  }

  int64_t bytes() const {
    absl::MutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  // Of an entry's nodes in both containers, about.
  static constexpr int64_t kNodeBytes = 256;
  struct Client;
  struct Entry {
    std::string key;
    Pointer value;
    int64_t bytes = 0;
    Client* client = nullptr;
  };
  using Entries = std::list<Entry>;
  struct Client {
    std::string name;
    Entries recent;  // last used first
    int64_t bytes = 0;
  };
  // Who has least first.
  struct HasLess {
    bool operator()(const Client* a, const Client* b) const {
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->name < b->name;
    }
  };

  Client& ClientOf(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::string key(name);
    const auto [found, is_new] = clients_.try_emplace(key);
    if (is_new) {
      found->second.name = std::move(key);
      by_bytes_.insert(&found->second);
    }
    return found->second;
  }
  void Grow(Client& client, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    by_bytes_.erase(&client);
    client.bytes += bytes;
    bytes_ += bytes;
    by_bytes_.insert(&client);
  }
  void ForgetIfEmpty(Client& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!client.recent.empty()) return;
    by_bytes_.erase(&client);
    clients_.erase(clients_.find(client.name));
  }

  // The client of that name has asked for `entry`.
  void Touch(typename Entries::iterator entry, absl::string_view name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Client& owner = *entry->client;
    Client* keeper = &owner;
    if (name != owner.name) {
      const auto asker = clients_.find(std::string(name));
      const int64_t bytes = asker == clients_.end() ? 0 : asker->second.bytes;
      if (bytes < owner.bytes) keeper = &ClientOf(name);
    }
    keeper->recent.splice(keeper->recent.begin(), owner.recent, entry);
    if (keeper == &owner) return;
    entry->client = keeper;
    Grow(owner, -entry->bytes);
    Grow(*keeper, entry->bytes);
    ForgetIfEmpty(owner);
  }

  void Drop(typename Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Client& client = *entry->client;
    Grow(client, -entry->bytes);
    by_key_.erase(entry->key);
    client.recent.erase(entry);
    ForgetIfEmpty(client);
  }
  // Nobody but Find, under the lock, adds a use.
  static bool IsUnused(const Entry& entry) { return entry.value.use_count() == 1; }
  // Drops what was unused for longest of whoever has most and uses not all of it. False: all is
  // in use.
  bool DropOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto client = by_bytes_.rbegin(); client != by_bytes_.rend(); ++client) {
      Entries& recent = (*client)->recent;
      const auto unused = std::find_if(recent.rbegin(), recent.rend(), IsUnused);
      if (unused == recent.rend()) continue;
      Drop(std::prev(unused.base()));
      return true;
    }
    return false;
  }
  int64_t UsedBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int64_t bytes = 0;
    for (const auto& [name, client] : clients_) {
      for (const Entry& entry : client.recent) bytes += IsUnused(entry) ? 0 : entry.bytes;
    }
    return bytes;
  }
  // Whether there are, or come to be, `bytes` to spare. If not, nothing is dropped.
  bool MakeRoom(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (bytes_ + bytes <= max_bytes_) return true;
    if (UsedBytes() + bytes > max_bytes_) return false;
    while (bytes_ + bytes > max_bytes_) DropOne();
    return true;
  }

  // Each counts once.
  int64_t BytesOf(absl::Span<const Pointer> values) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int64_t bytes = 0;
    for (const auto& [name, client] : clients_) {
      for (const Entry& entry : client.recent) {
        if (std::find(values.begin(), values.end(), entry.value) != values.end()) {
          bytes += entry.bytes;
        }
      }
    }
    return bytes;
  }

  const char* const noun_;
  const int64_t max_bytes_;
  mutable absl::Mutex mutex_;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, Client> clients_ ABSL_GUARDED_BY(mutex_);  // who has something
  std::set<Client*, HasLess> by_bytes_ ABSL_GUARDED_BY(mutex_);              // of clients_
  std::unordered_map<std::string, typename Entries::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_BOUNDED_CACHE_H_
