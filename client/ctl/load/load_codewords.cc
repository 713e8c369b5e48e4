// Encode and Decode requests of `load`.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/local_encoder.h"
#include "client/ctl/load/load_signals.h"

namespace baseband::ctl {
namespace {

constexpr int kMaxLlr = 127;
// So short a code word, in noise, may be taken for another one that satisfies the checks, too.
constexpr int kShortInfoBits = 128;

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

// What a DecodeResponse has to be.
struct Decoded {
  std::string info;
  int blocks = 0;
  uint32_t most_iterations = 0;
  bool may_mistake = false;  // another code word for the one that was sent
};

// How many blocks did not decode, of an answer that is right as far as it is known: each block
// whose parity checks hold has the information that was sent.
absl::StatusOr<int64_t> CheckDecoded(const v1::DecodeResponse& response, const Decoded& expected) {
  const std::string& info = expected.info;
  const int blocks = expected.blocks;
  if (response.parity_ok_size() != blocks || response.iterations_size() != blocks ||
      response.payload().size() != info.size() || !response.soft().empty()) {
    return Wrong("Decode answered with other sizes than were asked for");
  }
  const size_t bytes = info.size() / static_cast<size_t>(blocks);
  int64_t failed = 0;
  for (int block = 0; block < blocks; ++block) {
    if (response.iterations(block) < 1 || response.iterations(block) > expected.most_iterations) {
      return Wrong(absl::StrCat("Decode: block ", block, " took ", response.iterations(block),
                                " iterations of 1 .. ", expected.most_iterations));
    }
    const size_t at = static_cast<size_t>(block) * bytes;
    const bool is_sent = response.payload().compare(at, bytes, info, at, bytes) == 0;
    if (!response.parity_ok(block) || (!is_sent && expected.may_mistake)) {
      ++failed;
    } else if (!is_sent) {
      return Wrong(absl::StrCat("Decode: block ", block, " is not the information that was sent"));
    }
  }
  return failed;
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

load::Settings DecodeSettings(const TrafficSpec& spec) {
  const DecodeFlags& decode = spec.decode;
  load::Settings settings = {{"input", "llr-int8"},
                             {"llr_scale", decode.llr_scale},
                             {"early_stop", decode.fixed ? "none" : "parity"},
                             {"iterations", static_cast<double>(decode.iterations)},
                             {"algorithm", decode.algorithm},
                             {"schedule", decode.schedule}};
  if (decode.scale_factor != 0) settings.emplace_back("scale_factor", decode.scale_factor);
  if (spec.ebn0_db.has_value()) settings.emplace_back("ebn0_db", *spec.ebn0_db);
  return settings;
}

absl::StatusOr<load::Request> EncodeRequest(const TrafficSpec& spec, int kinds_of_devices,
                                            Random* random) {
  const v1::LdpcCode code = *CodeOf(spec);
  const std::string info = RandomInfo(spec.blocks, InfoBits(code, spec), random);
  const absl::StatusOr<std::string> words = EncodeHere(code, spec.code.filler, info, spec.blocks);
  if (!words.ok()) {
    return words.status();
  }
  v1::EncodeResponse expected;
  expected.set_payload(*words);
  auto request = ToRequest<v1::EncodeResponse>(
      ToEncode(code, spec, info), kinds_of_devices,
      [words = *words](const v1::EncodeResponse& response) -> absl::StatusOr<int64_t> {
        if (response.payload() == words) {
          return 0;
        }
        return Wrong("Encode: not the right code words");
      });
  if (request.ok()) {
    request->answers->Add(expected.SerializeAsString(), 0, load::Answer::State::kRight);
  }
  return request;
}

absl::StatusOr<load::Request> DecodeRequest(const TrafficSpec& spec, bool second,
                                            int kinds_of_devices, Random* random) {
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
  const absl::StatusOr<std::string> words = EncodeHere(code, spec.code.filler, info, spec.blocks);
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

  Decoded expected;
  expected.info = info;
  expected.blocks = spec.blocks;
  expected.most_iterations = request.groups(0).max_iterations();
  expected.may_mistake = spec.ebn0_db.has_value() && k < kShortInfoBits;
  return ToRequest<v1::DecodeResponse>(
      request, kinds_of_devices,
      [expected](const v1::DecodeResponse& response) { return CheckDecoded(response, expected); });
}

}  // namespace baseband::ctl
