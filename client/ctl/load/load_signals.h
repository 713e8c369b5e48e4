// The requests of single operations that `load` sends, each with what its answer must be.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_SIGNALS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_SIGNALS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/cpp/messages.h"
#include "client/ctl/carrier/constellations.h"
#include "client/ctl/common/random.h"
#include "client/ctl/load/load_traffic.h"
#include "client/load/workload.h"

namespace baseband::ctl {

// `message` as it is sent; `check` judges the parsed answer.
template <typename Response, typename Check>
absl::StatusOr<load::Request> ToRequest(const google::protobuf::MessageLite& message, Check check) {
  absl::StatusOr<grpc::ByteBuffer> bytes = client::Serialize(message);
  if (!bytes.ok()) {
    return bytes.status();
  }
  load::Request request;
  request.message = *std::move(bytes);
  request.check = [check](const grpc::ByteBuffer& reply) {
    grpc::ByteBuffer copy = reply;
    Response response;
    const absl::Status parsed = client::ParseInto(&copy, &response);
    return parsed.ok() ? check(response) : parsed;
  };
  return request;
}

// One request each of `spec`, with data from `random`.
absl::StatusOr<load::Request> EncodeRequest(client::Client* client, const GlobalFlags& flags,
                                            const TrafficSpec& spec, Random* random);
// `second`: a second transmission, see TrafficSpec::harq.
absl::StatusOr<load::Request> DecodeRequest(client::Client* client, const GlobalFlags& flags,
                                            const TrafficSpec& spec, bool second, Random* random);
absl::StatusOr<load::Request> CarrierRequest(const NamedPoints& constellation,
                                             const TrafficSpec& spec, Random* random);
absl::StatusOr<load::Request> DownconvertRequest(const TrafficSpec& spec, Random* random);
absl::StatusOr<load::Request> MinimizeRequest(const TrafficSpec& spec, Random* random);

// The code of `spec`, or the one it stands for without any.
absl::StatusOr<v1::LdpcCode> CodeOf(const TrafficSpec& spec);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_SIGNALS_H_
