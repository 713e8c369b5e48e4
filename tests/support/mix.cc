#include "tests/support/mix.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/shared_channel_traffic.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

constexpr int kPieces = 6;
constexpr int64_t kPieceSamples = 2000;

template <typename Response>
std::string WithoutTiming(Response response) {
  response.clear_timing();
  return response.SerializeAsString();
}

template <typename Response>
absl::Status Judge(const absl::StatusOr<Response>& response, const std::string& answer) {
  if (!response.ok()) return response.status();
  return WithoutTiming(*response) == answer
             ? absl::OkStatus()
             : absl::DataLossError(absl::StrCat("a wrong ", Response::descriptor()->name()));
}

client::CallHandle Start(client::Client& client, const v1::EncodeRequest& request,
                         const client::CallOptions& options,
                         client::Client::Callback<v1::EncodeResponse> done) {
  return client.Encode(request, options, std::move(done));
}
client::CallHandle Start(client::Client& client, const v1::DecodeRequest& request,
                         const client::CallOptions& options,
                         client::Client::Callback<v1::DecodeResponse> done) {
  return client.Decode(request, options, std::move(done));
}
client::CallHandle Start(client::Client& client, const v1::EncodeSharedChannelRequest& request,
                         const client::CallOptions& options,
                         client::Client::Callback<v1::EncodeSharedChannelResponse> done) {
  return client.EncodeSharedChannel(request, options, std::move(done));
}
client::CallHandle Start(client::Client& client, const v1::DecodeSharedChannelRequest& request,
                         const client::CallOptions& options,
                         client::Client::Callback<v1::DecodeSharedChannelResponse> done) {
  return client.DecodeSharedChannel(request, options, std::move(done));
}
client::CallHandle Start(client::Client& client, const v1::RecoverCarrierRequest& request,
                         const client::CallOptions& options,
                         client::Client::Callback<v1::RecoverCarrierResponse> done) {
  return client.RecoverCarrier(request, options, std::move(done));
}
client::CallHandle Start(client::Client& client, const v1::DownconvertRequest& request,
                         const client::CallOptions& options,
                         client::Client::Callback<v1::DownconvertResponse> done) {
  return client.Downconvert(request, options, std::move(done));
}

// A server that has just been started on a busy host may think for a while that a request takes
// minutes; it is to refuse none for that.
client::CallOptions Patient() {
  client::CallOptions options;
  options.timeout = absl::Hours(24);
  options.wait_for_ready = true;
  return options;
}

// What of an answer does not depend on the moment.
std::string Essence(const v1::MinimizeAnswer& answer) {
  return absl::StrCat(answer.evaluations(), " ", answer.top(0).SerializeAsString());
}

}  // namespace

absl::StatusOr<Mix> Mix::Learn(client::Client& client) {
  Mix mix;
  BASEBAND_RETURN_IF_ERROR(mix.LearnCodes(client));
  BASEBAND_RETURN_IF_ERROR(mix.LearnSlots(client));
  BASEBAND_RETURN_IF_ERROR(mix.LearnSignals(client));
  BASEBAND_RETURN_IF_ERROR(mix.LearnStream(client));
  BASEBAND_RETURN_IF_ERROR(mix.LearnSearch(client));
  return mix;
}

absl::Status Mix::LearnCodes(client::Client& client) {
  std::mt19937 random(2024);
  for (int i = 0; i < 6; ++i) {
    // 300 KiB of code words come back from the last.
    const v1::EncodeRequest words = i < 5 ? RandomEncode(&random) : EncodeOf(NrCode(1, 384), 100);
    BASEBAND_ASSIGN_OR_RETURN(const v1::EncodeResponse encoded, client.Encode(words, Patient()));
    requests_.push_back(
        Known<v1::EncodeRequest, v1::EncodeResponse>{words, WithoutTiming(encoded)});
    if (i == 5) break;
    const v1::DecodeRequest received = DecodeOf(words, encoded);
    BASEBAND_ASSIGN_OR_RETURN(const v1::DecodeResponse decoded, client.Decode(received, Patient()));
    if (decoded.payload() != words.payload()) return absl::DataLossError("decoded wrong");
    requests_.push_back(
        Known<v1::DecodeRequest, v1::DecodeResponse>{received, WithoutTiming(decoded)});
  }
  return absl::OkStatus();
}

absl::Status Mix::LearnSlots(client::Client& client) {
  std::mt19937 random(2026);
  for (int i = 0; i < 3; ++i) {
    const v1::EncodeSharedChannelRequest slot = RandomSlot(&random);
    BASEBAND_ASSIGN_OR_RETURN(const v1::EncodeSharedChannelResponse bits,
                              client.EncodeSharedChannel(slot, Patient()));
    requests_.push_back(Known<v1::EncodeSharedChannelRequest, v1::EncodeSharedChannelResponse>{
        slot, WithoutTiming(bits)});
    const v1::DecodeSharedChannelRequest received = DecodeOf(slot, bits);
    BASEBAND_ASSIGN_OR_RETURN(const v1::DecodeSharedChannelResponse decoded,
                              client.DecodeSharedChannel(received, Patient()));
    if (decoded.payload() != slot.payload()) return absl::DataLossError("decoded wrong");
    requests_.push_back(Known<v1::DecodeSharedChannelRequest, v1::DecodeSharedChannelResponse>{
        received, WithoutTiming(decoded)});
  }
  return absl::OkStatus();
}

absl::Status Mix::LearnSignals(client::Client& client) {
  std::mt19937 random(2025);
  for (unsigned i = 0; i < 3; ++i) {
    const CarrierRequest carriers = RandomCarriers(&random);
    BASEBAND_ASSIGN_OR_RETURN(const v1::RecoverCarrierResponse recovered,
                              client.RecoverCarrier(carriers.message, Patient()));
    if (const std::string wrong = CheckCarriers(carriers, recovered); !wrong.empty()) {
      return absl::DataLossError(wrong);
    }
    requests_.push_back(Known<v1::RecoverCarrierRequest, v1::RecoverCarrierResponse>{
        carriers.message, WithoutTiming(recovered)});

    v1::DownconvertRequest request;
    *request.mutable_setup() = ChannelsOf(2, 32, 4);
    request.set_payload(WidebandSignal(3000 + 1000 * i, i));
    BASEBAND_ASSIGN_OR_RETURN(const v1::DownconvertResponse converted,
                              client.Downconvert(request, Patient()));
    requests_.push_back(
        Known<v1::DownconvertRequest, v1::DownconvertResponse>{request, WithoutTiming(converted)});
  }
  return absl::OkStatus();
}

absl::Status Mix::LearnStream(client::Client& client) {
  client::StreamOptions options;
  options.wait_for_ready = true;
  BASEBAND_ASSIGN_OR_RETURN(const auto stream, client.OpenDownconvertStream(options));
  for (unsigned i = 0; i < kPieces; ++i) {
    v1::DownconvertRequest piece;
    if (i == 0) *piece.mutable_setup() = ChannelsOf(3, 48, 6);
    piece.set_payload(WidebandSignal(kPieceSamples, 100 + i));
    v1::DownconvertResponse response;
    if (!stream->Write(piece) || !stream->Read(&response)) break;
    pieces_.push_back(piece);
    piece_answers_.push_back(WithoutTiming(response));
  }
  return stream->Finish();
}

absl::Status Mix::LearnSearch(client::Client& client) {
  search_.mutable_expression()->set_text("sum(j, 1, 20, sin(j * x) / j)");
  search_.set_progress_interval_ms(10);
  v1::GridAxis& axis = *search_.add_axes();
  axis.set_step(1e-6);
  axis.set_count(1'000'000);
  BASEBAND_ASSIGN_OR_RETURN(const v1::MinimizeAnswer answer, client.Minimize(search_, Patient()));
  search_answer_ = Essence(answer);
  return absl::OkStatus();
}

client::CallHandle Mix::Call(client::Client& client, int which, const client::CallOptions& options,
                             Done done) const {
  return std::visit(
      [&](const auto& known) {
        using Response = typename std::decay_t<decltype(known)>::Response;
        return Start(client, known.request, options,
                     [&known, done = std::move(done)](const absl::StatusOr<Response>& response) {
                       done(Judge(response, known.answer));
                     });
      },
      requests_.at(static_cast<size_t>(which)));
}

absl::Status Mix::Submit(client::SubmitStream& stream, int which,
                         const client::SubmitOptions& options, Done done) const {
  return std::visit(
      [&](const auto& known) {
        using Response = typename std::decay_t<decltype(known)>::Response;
        return stream.Submit(
            known.request, options,
            [&known, done = std::move(done)](const absl::StatusOr<Response>& response) {
              done(Judge(response, known.answer));
            });
      },
      requests_.at(static_cast<size_t>(which)));
}

absl::Status Mix::Search(client::Client& client, const client::CallOptions& options,
                         const std::function<bool(const v1::MinimizeProgress&)>& progress) const {
  BASEBAND_ASSIGN_OR_RETURN(const v1::MinimizeAnswer answer,
                            client.Minimize(search_, options, progress));
  return Essence(answer) == search_answer_ ? absl::OkStatus()
                                           : absl::DataLossError("another least value");
}

absl::Status Mix::Stream(client::Client& client, const client::StreamOptions& options,
                         const std::function<bool()>& go_on) const {
  BASEBAND_ASSIGN_OR_RETURN(const auto stream, client.OpenDownconvertStream(options));
  bool right = true;
  size_t read = 0;
  v1::DownconvertResponse response;
  const auto read_one = [&] {
    if (!stream->Read(&response)) return false;
    right &= WithoutTiming(response) == piece_answers_[read++];
    return true;
  };
  for (const v1::DownconvertRequest& piece : pieces_) {
    if (go_on != nullptr && !go_on()) stream->Cancel();
    if (!stream->Write(piece) || (stream->in_flight() == 2 && !read_one())) break;
  }
  stream->WritesDone();
  while (read < pieces_.size() && read_one()) {
  }
  absl::Status status = stream->Finish();
  if (status.ok() && read < pieces_.size()) status = absl::DataLossError("responses are missing");
  return right ? status : absl::DataLossError("a wrong response of a stream");
}

}  // namespace baseband::testing
