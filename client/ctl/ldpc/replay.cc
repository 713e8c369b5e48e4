#include "client/ctl/ldpc/replay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/published_llrs.h"
#include "client/ctl/ldpc/replay_calls.h"

namespace baseband::ctl {
namespace {

using client::PackedBytes;
using replay_internal::Cases;
using replay_internal::CompareBits;
using replay_internal::Done;
using replay_internal::RunChunks;

// Bits of the code word that Encode is asked for.
int EncodedBits(const KnownAnswer& answer) {
  return answer.kind == KnownAnswer::Kind::kEncode ? answer.shape.full() : answer.shape.sent();
}

int InfoBits(const KnownAnswer& answer) { return answer.shape.k() - answer.filler; }

absl::Status JudgeEncoded(const KnownAnswer& answer, absl::string_view got) {
  if (answer.kind == KnownAnswer::Kind::kEncode) {
    return CompareBits("code word", answer.codeword, got, answer.shape.full());
  }
  if (absl::Status status = CheckLlrs(answer, got); !status.ok()) {
    return status;
  }
  return CheckAgainstPublished(answer.info, answer.llr);
}

v1::EncodeRequest MakeEncodeRequest(Cases cases) {
  v1::EncodeRequest request;
  for (const ReplayCase* replay : cases) {
    v1::EncodeGroup* group = request.add_groups();
    *group->mutable_code() = replay->answer.code;
    group->set_count(1);
    group->set_n_filler(replay->answer.filler);
    group->set_output(replay->answer.kind == KnownAnswer::Kind::kEncode
                          ? v1::ENCODE_OUTPUT_FULL_CODEWORD
                          : v1::ENCODE_OUTPUT_CODEWORD);
    request.mutable_payload()->append(replay->answer.info);
  }
  return request;
}

void JudgeEncodeResponse(Cases cases, const v1::EncodeResponse& response) {
  absl::string_view left = response.payload();
  for (ReplayCase* replay : cases) {
    const size_t bytes = PackedBytes(EncodedBits(replay->answer));
    if (left.size() < bytes) {
      replay->status = absl::DataLossError("the server's answer is too short");
      continue;
    }
    replay->status = JudgeEncoded(replay->answer, left.substr(0, bytes));
    left.remove_prefix(bytes);
  }
}

v1::DecodeRequest MakeDecodeRequest(const v1::DecodeGroup& decode, Cases cases) {
  v1::DecodeRequest request;
  for (const ReplayCase* replay : cases) {
    v1::DecodeGroup* group = request.add_groups();
    *group = decode;
    *group->mutable_code() = replay->answer.code;
    group->set_count(1);
    group->set_n_filler(replay->answer.filler);
    group->set_llr_count(static_cast<uint32_t>(replay->answer.llr.size()));
    request.mutable_payload()->append(replay->answer.llr);
  }
  return request;
}

void JudgeDecodeResponse(Cases cases, const v1::DecodeResponse& response) {
  absl::string_view left = response.payload();
  for (size_t i = 0; i < cases.size(); ++i) {
    ReplayCase* replay = cases[i];
    const size_t bytes = PackedBytes(InfoBits(replay->answer));
    if (left.size() < bytes || response.parity_ok_size() <= static_cast<int>(i)) {
      replay->status = absl::DataLossError("the server's answer is too short");
      continue;
    }
    replay->status =
        CompareBits("info", replay->answer.info, left.substr(0, bytes), InfoBits(replay->answer));
    if (replay->status.ok() && !response.parity_ok(static_cast<int>(i))) {
      replay->status = absl::DataLossError("info is right, but parity_ok is false");
    }
    left.remove_prefix(bytes);
  }
}

// The cases of LDPC codes that still pass, of one kind or of both.
std::vector<ReplayCase*> Passing(std::vector<ReplayCase>* cases, bool decode_only) {
  std::vector<ReplayCase*> result;
  for (ReplayCase& replay : *cases) {
    if (replay.status.ok() && !replay.answer.is_shared() &&
        (!decode_only || replay.answer.kind == KnownAnswer::Kind::kDecode)) {
      result.push_back(&replay);
    }
  }
  return result;
}

int64_t LargestCase(Cases cases) {
  int64_t bytes = 1;
  for (const ReplayCase* replay : cases) {
    bytes = std::max<int64_t>({bytes, PackedBytes(replay->answer.shape.full()),
                               static_cast<int64_t>(replay->answer.llr.size())});
  }
  return bytes;
}

}  // namespace

void ReplayAll(client::Client* client, const GlobalFlags& flags, const RequestLimits& limits,
               const v1::DecodeGroup& decode, std::vector<ReplayCase>* cases) {
  const std::vector<ReplayCase*> to_encode = Passing(cases, /*decode_only=*/false);
  RunChunks(
      flags, limits, LargestCase(to_encode),
      [&](Cases chunk, const Done& done) {
        client->Encode(MakeEncodeRequest(chunk), flags.call(),
                       [chunk, done](const absl::StatusOr<v1::EncodeResponse>& response) {
                         if (response.ok()) {
                           JudgeEncodeResponse(chunk, *response);
                         }
                         done(response.status());
                       });
      },
      to_encode);
  const std::vector<ReplayCase*> to_decode = Passing(cases, /*decode_only=*/true);
  RunChunks(
      flags, limits, LargestCase(to_decode),
      [&](Cases chunk, const Done& done) {
        client->Decode(MakeDecodeRequest(decode, chunk), flags.call(),
                       [chunk, done](const absl::StatusOr<v1::DecodeResponse>& response) {
                         if (response.ok()) {
                           JudgeDecodeResponse(chunk, *response);
                         }
                         done(response.status());
                       });
      },
      to_decode);
  ReplayNr(client, flags, limits, decode, cases);
}

}  // namespace baseband::ctl
