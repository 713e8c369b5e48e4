// The requests of single operations that `load` sends, each with what its answer must be.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_SIGNALS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_SIGNALS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"
#include "client/cpp/messages.h"
#include "client/ctl/carrier/constellations.h"
#include "client/ctl/common/random.h"
#include "client/ctl/load/load_traffic.h"
#include "client/load/workload.h"

namespace baseband::ctl {

// Of the pulses of RecoverCarrier's samples, if TrafficSpec does not say one.
inline constexpr double kRollOff = 0.2;

// What a check of an answer says that is not the known one.
inline absl::Status Wrong(absl::string_view what) { return absl::DataLossError(what); }

// `message` as it is sent. `check` judges the parsed answer by what is known of it without the
// server, and returns how many code blocks did not decode, or what is wrong.
template <typename Response, typename Check>
absl::StatusOr<load::Request> ToRequest(const google::protobuf::MessageLite& message,
                                        int kinds_of_devices, Check check) {
  absl::StatusOr<grpc::ByteBuffer> bytes = client::Serialize(message);
  if (!bytes.ok()) {
    return bytes.status();
  }
  load::Request request;
  request.message = *std::move(bytes);
  request.answers = std::make_unique<load::Answers>(kinds_of_devices);
  request.check = [check](const grpc::ByteBuffer& reply) -> absl::StatusOr<int64_t> {
    grpc::ByteBuffer copy = reply;
    Response response;
    if (absl::Status parsed = client::ParseInto(&copy, &response); !parsed.ok()) {
      return parsed;
    }
    return check(response);
  };
  return request;
}

// What the decoder ran, by an answer's own field. Of a Response that has one.
template <typename Response>
load::Iterations IterationsOf(const grpc::ByteBuffer& reply) {
  grpc::ByteBuffer copy = reply;
  Response response;
  load::Iterations iterations;
  if (client::ParseInto(&copy, &response).ok()) {
    for (const uint32_t of_block : response.iterations()) iterations.Add(of_block);
  }
  return iterations;
}

// One request each of `spec`, with data from `random`. InvalidArgument: the code cannot be encoded.
absl::StatusOr<load::Request> EncodeRequest(const TrafficSpec& spec, int kinds_of_devices,
                                            Random* random);
// `second`: a second transmission, see TrafficSpec::harq.
absl::StatusOr<load::Request> DecodeRequest(const TrafficSpec& spec, bool second,
                                            int kinds_of_devices, Random* random);
absl::StatusOr<load::Request> EncodeSharedRequest(const TrafficSpec& spec, int kinds_of_devices,
                                                  Random* random);
// `second` as above.
absl::StatusOr<load::Request> DecodeSharedRequest(const TrafficSpec& spec, bool second,
                                                  int kinds_of_devices, Random* random);
absl::StatusOr<load::Request> CarrierRequest(const NamedPoints& constellation,
                                             const TrafficSpec& spec, int kinds_of_devices,
                                             Random* random);
absl::StatusOr<load::Request> DownconvertRequest(const TrafficSpec& spec, int kinds_of_devices,
                                                 Random* random);
absl::StatusOr<load::Request> MinimizeRequest(const TrafficSpec& spec, int kinds_of_devices,
                                              Random* random);

// What those of Decode, EncodeSharedChannel and DecodeSharedChannel ask for.
load::Settings DecodeSettings(const TrafficSpec& spec);
load::Settings EncodeSharedSettings();
load::Settings DecodeSharedSettings(const TrafficSpec& spec, bool second);

// What of a MinimizeResponse depends on the request alone: all but the times it took.
absl::StatusOr<std::string> MinimizeEssence(const grpc::ByteBuffer& reply);

// The code of `spec`, or the one it stands for without any.
absl::StatusOr<v1::LdpcCode> CodeOf(const TrafficSpec& spec);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_SIGNALS_H_
