#include "client/ctl/demo/demo_ldpc.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/ldpc/error_rate.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

using client::PackedBytes;

// The last step by which the default Eb/N0 is raised; with those before it, 31 dB.
constexpr double kMostMoreDb = 16;

// What the demo found out, stage by stage.
struct Story {
  std::string file;
  std::string code;
  double rate = 0;
  double ebn0_db = 0;
  std::vector<std::pair<double, int64_t>> too_little;  // Eb/N0 tried before, blocks wrong there
  int64_t file_bytes = 0;
  int64_t blocks = 0;
  int64_t info_bits = 0;  // of all blocks, fill of the last one included
  int64_t code_bits = 0;
  int64_t channel_errors = 0;
  absl::Duration channel_time;
  TransferTimes encode;
  TransferTimes decode;
  int64_t parity_failures = 0;
  ErrorRate errors;
  bool equal = false;
};

nlohmann::ordered_json ToJson(const Story& story) {
  nlohmann::ordered_json json;
  json["file"] = story.file;
  json["file_bytes"] = story.file_bytes;
  json["code"] = story.code;
  json["rate"] = story.rate;
  json["ebn0_db"] = story.ebn0_db;
  for (const auto& [ebn0_db, wrong] : story.too_little) {
    json["tried_before"].push_back({{"ebn0_db", ebn0_db}, {"block_errors", wrong}});
  }
  json["blocks"] = story.blocks;
  json["info_bits"] = story.info_bits;
  json["code_bits"] = story.code_bits;
  json["encode"] = ToJson(story.encode);
  json["channel"]["bit_errors"] = story.channel_errors;
  json["channel"]["seconds"] = absl::ToDoubleSeconds(story.channel_time);
  json["decode"] = ToJson(story.decode);
  json["decode"]["parity_failures"] = story.parity_failures;
  json["decode"]["block_errors"] = story.errors.frame_errors();
  json["decode"]["bit_errors"] = story.errors.bit_errors();
  json["decode"]["mean_iterations"] = story.errors.mean_iterations();
  json["recovered_equals_sent"] = story.equal;
  return json;
}

std::string ToText(const Story& story) {
  std::string text;
  absl::StrAppendFormat(&text, "file       %s, %s\n", story.file,
                        HumanBytes(static_cast<double>(story.file_bytes)));
  absl::StrAppendFormat(&text, "code       %s, rate %.3f\n", story.code, story.rate);
  absl::StrAppendFormat(&text, "segments   %s of %d information bits\n",
                        Plural(story.blocks, "block"), story.info_bits / story.blocks);
  absl::StrAppendFormat(&text, "encode     %s -> %s bits in %s, %s\n",
                        HumanCount(static_cast<double>(story.info_bits)),
                        HumanCount(static_cast<double>(story.code_bits)),
                        HumanDuration(story.encode.wall),
                        RateText(story.info_bits, story.encode.wall));
  text += ServerText(story.encode);
  absl::StrAppendFormat(
      &text, "channel    BPSK, Eb/N0 %.2f dB: %d of %s bits wrong (%.2f %%), %s\n", story.ebn0_db,
      story.channel_errors, HumanCount(static_cast<double>(story.code_bits)),
      100.0 * static_cast<double>(story.channel_errors) / static_cast<double>(story.code_bits),
      HumanDuration(story.channel_time));
  for (const auto& [ebn0_db, wrong] : story.too_little) {
    absl::StrAppendFormat(&text, "           before, at %.2f dB: %d of %s wrong\n", ebn0_db, wrong,
                          Plural(story.blocks, "block"));
  }
  absl::StrAppendFormat(&text, "decode     %s LLRs -> %s bits in %s, %s\n",
                        HumanCount(static_cast<double>(story.code_bits)),
                        HumanCount(static_cast<double>(story.info_bits)),
                        HumanDuration(story.decode.wall),
                        RateText(story.info_bits, story.decode.wall));
  text += ServerText(story.decode);
  absl::StrAppendFormat(&text,
                        "result     %d of %s wrong (%s failed the parity check), %d bits wrong,\n",
                        story.errors.frame_errors(), Plural(story.blocks, "block"),
                        Plural(story.parity_failures, "block"), story.errors.bit_errors());
  absl::StrAppendFormat(&text, "           %.2f iterations on average\n",
                        story.errors.mean_iterations());
  return text + Verdict(story.equal);
}

void CountErrors(const std::string& sent, const Decoded& decoded, int k, Story* story) {
  const int64_t block_bytes = PackedBytes(k);
  const auto block = [&](const std::string& blocks, int64_t b) {
    return absl::string_view(blocks).substr(b * block_bytes, block_bytes);
  };
  story->errors = ErrorRate();
  story->parity_failures = 0;
  for (int64_t b = 0; b < story->blocks; ++b) {
    story->parity_failures += !decoded.parity_ok[b];
    story->errors.AddFrame(k, CountBitDifferences(block(sent, b), block(decoded.payload, b), k),
                           decoded.iterations[b], decoded.parity_ok[b]);
  }
}

// All code words through the channel.
std::string Transmit(const std::string& codewords, const client::CodeShape& shape,
                     const DemoInput& input, float llr_scale, Story* story,
                     const OnProgress& progress) {
  const AwgnChannel channel(NoiseVariance(story->ebn0_db, story->rate), llr_scale);
  Random random(input.seed, /*stream=*/1);
  std::string llr(story->code_bits, '\0');
  const int64_t block_bytes = PackedBytes(shape.sent());
  const absl::Time begin = SteadyNow();
  for (int64_t b = 0; b < story->blocks; ++b) {
    story->channel_errors +=
        channel.Transmit(absl::string_view(codewords).substr(b * block_bytes, block_bytes),
                         shape.sent(), &random, reinterpret_cast<int8_t*>(&llr[b * shape.sent()]));
    progress(b + 1);
  }
  story->channel_time = SteadyNow() - begin;
  return llr;
}

}  // namespace

absl::StatusOr<DemoOutcome> RunLdpcDemo(const Session& session, const DemoInput& input,
                                        const v1::DecodeGroup& decode,
                                        const absl::optional<double>& ebn0_db) {
  const client::CodeShape shape = *client::ShapeOf(decode.code());
  Story story;
  story.file = input.name;
  story.file_bytes = static_cast<int64_t>(input.data.size());
  story.code = Describe(decode.code());
  story.rate = static_cast<double>(shape.k()) / shape.sent();
  story.ebn0_db = ebn0_db.value_or(std::round(10 * ComfortableEbN0(story.rate, shape.k())) / 10);
  const std::string sent = Segment(input.data, shape.k());
  story.blocks = static_cast<int64_t>(sent.size()) / PackedBytes(shape.k());
  story.info_bits = story.blocks * shape.k();
  story.code_bits = story.blocks * shape.sent();

  ProgressBar bar(!session.flags().json);
  const auto show = [&](double base, const char* stage) {
    return [&bar, base, stage, blocks = static_cast<double>(story.blocks)](int64_t done) {
      bar.Show(base + static_cast<double>(done) / blocks / 3, stage);
    };
  };
  v1::EncodeGroup encode_group;
  *encode_group.mutable_code() = decode.code();
  encode_group.set_output(v1::ENCODE_OUTPUT_CODEWORD);
  const absl::StatusOr<Encoded> encoded =
      EncodeBlocks(session, encode_group, sent, show(0, "encoding"));
  if (!encoded.ok()) {
    return encoded.status();
  }
  story.encode = encoded->times;

  absl::StatusOr<Decoded> decoded;
  for (double more = 1;; more *= 2) {
    story.channel_errors = 0;
    const std::string llr = Transmit(encoded->payload, shape, input, decode.llr_scale(), &story,
                                     show(1.0 / 3, "channel"));
    decoded = DecodeBlocks(session, decode, llr, show(2.0 / 3, "decoding"));
    if (!decoded.ok()) {
      return decoded.status();
    }
    CountErrors(sent, *decoded, shape.k(), &story);
    // The default suits good codes and decoders; of others nobody knows what they need.
    if (ebn0_db.has_value() || story.errors.frame_errors() == 0 || more > kMostMoreDb) {
      break;
    }
    story.too_little.emplace_back(story.ebn0_db, story.errors.frame_errors());
    story.ebn0_db += more;
  }
  story.decode = decoded->times;

  DemoOutcome outcome;
  outcome.recovered = Reassemble(decoded->payload, shape.k(), story.file_bytes);
  outcome.equal = story.equal = outcome.recovered == input.data;
  outcome.text = ToText(story);
  outcome.json = ToJson(story);
  return outcome;
}

}  // namespace baseband::ctl
