// Requests of every operation whose right answers are known to the bit.
#ifndef BASEBAND_TESTS_SUPPORT_MIX_H_
#define BASEBAND_TESTS_SUPPORT_MIX_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/client.h"
#include "tests/support/request_log.h"

namespace baseband::testing {

// Immutable: any thread may use it.
class Mix {
 public:
  // Small requests, some milliseconds of a core each, and one of Encode whose reply is large. What
  // they must be answered is what `client` got here once, checked against what was encoded and
  // sent, for the server answers the same bits beside any others.
  static absl::StatusOr<Mix> Learn(client::Client& client);

  // Of Encode, Decode, both of shared channels, RecoverCarrier and Downconvert.
  int size() const { return static_cast<int>(requests_.size()); }
  // `done` runs as the client library says.
  client::CallHandle Call(client::Client& client, int which, const client::CallOptions& options,
                          Done done) const;
  absl::Status Submit(client::SubmitStream& stream, int which, const client::SubmitOptions& options,
                      Done done) const;
  // A search, some ten milliseconds long.
  absl::Status Search(
      client::Client& client, const client::CallOptions& options,
      const std::function<bool(const v1::MinimizeProgress&)>& progress = nullptr) const;
  // A stream of some messages from its begin to its end; `go_on` is asked before each whether it
  // shall be cancelled instead.
  absl::Status Stream(client::Client& client, const client::StreamOptions& options,
                      const std::function<bool()>& go_on = nullptr) const;

 private:
  template <typename RequestType, typename ResponseType>
  struct Known {
    using Response = ResponseType;
    RequestType request;
    std::string answer;  // serialized, without its timing
  };
  using Any = std::variant<Known<v1::EncodeRequest, v1::EncodeResponse>,
                           Known<v1::DecodeRequest, v1::DecodeResponse>,
                           Known<v1::EncodeSharedChannelRequest, v1::EncodeSharedChannelResponse>,
                           Known<v1::DecodeSharedChannelRequest, v1::DecodeSharedChannelResponse>,
                           Known<v1::RecoverCarrierRequest, v1::RecoverCarrierResponse>,
                           Known<v1::DownconvertRequest, v1::DownconvertResponse>>;

  Mix() = default;
  absl::Status LearnCodes(client::Client& client);
  absl::Status LearnSlots(client::Client& client);
  absl::Status LearnSignals(client::Client& client);
  absl::Status LearnStream(client::Client& client);
  absl::Status LearnSearch(client::Client& client);

  std::vector<Any> requests_;
  std::vector<v1::DownconvertRequest> pieces_;  // of a stream
  std::vector<std::string> piece_answers_;
  v1::MinimizeRequest search_;
  std::string search_answer_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MIX_H_
