// `demo`: a file through Encode, a noisy channel and Decode, and back.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/ldpc/error_rate.h"
#include "client/ctl/ldpc/transfer.h"
#include "kernels/base/steady_time.h"
#include "nlohmann/json.hpp"

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

nlohmann::ordered_json StagesToJson(const TransferTimes& times) {
  nlohmann::ordered_json json;
  json["seconds"] = absl::ToDoubleSeconds(times.wall);
  json["requests"] = times.requests;
  json["mean_receive_us"] = times.receive_us;
  json["mean_queue_us"] = times.queue_us;
  json["mean_copy_in_us"] = times.copy_in_us;
  json["mean_h2d_us"] = times.h2d_us;
  json["mean_kernel_us"] = times.kernel_us;
  json["mean_d2h_us"] = times.d2h_us;
  json["mean_batch_blocks"] = times.batch_blocks;
  json["mean_batch_requests"] = times.batch_requests;
  return json;
}

void PrintJson(const Story& story, std::FILE* stream) {
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
  json["encode"] = StagesToJson(story.encode);
  json["channel"]["bit_errors"] = story.channel_errors;
  json["channel"]["seconds"] = absl::ToDoubleSeconds(story.channel_time);
  json["decode"] = StagesToJson(story.decode);
  json["decode"]["parity_failures"] = story.parity_failures;
  json["decode"]["block_errors"] = story.errors.frame_errors();
  json["decode"]["bit_errors"] = story.errors.bit_errors();
  json["decode"]["mean_iterations"] = story.errors.mean_iterations();
  json["recovered_equals_sent"] = story.equal;
  absl::FPrintF(stream, "%s\n", json.dump(2));
}

std::string Rate(int64_t bits, absl::Duration time) {
  return HumanRate(static_cast<double>(bits) / absl::ToDoubleSeconds(time));
}

void PrintServerTimes(const TransferTimes& times, std::FILE* stream) {
  const auto us = [](double value) { return HumanDuration(absl::Microseconds(value)); };
  absl::FPrintF(stream, "           server, mean of %s: receive %s, queue %s, prepare %s,\n",
                Plural(times.requests, "request"), us(times.receive_us), us(times.queue_us),
                us(times.copy_in_us));
  absl::FPrintF(stream, "           to device %s, kernels %s, back %s; %s blocks a batch\n",
                us(times.h2d_us), us(times.kernel_us), us(times.d2h_us),
                HumanCount(times.batch_blocks));
}

void PrintHuman(const Story& story, std::FILE* stream) {
  absl::FPrintF(stream, "file       %s, %s\n", story.file,
                HumanBytes(static_cast<double>(story.file_bytes)));
  absl::FPrintF(stream, "code       %s, rate %.3f\n", story.code, story.rate);
  absl::FPrintF(stream, "segments   %s of %d information bits\n", Plural(story.blocks, "block"),
                story.info_bits / story.blocks);
  absl::FPrintF(stream, "encode     %s -> %s bits in %s, %s\n",
                HumanCount(static_cast<double>(story.info_bits)),
                HumanCount(static_cast<double>(story.code_bits)), HumanDuration(story.encode.wall),
                Rate(story.info_bits, story.encode.wall));
  PrintServerTimes(story.encode, stream);
  absl::FPrintF(
      stream, "channel    BPSK, Eb/N0 %.2f dB: %d of %s bits wrong (%.2f %%), %s\n", story.ebn0_db,
      story.channel_errors, HumanCount(static_cast<double>(story.code_bits)),
      100.0 * static_cast<double>(story.channel_errors) / static_cast<double>(story.code_bits),
      HumanDuration(story.channel_time));
  for (const auto& [ebn0_db, wrong] : story.too_little) {
    absl::FPrintF(stream, "           before, at %.2f dB: %d of %s wrong\n", ebn0_db, wrong,
                  Plural(story.blocks, "block"));
  }
  absl::FPrintF(stream, "decode     %s LLRs -> %s bits in %s, %s\n",
                HumanCount(static_cast<double>(story.code_bits)),
                HumanCount(static_cast<double>(story.info_bits)), HumanDuration(story.decode.wall),
                Rate(story.info_bits, story.decode.wall));
  PrintServerTimes(story.decode, stream);
  absl::FPrintF(stream, "result     %d of %s wrong (%s failed the parity check), %d bits wrong,\n",
                story.errors.frame_errors(), Plural(story.blocks, "block"),
                Plural(story.parity_failures, "block"), story.errors.bit_errors());
  absl::FPrintF(stream, "           %.2f iterations on average\n", story.errors.mean_iterations());
  absl::FPrintF(stream, "%s\n",
                story.equal ? Good("OK: the recovered file equals the sent one.")
                            : Bad("FAILED: the recovered file differs from the sent one."));
}

class DemoCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "demo",
        "Sends a file through Encode, a noisy channel and Decode, and compares.\n"
        "The file is cut into code blocks, encoded by the server, sent as BPSK over white Gaussian"
        " noise (here, with a fixed seed), turned into 8-bit LLRs, decoded by the server, and put"
        " together again. Exit code 0 if the result equals the file, else 4. Without code flags:"
        " 5G NR BG1, Zc=384, rate 1/2.");
    command->add_option("FILE", file_, "any file (1 MiB of random data)");
    command->add_option("--out,-o", out_, "write the recovered file here")->type_name("FILE");
    AddNumber(command, "--ebn0", "DB", &ebn0_db_, Between(-100, 200),
              "Eb/N0 of the channel (one where all decodes: more, until it does)");
    AddNumber(command, "--seed", "N", &seed_, kSeeds, "of the noise and of the random data (1)");
    AddCodeFlags(command, &code_);
    command->remove_option(command->get_option("--filler"));
    AddDecodeFlags(command, &decode_);
    command->footer(
        "Examples:\n"
        "  basebandctl demo\n"
        "  basebandctl demo photo.jpg --ebn0=1.2 --out=recovered.jpg\n"
        "  basebandctl demo --wifi=5/6 --n=1944 --algorithm=sum-product");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    absl::StatusOr<std::string> data =
        file_.empty() ? absl::StatusOr<std::string>(Random(seed_).Bytes(1 << 20)) : ReadFile(file_);
    if (data.ok() && data->empty()) {
      data = absl::InvalidArgumentError(absl::StrCat(file_, " is empty"));
    }
    if (!code_.any()) {
      code_.nr_bg = 1;
      code_.rows = code_.rows == 0 ? 24 : code_.rows;
    }
    const absl::StatusOr<v1::LdpcCode> code = ToLdpcCode(code_);
    const absl::StatusOr<v1::DecodeGroup> group = ToDecodeGroup(decode_);
    for (const absl::Status& status : {data.status(), code.status(), group.status()}) {
      if (!status.ok()) {
        return FailArguments(status);
      }
    }
    out_file_ = outputs_.Open("--out", out_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    return RunStages(session, *code, *group, *data);
  }

 private:
  int RunStages(const Session& session, const v1::LdpcCode& code, v1::DecodeGroup decode_group,
                const std::string& data) {
    const client::CodeShape shape = *client::ShapeOf(code);
    Story story;
    story.file = file_.empty() ? "(random data)" : file_;
    story.file_bytes = static_cast<int64_t>(data.size());
    story.code = Describe(code);
    story.rate = static_cast<double>(shape.k()) / shape.sent();
    story.ebn0_db = std::isnan(ebn0_db_)
                        ? std::round(10 * ComfortableEbN0(story.rate, shape.k())) / 10
                        : ebn0_db_;
    const std::string sent = Segment(data, shape.k());
    const int64_t block_bytes = PackedBytes(shape.k());
    story.blocks = static_cast<int64_t>(sent.size()) / block_bytes;
    story.info_bits = story.blocks * shape.k();
    story.code_bits = story.blocks * shape.sent();

    const bool json = session.flags().json;
    ProgressBar bar(!json);
    const auto show = [&](double base, const char* stage) {
      return [&bar, base, stage, blocks = static_cast<double>(story.blocks)](int64_t done) {
        bar.Show(base + static_cast<double>(done) / blocks / 3, stage);
      };
    };
    v1::EncodeGroup encode_group;
    *encode_group.mutable_code() = code;
    encode_group.set_output(v1::ENCODE_OUTPUT_CODEWORD);
    const absl::StatusOr<Encoded> encoded =
        EncodeBlocks(session, encode_group, sent, show(0, "encoding"));
    if (!encoded.ok()) {
      bar.Clear();
      return FailRpc(encoded.status());
    }
    story.encode = encoded->times;

    *decode_group.mutable_code() = code;
    absl::StatusOr<Decoded> decoded;
    for (double more = 1;; more *= 2) {
      story.channel_errors = 0;
      const std::string llr = Transmit(encoded->payload, shape, &story, show(1.0 / 3, "channel"));
      decoded = DecodeBlocks(session, decode_group, llr, show(2.0 / 3, "decoding"));
      if (!decoded.ok()) {
        bar.Clear();
        return FailRpc(decoded.status());
      }
      CountErrors(sent, *decoded, shape.k(), &story);
      // The default suits good codes and decoders; of others nobody knows what they need.
      if (!std::isnan(ebn0_db_) || story.errors.frame_errors() == 0 || more > kMostMoreDb) {
        break;
      }
      story.too_little.emplace_back(story.ebn0_db, story.errors.frame_errors());
      story.ebn0_db += more;
    }
    bar.Clear();
    story.decode = decoded->times;
    const std::string recovered = Reassemble(decoded->payload, shape.k(), story.file_bytes);
    story.equal = recovered == data;
    if (out_file_ != nullptr) {
      out_file_->Write(recovered);
    }
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    json ? PrintJson(story, outputs_.report()) : PrintHuman(story, outputs_.report());
    return story.equal ? kOk : kNegativeResult;
  }

  static void CountErrors(const std::string& sent, const Decoded& decoded, int k, Story* story) {
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
  std::string Transmit(const std::string& codewords, const client::CodeShape& shape, Story* story,
                       const OnProgress& progress) const {
    const AwgnChannel channel(NoiseVariance(story->ebn0_db, story->rate), decode_.llr_scale);
    Random random(seed_, /*stream=*/1);
    std::string llr(story->code_bits, '\0');
    const int64_t block_bytes = PackedBytes(shape.sent());
    const absl::Time begin = SteadyNow();
    for (int64_t b = 0; b < story->blocks; ++b) {
      story->channel_errors += channel.Transmit(
          absl::string_view(codewords).substr(b * block_bytes, block_bytes), shape.sent(), &random,
          reinterpret_cast<int8_t*>(&llr[b * shape.sent()]));
      progress(b + 1);
    }
    story->channel_time = SteadyNow() - begin;
    return llr;
  }

  std::string file_;
  std::string out_;
  double ebn0_db_ = NAN;
  uint64_t seed_ = 1;
  CodeFlags code_;
  DecodeFlags decode_;
  Outputs outputs_;
  OutputFile* out_file_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeDemoCommand() { return std::make_unique<DemoCommand>(); }

}  // namespace baseband::ctl
