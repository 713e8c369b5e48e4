// Encode and Decode requests of `load`.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/load/load_signals.h"

namespace baseband::ctl {
namespace {

constexpr int kSureLlr = 30;
constexpr int kMaxLlr = 127;

int InfoBits(const v1::LdpcCode& code, const TrafficSpec& spec) {
  return client::ShapeOf(code)->k() - spec.code.filler;
}

// Information of all blocks, each filled up with zero bits to whole bytes.
std::string RandomInfo(int blocks, int bits, Random* random) {
  std::string info;
  for (int block = 0; block < blocks; ++block) {
    info += random->Bytes(client::PackedBytes(bits));
    if (bits % 8 != 0) {
      info.back() = static_cast<char>(info.back() & (0xff00 >> (bits % 8)));
    }
  }
  return info;
}

v1::EncodeRequest ToEncode(const v1::LdpcCode& code, const TrafficSpec& spec,
                           const std::string& info) {
  v1::EncodeRequest request;
  v1::EncodeGroup& group = *request.add_groups();
  *group.mutable_code() = code;
  group.set_count(static_cast<uint32_t>(spec.blocks));
  group.set_n_filler(static_cast<uint32_t>(spec.code.filler));
  group.set_output(v1::ENCODE_OUTPUT_CODEWORD);
  request.set_payload(info);
  return request;
}

// Right if each block whose parity checks hold has the information sent, and at most `most_failed`
// do not hold.
absl::Status CheckDecoded(const v1::DecodeResponse& response, const std::string& info,
                          int most_failed) {
  const auto blocks = static_cast<size_t>(response.parity_ok_size());
  if (response.payload().size() != info.size() || blocks == 0 || info.size() % blocks != 0) {
    return absl::DataLossError("Decode answered with other sizes than were asked for");
  }
  const size_t bytes = info.size() / blocks;
  int failed = 0;
  for (size_t block = 0; block < blocks; ++block) {
    if (!response.parity_ok(static_cast<int>(block))) {
      ++failed;
    } else if (response.payload().compare(block * bytes, bytes, info, block * bytes, bytes) != 0) {
      return absl::DataLossError(
          absl::StrCat("Decode: block ", block, " is not the information that was sent"));
    }
  }
  return failed <= most_failed ? absl::OkStatus()
                               : absl::DataLossError(absl::StrCat("Decode: the parity checks of ",
                                                                  failed, " blocks failed, of ",
                                                                  most_failed, " the first time"));
}

// The bits sent for `info`: proved by the decoder, which must find the checks satisfied and that
// information in them, after one iteration without noise.
absl::StatusOr<std::string> EncodeProved(client::Client* client, const GlobalFlags& flags,
                                         const v1::LdpcCode& code, const TrafficSpec& spec,
                                         const std::string& info) {
  const auto words = client->Encode(ToEncode(code, spec, info), flags.call());
  if (!words.ok()) {
    return words.status();
  }
  const int sent = client::ShapeOf(code)->sent();
  const int64_t stride = client::PackedBytes(sent);
  if (static_cast<int64_t>(words->payload().size()) != stride * spec.blocks) {
    return absl::DataLossError("Encode answered with another size than was asked for");
  }
  v1::DecodeRequest proof;
  v1::DecodeGroup& group = *proof.add_groups();
  *group.mutable_code() = code;
  group.set_count(static_cast<uint32_t>(spec.blocks));
  group.set_n_filler(static_cast<uint32_t>(spec.code.filler));
  for (int block = 0; block < spec.blocks; ++block) {
    for (int bit = 0; bit < sent; ++bit) {
      const bool one = GetBit(words->payload(), 8 * stride * block + bit);
      proof.mutable_payload()->push_back(static_cast<char>(one ? -kSureLlr : kSureLlr));
    }
  }
  const auto decoded = client->Decode(std::move(proof), flags.call());
  if (!decoded.ok()) {
    return decoded.status();
  }
  const absl::Status right = CheckDecoded(*decoded, info, 0);
  return right.ok() ? absl::StatusOr<std::string>(words->payload()) : right;
}

// First bit of redundancy version 2 in a circular buffer that holds the whole code word (38.212,
// table 5.4.2.1-2).
int SecondVersionBegin(const v1::NrCode& code) {
  return static_cast<int>((code.base_graph() == 1 ? 33 : 25) * code.zc());
}

// What a receiver has of one code word of `sent` bits: the bits first .. first + count - 1 modulo
// its length, of each (first, count) that was sent, added up.
void AddTransmission(absl::string_view word, int sent, int first, int count,
                     const AwgnChannel& channel, Random* random, std::vector<int8_t>* llr) {
  std::string bits((static_cast<size_t>(count) + 7) / 8, '\0');
  const int until_end = std::min(count, sent - first);
  CopyBits(word, first, &bits, 0, until_end);
  CopyBits(word, 0, &bits, until_end, count - until_end);
  std::vector<int8_t> received(static_cast<size_t>(count));
  channel.Transmit(bits, count, random, received.data());
  for (int i = 0; i < count; ++i) {
    int8_t& sum = (*llr)[static_cast<size_t>((first + i) % sent)];
    sum =
        static_cast<int8_t>(std::clamp(sum + received[static_cast<size_t>(i)], -kMaxLlr, kMaxLlr));
  }
}

}  // namespace

absl::StatusOr<v1::LdpcCode> CodeOf(const TrafficSpec& spec) {
  if (spec.code.any()) {
    return ToLdpcCode(spec.code);
  }
  CodeFlags half = spec.code;
  half.nr_bg = 1;
  half.rows = spec.code.rows == 0 ? 24 : spec.code.rows;
  return ToLdpcCode(half);
}

absl::StatusOr<load::Request> EncodeRequest(client::Client* client, const GlobalFlags& flags,
                                            const TrafficSpec& spec, Random* random) {
  const v1::LdpcCode code = *CodeOf(spec);
  const std::string info = RandomInfo(spec.blocks, InfoBits(code, spec), random);
  const absl::StatusOr<std::string> words = EncodeProved(client, flags, code, spec, info);
  if (!words.ok()) {
    return words.status();
  }
  return ToRequest<v1::EncodeResponse>(
      ToEncode(code, spec, info), [words = *words](const v1::EncodeResponse& response) {
        return response.payload() == words
                   ? absl::OkStatus()
                   : absl::DataLossError("Encode: not the right code words");
      });
}

absl::StatusOr<load::Request> DecodeRequest(client::Client* client, const GlobalFlags& flags,
                                            const TrafficSpec& spec, bool second, Random* random) {
  const v1::LdpcCode first_code = *CodeOf(spec);
  v1::DecodeGroup group = *ToDecodeGroup(spec.decode);
  const int each = group.llr_count() > 0 ? static_cast<int>(group.llr_count())
                                         : client::ShapeOf(first_code)->sent();
  v1::LdpcCode code = first_code;
  if (second) {
    code.set_parity_rows(0);  // redundancy version 2 reaches further into the mother code
  }
  const int sent = client::ShapeOf(code)->sent();
  const int k = InfoBits(code, spec);
  const std::string info = RandomInfo(spec.blocks, k, random);
  const absl::StatusOr<std::string> words = EncodeProved(client, flags, code, spec, info);
  if (!words.ok()) {
    return words.status();
  }

  const int begin = second ? SecondVersionBegin(code.nr()) : 0;
  const int used = second ? std::max(each, std::min(sent, begin + each)) : each;
  const double rate = static_cast<double>(k) / each;
  const double total_rate = static_cast<double>(k) / (second ? 2 * each : each);
  const double ebn0_db = spec.ebn0_db.value_or(ComfortableEbN0(total_rate, k) + (second ? 1.0 : 0));
  // Eb/N0 is per information bit of all that was sent.
  const AwgnChannel channel(NoiseVariance(ebn0_db, spec.ebn0_db.has_value() ? rate : total_rate),
                            spec.decode.llr_scale);
  v1::DecodeRequest request;
  std::vector<int8_t> llr(static_cast<size_t>(sent));
  const int64_t stride = client::PackedBytes(sent);
  for (int block = 0; block < spec.blocks; ++block) {
    std::fill(llr.begin(), llr.end(), 0);
    const absl::string_view word = absl::string_view(*words).substr(
        static_cast<size_t>(stride * block), static_cast<size_t>(stride));
    AddTransmission(word, sent, 0, each, channel, random, &llr);
    if (second) {
      AddTransmission(word, sent, begin, each, channel, random, &llr);
    }
    request.mutable_payload()->append(reinterpret_cast<const char*>(llr.data()),
                                      static_cast<size_t>(used));
  }
  *group.mutable_code() = code;
  group.set_count(static_cast<uint32_t>(spec.blocks));
  group.set_n_filler(static_cast<uint32_t>(spec.code.filler));
  group.set_llr_count(static_cast<uint32_t>(used));
  *request.add_groups() = std::move(group);

  const auto answer = client->Decode(request, flags.call());
  if (!answer.ok()) {
    return answer.status();
  }
  const auto failed =
      static_cast<int>(std::count(answer->parity_ok().begin(), answer->parity_ok().end(), false));
  if (absl::Status status = CheckDecoded(*answer, info, failed); !status.ok()) {
    return status;
  }
  if (failed == spec.blocks && !spec.ebn0_db.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no block of ", Describe(code), " decodes at Eb/N0 ", ebn0_db, " dB: say another ebn0"));
  }
  return ToRequest<v1::DecodeResponse>(request, [info, failed](const v1::DecodeResponse& response) {
    return CheckDecoded(response, info, failed);
  });
}

}  // namespace baseband::ctl
