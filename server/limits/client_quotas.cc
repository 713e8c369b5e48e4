#include "server/limits/client_quotas.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/spinning_lock.h"
#include "kernels/base/status_macros.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

absl::StatusOr<ClientHold> ClientQuotas::EnterRequest(const std::string& client, int64_t bytes) {
  SpinningLock lock(&mutex_);
  return EnterRequest(*clients_.try_emplace(client).first, bytes, 1);
}

absl::StatusOr<ClientHold> ClientQuotas::EnterRequest(const ClientHold& other, int64_t bytes,
                                                      int64_t requests) {
  SpinningLock lock(&mutex_);
  return EnterRequest(*other.client_, bytes, requests);
}

absl::StatusOr<ClientHold> ClientQuotas::EnterRequest(Client& client, int64_t bytes,
                                                      int64_t requests) {
  Usage& usage = client.second;
  if (limits_.requests > 0 && usage.requests > limits_.requests - requests) {
    return Because(UnservedReason::kClientRequests,
                   absl::ResourceExhaustedError(absl::StrCat(
                       "client_requests: ", usage.requests,
                       " requests of this client are in flight, of ", limits_.requests)));
  }
  BASEBAND_RETURN_IF_ERROR(CheckBytes(usage.bytes, bytes));
  usage.requests += requests;
  usage.bytes += bytes;
  return ClientHold(this, &client, {requests, bytes, 0});
}

absl::StatusOr<ClientHold> ClientQuotas::EnterStream(const std::string& client) {
  SpinningLock lock(&mutex_);
  Client& entry = *clients_.try_emplace(client).first;
  Usage& usage = entry.second;
  if (limits_.streams > 0 && usage.streams >= limits_.streams) {
    return Because(UnservedReason::kClientStreams,
                   absl::ResourceExhaustedError(absl::StrCat(
                       "client_streams: ", usage.streams,
                       " streams and searches of this client are open, of ", limits_.streams)));
  }
  ++usage.streams;
  return ClientHold(this, &entry, {0, 0, 1});
}

absl::Status ClientQuotas::CheckBytes(int64_t others, int64_t bytes) const {
  if (limits_.bytes == 0 || others == 0 || others + bytes <= limits_.bytes) return absl::OkStatus();
  return Because(UnservedReason::kClientBytes,
                 absl::ResourceExhaustedError(absl::StrCat(
                     "client_mib: ", others, " bytes of this client are in flight, of ",
                     limits_.bytes, ": no room for ", bytes, " more")));
}

absl::Status ClientQuotas::Grow(Client& client, int64_t held, int64_t bytes) {
  SpinningLock lock(&mutex_);
  Usage& usage = client.second;
  BASEBAND_RETURN_IF_ERROR(CheckBytes(usage.bytes - held, bytes));
  usage.bytes += bytes - held;
  return absl::OkStatus();
}

void ClientQuotas::Leave(Client& client, const Usage& usage) {
  SpinningLock lock(&mutex_);
  Usage& left = client.second;
  left.requests -= usage.requests;
  left.bytes -= usage.bytes;
  left.streams -= usage.streams;
  if (left.requests == 0 && left.bytes == 0 && left.streams == 0) {
    clients_.erase(clients_.find(client.first));
  }
}

absl::Status ClientHold::GrowTo(int64_t bytes) {
  if (quotas_ == nullptr || bytes <= usage_.bytes) return absl::OkStatus();
  BASEBAND_RETURN_IF_ERROR(quotas_->Grow(*client_, usage_.bytes, bytes));
  usage_.bytes = bytes;
  return absl::OkStatus();
}

}  // namespace baseband::server
