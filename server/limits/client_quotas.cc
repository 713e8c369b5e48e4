#include "server/limits/client_quotas.h"

#include "absl/strings/str_cat.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

absl::StatusOr<ClientHold> ClientQuotas::EnterRequest(const std::string& client, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  Usage& usage = clients_[client];
  if (limits_.requests > 0 && usage.requests >= limits_.requests) {
    return Because(UnservedReason::kClientRequests,
                   absl::ResourceExhaustedError(absl::StrCat(
                       "client_requests: ", usage.requests,
                       " requests of this client are in flight, of ", limits_.requests)));
  }
  if (limits_.bytes > 0 && usage.bytes > 0 && usage.bytes + bytes > limits_.bytes) {
    return Because(UnservedReason::kClientBytes,
                   absl::ResourceExhaustedError(absl::StrCat(
                       "client_mib: ", usage.bytes, " bytes of this client are in flight, of ",
                       limits_.bytes, ": no room for ", bytes, " more")));
  }
  ++usage.requests;
  usage.bytes += bytes;
  return ClientHold(this, client, {1, bytes, 0});
}

absl::StatusOr<ClientHold> ClientQuotas::EnterStream(const std::string& client) {
  absl::MutexLock lock(&mutex_);
  Usage& usage = clients_[client];
  if (limits_.streams > 0 && usage.streams >= limits_.streams) {
    return Because(UnservedReason::kClientStreams,
                   absl::ResourceExhaustedError(absl::StrCat(
                       "client_streams: ", usage.streams,
                       " streams and searches of this client are open, of ", limits_.streams)));
  }
  ++usage.streams;
  return ClientHold(this, client, {0, 0, 1});
}

void ClientQuotas::Leave(const std::string& client, const Usage& usage) {
  absl::MutexLock lock(&mutex_);
  const auto found = clients_.find(client);
  Usage& left = found->second;
  left.requests -= usage.requests;
  left.bytes -= usage.bytes;
  left.streams -= usage.streams;
  if (left.requests == 0 && left.bytes == 0 && left.streams == 0) clients_.erase(found);
}

}  // namespace baseband::server
