// What one client may have in flight at a time.
#ifndef BASEBAND_SERVER_LIMITS_CLIENT_QUOTAS_H_
#define BASEBAND_SERVER_LIMITS_CLIENT_QUOTAS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace baseband::server {

class ClientHold;

// Knows the clients that have something in flight, and no others: bounded by what the transport
// lets in. Thread-safe.
class ClientQuotas {
 public:
  struct Limits {  // 0: none
    int64_t requests = 0;
    int64_t bytes = 0;    // of their messages or, where those are larger, of their replies
    int64_t streams = 0;  // and searches
  };
  explicit ClientQuotas(const Limits& limits) : limits_(limits) {}

  // A request of `client` with a message of `bytes`, or a stream or search of it.
  // ResourceExhausted names the quota, what is in flight and the bound; a request larger than all
  // the bytes may come alone.
  absl::StatusOr<ClientHold> EnterRequest(const std::string& client, int64_t bytes);
  absl::StatusOr<ClientHold> EnterStream(const std::string& client);
  // The same of the client of `other`, which holds something: nobody looks for it. So many requests
  // with `bytes` together come in or, where there is no room for all, none.
  absl::StatusOr<ClientHold> EnterRequest(const ClientHold& other, int64_t bytes,
                                          int64_t requests = 1);

 private:
  friend class ClientHold;
  struct Usage {
    int64_t requests = 0;
    int64_t bytes = 0;
    int64_t streams = 0;
  };
  using Clients = std::unordered_map<std::string, Usage>;
  using Client = Clients::value_type;  // stays where it is while it has something in flight

  absl::StatusOr<ClientHold> EnterRequest(Client& client, int64_t bytes, int64_t requests)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Grow(Client& client, int64_t held, int64_t bytes);
  void Leave(Client& client, const Usage& usage);
  absl::Status CheckBytes(int64_t others, int64_t bytes) const;

  const Limits limits_;
  absl::Mutex mutex_;
  Clients clients_ ABSL_GUARDED_BY(mutex_);
};

// What a call holds of its client's quotas; goes back in the destructor. Move-only.
class ClientHold {
 public:
  ClientHold() = default;
  ClientHold(ClientHold&& other) noexcept { *this = std::move(other); }
  ClientHold& operator=(ClientHold&& other) noexcept {
    std::swap(quotas_, other.quotas_);
    std::swap(client_, other.client_);
    std::swap(usage_, other.usage_);
    return *this;
  }
  ~ClientHold() {
    if (quotas_ != nullptr) quotas_->Leave(*client_, usage_);
  }

  // At least `bytes` count from here on. ResourceExhausted: there is no room for as many beside
  // what else the client has in flight, and nothing has changed.
  absl::Status GrowTo(int64_t bytes);

 private:
  friend class ClientQuotas;
  ClientHold(ClientQuotas* quotas, ClientQuotas::Client* client, const ClientQuotas::Usage& usage)
      : quotas_(quotas), client_(client), usage_(usage) {}

  ClientQuotas* quotas_ = nullptr;
  ClientQuotas::Client* client_ = nullptr;
  ClientQuotas::Usage usage_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_CLIENT_QUOTAS_H_
