#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
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
using Kind = KnownAnswer::Kind;

// How often a case is sent.
size_t Transmissions(const KnownAnswer& answer) {
  return answer.kind == Kind::kSharedEncode ? 1 : answer.transmissions.size();
}

v1::SharedChannelBlock BlockOf(const KnownAnswer& answer, size_t transmission) {
  v1::SharedChannelBlock block = answer.block;
  if (answer.kind == Kind::kSharedDecode) {
    block.set_rv(answer.transmissions[transmission].rv);
  }
  return block;
}

// The cases that still pass and have a transmission of this number.
std::vector<ReplayCase*> Passing(std::vector<ReplayCase>* cases, size_t transmission,
                                 bool decode_only) {
  std::vector<ReplayCase*> result;
  for (ReplayCase& replay : *cases) {
    if (replay.status.ok() && replay.answer.is_shared() &&
        (!decode_only || replay.answer.kind == Kind::kSharedDecode) &&
        Transmissions(replay.answer) > transmission) {
      result.push_back(&replay);
    }
  }
  return result;
}

absl::Status JudgeEncoded(const KnownAnswer& answer, size_t transmission, absl::string_view got) {
  if (answer.kind == Kind::kSharedEncode) {
    return CompareBits("out", answer.sent, got, answer.coded_bits);
  }
  const std::string& llr = answer.transmissions[transmission].llr;
  for (int i = 0; i < static_cast<int>(llr.size()); ++i) {
    const absl::Status status = CheckLlr(i, static_cast<int8_t>(llr[static_cast<size_t>(i)]),
                                         GetBit(got, i), answer.sigma2);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("tx[", transmission, "]: ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPublished(const KnownAnswer& answer) {
  std::string llr;
  for (const KnownAnswer::Transmission& transmission : answer.transmissions) {
    llr += transmission.llr;
  }
  return CheckAgainstPublished(answer.info, llr);
}

// One transmission of all cases that have one of its number.
class Round {
 public:
  Round(client::Client* client, const GlobalFlags& flags, const v1::DecodeGroup& decode,
        size_t transmission, std::map<const ReplayCase*, std::string>* soft)
      : client_(client),
        flags_(flags),
        decode_(decode),
        transmission_(transmission),
        soft_(*soft) {}

  void Encode(Cases cases, const Done& done) const {
    v1::EncodeSharedChannelRequest request;
    for (const ReplayCase* replay : cases) {
      v1::EncodeSharedChannelGroup& group = *request.add_groups();
      *group.mutable_block() = BlockOf(replay->answer, transmission_);
      group.set_count(1);
      request.mutable_payload()->append(replay->answer.info);
    }
    client_->EncodeSharedChannel(
        std::move(request), flags_.call(),
        [this, cases, done](const absl::StatusOr<v1::EncodeSharedChannelResponse>& response) {
          if (response.ok()) {
            JudgeEncodeResponse(cases, *response);
          }
          done(response.status());
        });
  }

  void Decode(Cases cases, const Done& done) const {
    v1::DecodeSharedChannelRequest request;
    for (const ReplayCase* replay : cases) {
      const KnownAnswer& answer = replay->answer;
      v1::DecodeSharedChannelGroup& group = *request.add_groups();
      *group.mutable_block() = BlockOf(answer, transmission_);
      group.set_count(1);
      group.set_input(v1::SHARED_CHANNEL_INPUT_LLR_INT8);
      group.set_max_iterations(decode_.max_iterations());
      group.set_scale_factor(decode_.scale_factor());
      group.mutable_harq()->set_soft_in(transmission_ > 0);
      group.mutable_harq()->set_soft_out(!IsLast(answer));
      std::string& payload = *request.mutable_payload();
      if (transmission_ > 0) {
        payload += soft_.at(replay);
      }
      payload += answer.transmissions[transmission_].llr;
      payload.resize((payload.size() + 3) / 4 * 4, '\0');
    }
    client_->DecodeSharedChannel(
        std::move(request), flags_.call(),
        [this, cases, done](const absl::StatusOr<v1::DecodeSharedChannelResponse>& response) {
          if (response.ok()) {
            JudgeDecodeResponse(cases, *response);
          }
          done(response.status());
        });
  }

 private:
  bool IsLast(const KnownAnswer& answer) const {
    return transmission_ + 1 == answer.transmissions.size();
  }

  void JudgeEncodeResponse(Cases cases, const v1::EncodeSharedChannelResponse& response) const {
    absl::string_view left = response.payload();
    for (ReplayCase* replay : cases) {
      const auto bytes = static_cast<size_t>(PackedBytes(replay->answer.coded_bits));
      if (left.size() < bytes) {
        replay->status = absl::DataLossError("the server's answer is too short");
        continue;
      }
      replay->status = JudgeEncoded(replay->answer, transmission_, left.substr(0, bytes));
      left.remove_prefix(bytes);
    }
  }

  void JudgeDecodeResponse(Cases cases, const v1::DecodeSharedChannelResponse& response) const {
    absl::string_view payload = response.payload();
    absl::string_view soft = response.soft();
    for (size_t i = 0; i < cases.size(); ++i) {
      ReplayCase* replay = cases[i];
      const KnownAnswer& answer = replay->answer;
      const size_t soft_bytes = IsLast(answer) ? 0 : static_cast<size_t>(answer.soft_bytes);
      if (payload.size() < answer.info.size() || soft.size() < soft_bytes ||
          response.blocks_size() <= static_cast<int>(i)) {
        replay->status = absl::DataLossError("the server's answer is too short");
        continue;
      }
      replay->status = JudgeDecoded(answer, response.blocks(static_cast<int>(i)).crc_ok(),
                                    payload.substr(0, answer.info.size()));
      soft_.at(replay) = std::string(soft.substr(0, soft_bytes));
      payload.remove_prefix(answer.info.size());
      soft.remove_prefix(soft_bytes);
    }
  }

  absl::Status JudgeDecoded(const KnownAnswer& answer, bool crc_ok, absl::string_view got) const {
    if (!IsLast(answer)) {
      return transmission_ == 0 && crc_ok
                 ? absl::DataLossError("crc_ok is true after the first transmission alone")
                 : absl::OkStatus();
    }
    absl::Status status =
        CompareBits("tb", answer.info, got, 8 * static_cast<int64_t>(answer.info.size()));
    if (status.ok() && !crc_ok) {
      status = absl::DataLossError("tb is right, but crc_ok is false");
    }
    return status;
  }

  client::Client* const client_;
  const GlobalFlags& flags_;
  const v1::DecodeGroup& decode_;
  const size_t transmission_;
  std::map<const ReplayCase*, std::string>& soft_;  // of each case: answers come on several threads
};

int64_t LargestNrCase(Cases cases) {
  int64_t bytes = 1;
  for (const ReplayCase* replay : cases) {
    bytes = std::max(bytes, replay->answer.coded_bits + replay->answer.soft_bytes);
  }
  return bytes;
}

}  // namespace

void ReplayNr(client::Client* client, const GlobalFlags& flags, const RequestLimits& limits,
              const v1::DecodeGroup& decode, std::vector<ReplayCase>* cases) {
  std::map<const ReplayCase*, std::string> soft;
  size_t most = 0;
  for (ReplayCase& replay : *cases) {
    if (!replay.status.ok() || !replay.answer.is_shared()) {
      continue;
    }
    if (replay.answer.kind == Kind::kSharedDecode) {
      replay.status = CheckPublished(replay.answer);
    }
    soft[&replay];
    most = std::max(most, Transmissions(replay.answer));
  }
  for (const bool is_decode : {false, true}) {
    for (size_t transmission = 0; transmission < most; ++transmission) {
      const Round round(client, flags, decode, transmission, &soft);
      const std::vector<ReplayCase*> passing = Passing(cases, transmission, is_decode);
      RunChunks(
          flags, limits, LargestNrCase(passing),
          [&](Cases chunk, const Done& done) {
            is_decode ? round.Decode(chunk, done) : round.Encode(chunk, done);
          },
          passing);
    }
  }
}

}  // namespace baseband::ctl
