#include "client/ctl/demo/demo_nr.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

// Soft bits that are kept at a time; a file of more is sent in parts.
constexpr int64_t kSoftBytes = 64 << 20;

// What the demo found out.
struct NrStory {
  int64_t file_bytes = 0;
  int64_t blocks = 0;
  std::vector<int64_t> sent;   // blocks, by transmission
  std::vector<int64_t> right;  // their CRC holds after so many transmissions
  int64_t undetected = 0;      // and they are wrong all the same
  int64_t iterations = 0;      // of all code blocks
  absl::Duration channel_time;
  TransferTimes encode;
  TransferTimes decode;
  bool equal = false;

  int64_t transmissions() const {
    int64_t sum = 0;
    for (const int64_t blocks_sent : sent) sum += blocks_sent;
    return sum;
  }
};

// The data in transport blocks; the last one is filled up with zeros.
std::vector<HarqBlock> Divide(const std::string& data, int64_t tb_bytes) {
  std::vector<HarqBlock> blocks;
  for (size_t at = 0; at < data.size(); at += static_cast<size_t>(tb_bytes)) {
    HarqBlock& block = blocks.emplace_back();
    block.tb = data.substr(at, static_cast<size_t>(tb_bytes));
    block.tb.resize(static_cast<size_t>(tb_bytes), '\0');
    block.noise = blocks.size();
  }
  return blocks;
}

// Sends `blocks` until all are right, or as often as the link may.
absl::Status Send(const Session& session, const HarqLink& link, HarqBlocks blocks,
                  const std::function<void()>& progress, NrStory* story) {
  for (int t = 0; t < link.transmissions() && !blocks.empty(); ++t) {
    const absl::StatusOr<Encoded> encoded = EncodeSharedBlocks(
        session, link.EncodeGroup(t), link.EncodeSizes(), HarqLink::EncodePayload(blocks));
    if (!encoded.ok()) {
      return encoded.status();
    }
    const absl::Time begin = SteadyNow();
    const std::string received = link.DecodePayload(blocks, t, encoded->payload);
    story->channel_time += SteadyNow() - begin;
    const absl::StatusOr<SharedDecoded> decoded =
        DecodeSharedBlocks(session, link.DecodeGroup(t), link.DecodeSizes(t), received);
    if (!decoded.ok()) {
      return decoded.status();
    }
    link.Take(*decoded, t, blocks);
    story->encode.Append(encoded->times);
    story->decode.Append(decoded->times);
    story->sent[t] += static_cast<int64_t>(blocks.size());
    for (const HarqBlock* block : blocks) {
      story->right[t] += block->crc_ok;
      story->undetected += block->crc_ok && !block->equal;
      story->iterations += block->iterations;
    }
    blocks = HarqLink::Failed(blocks);
    progress();
  }
  return absl::OkStatus();
}

double BitsPerSymbol(const NrStory& story, const TransportFormat& format) {
  int64_t right = 0;
  for (const int64_t blocks : story.right) right += blocks;
  return static_cast<double>(right * format.plan.tb_bits) /
         static_cast<double>(story.transmissions() * format.num_symbols());
}

double MeanIterations(const NrStory& story, const TransportFormat& format) {
  return static_cast<double>(story.iterations) /
         static_cast<double>(story.transmissions() * format.plan.num_blocks);
}

// "right after 1 transmission: 40 of 47, after 2: 46".
std::string HarqText(const NrStory& story) {
  std::string text;
  int64_t right = 0;
  for (size_t t = 0; t < story.sent.size() && story.sent[t] > 0; ++t) {
    right += story.right[t];
    if (t == 0) {
      absl::StrAppend(&text, "right after 1 transmission: ", right, " of ",
                      Plural(story.blocks, "block"));
    } else {
      absl::StrAppend(&text, ", after ", t + 1, ": ", right);
    }
  }
  return text;
}

int64_t Wrong(const NrStory& story) {
  int64_t right = -story.undetected;
  for (const int64_t blocks : story.right) right += blocks;
  return story.blocks - right;
}

std::string ToText(const NrStory& story, const DemoInput& input, const HarqLink& link) {
  const TransportFormat& format = link.format();
  const nr::TransportBlockPlan& plan = format.plan;
  const int64_t info_bits = story.transmissions() * plan.tb_bits;
  const auto symbols = static_cast<double>(story.transmissions() * format.num_symbols());
  std::string text;
  absl::StrAppendFormat(&text, "file       %s, %s\n", input.name,
                        HumanBytes(static_cast<double>(story.file_bytes)));
  absl::StrAppendFormat(&text, "format     %s: %s\n", format.Name(), format.Describe());
  absl::StrAppendFormat(&text, "blocks     %s of %d bits, each %s of BG%d Zc=%d\n",
                        Plural(story.blocks, "transport block"), plan.tb_bits,
                        Plural(plan.num_blocks, "code block"), plan.base_graph, plan.zc);
  absl::StrAppendFormat(&text, "encode     %s bits -> %s symbols in %s, %s\n",
                        HumanCount(static_cast<double>(info_bits)), HumanCount(symbols),
                        HumanDuration(story.encode.wall), RateText(info_bits, story.encode.wall));
  text += ServerText(story.encode);
  absl::StrAppendFormat(&text, "channel    %s as %s, SNR %.2f dB, %s\n",
                        NameOfModulation(format.mcs.qm), NameOfReceivedType(link.type()),
                        link.snr_db(), HumanDuration(story.channel_time));
  absl::StrAppendFormat(&text, "decode     %s symbols -> %s bits in %s, %s\n", HumanCount(symbols),
                        HumanCount(static_cast<double>(info_bits)),
                        HumanDuration(story.decode.wall), RateText(info_bits, story.decode.wall));
  text += ServerText(story.decode);
  absl::StrAppendFormat(&text, "HARQ       %s\n", HarqText(story));
  absl::StrAppendFormat(
      &text, "throughput %.3f bits a symbol, of %.3f; %.2f transmissions a block\n",
      BitsPerSymbol(story, format),
      static_cast<double>(plan.tb_bits) / static_cast<double>(format.num_symbols()),
      static_cast<double>(story.transmissions()) / static_cast<double>(story.blocks));
  absl::StrAppendFormat(&text, "result     %d of %s wrong, %.2f iterations on average\n",
                        Wrong(story), Plural(story.blocks, "block"), MeanIterations(story, format));
  return text + Verdict(story.equal);
}

nlohmann::ordered_json ToJson(const NrStory& story, const DemoInput& input, const HarqLink& link) {
  const TransportFormat& format = link.format();
  const nr::TransportBlockPlan& plan = format.plan;
  nlohmann::ordered_json json;
  json["file"] = input.name;
  json["file_bytes"] = story.file_bytes;
  json["format"] = ToJson(format);
  json["snr_db"] = link.snr_db();
  json["input"] = NameOfReceivedType(link.type());
  json["blocks"] = story.blocks;
  json["encode"] = ToJson(story.encode);
  json["channel"]["seconds"] = absl::ToDoubleSeconds(story.channel_time);
  json["decode"] = ToJson(story.decode);
  json["decode"]["mean_iterations"] = MeanIterations(story, format);
  json["harq"]["sent"] = story.sent;
  json["harq"]["right"] = story.right;
  json["harq"]["undetected_errors"] = story.undetected;
  json["block_errors"] = Wrong(story);
  json["bits_per_symbol"] = BitsPerSymbol(story, format);
  json["information_bits"] = story.blocks * plan.tb_bits;
  json["recovered_equals_sent"] = story.equal;
  return json;
}

}  // namespace

absl::StatusOr<DemoOutcome> RunNrDemo(const Session& session, const DemoInput& input,
                                      const HarqLink& link) {
  const TransportFormat& format = link.format();
  std::vector<HarqBlock> blocks = Divide(input.data, format.tb_bytes());
  NrStory story;
  story.file_bytes = static_cast<int64_t>(input.data.size());
  story.blocks = static_cast<int64_t>(blocks.size());
  story.sent.resize(static_cast<size_t>(link.transmissions()));
  story.right.resize(story.sent.size());

  ProgressBar bar(!session.flags().json);
  const auto part = static_cast<size_t>(std::max<int64_t>(1, kSoftBytes / format.soft_bytes()));
  DemoOutcome outcome;
  for (size_t first = 0; first < blocks.size(); first += part) {
    HarqBlocks some;
    for (size_t i = first; i < std::min(first + part, blocks.size()); ++i) {
      some.push_back(&blocks[i]);
    }
    const auto progress = [&] {
      bar.Show(static_cast<double>(first + some.size()) / static_cast<double>(blocks.size()),
               absl::StrCat(Plural(story.transmissions(), "transmission")));
    };
    if (absl::Status status = Send(session, link, some, progress, &story); !status.ok()) {
      return status;
    }
    for (HarqBlock* block : some) {
      outcome.recovered += block->decoded;
      *block = HarqBlock();
    }
  }
  outcome.recovered.resize(input.data.size());
  outcome.equal = story.equal = outcome.recovered == input.data;
  outcome.text = ToText(story, input, link);
  outcome.json = ToJson(story, input, link);
  return outcome;
}

}  // namespace baseband::ctl
