#include "client/ctl/ldpc/replay.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/published_llrs.h"
#include "client/ctl/ldpc/transfer.h"

namespace baseband::ctl {
namespace {

using client::PackedBytes;
using Cases = absl::Span<ReplayCase* const>;
using Done = std::function<void(absl::Status)>;

absl::Status Mismatch(absl::string_view what, int64_t bit, int64_t differences) {
  return absl::DataLossError(absl::StrCat(what, " differs at bit ", bit, ", in ", differences,
                                          differences == 1 ? " bit" : " bits", " altogether"));
}

absl::Status CompareBits(absl::string_view what, absl::string_view expected, absl::string_view got,
                         int64_t bits) {
  const int64_t bit = FirstDifferingBit(expected, got, bits);
  if (bit >= 0) {
    return Mismatch(what, bit, CountBitDifferences(expected, got, bits));
  }
  return PaddingIsZero(got, bits)
             ? absl::OkStatus()
             : absl::DataLossError(absl::StrCat(what, " is not filled up with zeros"));
}

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

// Sends `cases` as one request with `call`, which judges the answer. When a request of several
// cases is refused, sends them one by one, so that only the culprit fails.
using Call = std::function<void(Cases, Done)>;

void RunChunks(const GlobalFlags& flags, const RequestLimits& limits, int64_t case_bytes,
               const Call& call, Cases cases) {
  const int64_t chunk =
      std::clamp<int64_t>(limits.bytes / case_bytes, 1, std::min<int64_t>(limits.blocks, 64));
  const int64_t total = static_cast<int64_t>(cases.size());
  std::vector<absl::Status> statuses(total);
  ForEachChunk(total, chunk, flags.in_flight, [&](int64_t first, int64_t count, const Done& done) {
    call(cases.subspan(first, count), [&statuses, first, done](absl::Status status) {
      statuses[first] = std::move(status);
      done(absl::OkStatus());  // a refused request does not stop the others
    });
  }).IgnoreError();
  for (int64_t first = 0; first < total; first += chunk) {
    if (statuses[first].ok()) {
      continue;
    }
    const Cases refused = cases.subspan(first, chunk);
    ForEachChunk(static_cast<int64_t>(refused.size()), 1, flags.in_flight,
                 [&](int64_t index, int64_t, const Done& done) {
                   call(refused.subspan(index, 1),
                        [&refused, index, done](const absl::Status& status) {
                          if (!status.ok()) {
                            refused[index]->status = status;
                          }
                          done(absl::OkStatus());
                        });
                 })
        .IgnoreError();
  }
}

// The cases that still pass, of one kind or of both.
std::vector<ReplayCase*> Passing(std::vector<ReplayCase>* cases, bool decode_only) {
  std::vector<ReplayCase*> result;
  for (ReplayCase& replay : *cases) {
    if (replay.status.ok() && (!decode_only || replay.answer.kind == KnownAnswer::Kind::kDecode)) {
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
}

}  // namespace baseband::ctl
