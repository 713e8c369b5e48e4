// `encode`: information bits of a file in, parity or code words out.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/ldpc/transfer.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

absl::StatusOr<v1::EncodeOutput> ParseOutput(const std::string& name) {
  if (name == "parity") {
    return v1::ENCODE_OUTPUT_PARITY;
  }
  if (name == "codeword") {
    return v1::ENCODE_OUTPUT_CODEWORD;
  }
  if (name == "full") {
    return v1::ENCODE_OUTPUT_FULL_CODEWORD;
  }
  return absl::InvalidArgumentError(NotOneOf("--output", name, {"parity", "codeword", "full"}));
}

class EncodeCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "encode",
        "Encodes the information bits of a file.\n"
        "The file holds whole blocks: k - filler bits each, most significant bit of a byte first,"
        " each block filled up to whole bytes with zeros. The output has the same form.");
    command->add_option("INPUT", input_, "file of information bits, - for standard input")
        ->required();
    command
        ->add_option("--out,-o", out_,
                     "file to write, raw bytes (-: standard output, also without -o)")
        ->type_name("FILE");
    command
        ->add_option("--output", output_,
                     "parity, codeword (the bits that are sent) or full (with the punctured"
                     " ones) (codeword)")
        ->type_name("WHAT");
    command->add_flag("--pad", pad_, "fill the last block up with zeros if the file ends inside");
    AddCodeFlags(command, &code_);
    command->footer(
        "Examples:\n"
        "  basebandctl encode bits.bin --nr-bg=1 --zc=384 --rows=24 -o words.bin\n"
        "  head -c 144 /dev/urandom | basebandctl encode - --wimax=1/2 --n=2304 |\n"
        "    xxd | head");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    v1::EncodeGroup group;
    std::string payload;
    if (absl::Status status = Prepare(&group, &payload); !status.ok()) {
      return FailArguments(status);
    }
    OutputFile* const out = outputs_.Open("--out", out_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    ProgressBar bar(!flags.json);
    const auto blocks =
        static_cast<double>(payload.size()) / static_cast<double>(BlockBytes(group));
    const auto encoded = EncodeBlocks(session, group, payload, [&](int64_t done) {
      bar.Show(static_cast<double>(done) / blocks, "encoding");
    });
    bar.Clear();
    if (!encoded.ok()) {
      return FailRpc(encoded.status());
    }
    out->Write(encoded->payload);
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    Report(flags, group, payload.size(), *encoded);
    return kOk;
  }

 private:
  absl::Status Prepare(v1::EncodeGroup* group, std::string* payload) {
    absl::StatusOr<v1::LdpcCode> code = ToLdpcCode(code_);
    const absl::StatusOr<v1::EncodeOutput> output = ParseOutput(output_);
    if (!code.ok() || !output.ok()) {
      return code.ok() ? output.status() : code.status();
    }
    *group->mutable_code() = *std::move(code);
    group->set_n_filler(code_.filler);
    group->set_output(*output);
    absl::StatusOr<std::string> contents = ReadData(input_);
    if (!contents.ok()) {
      return contents.status();
    }
    *payload = *std::move(contents);
    const int64_t block_bytes = BlockBytes(*group);
    if (const int64_t rest = static_cast<int64_t>(payload->size()) % block_bytes; rest != 0) {
      if (!pad_) {
        return absl::InvalidArgumentError(absl::StrCat(
            InputName(input_), " has ", payload->size(), " bytes, not a multiple of the ",
            block_bytes, " of a block; --pad fills it up with zeros"));
      }
      payload->resize(payload->size() + block_bytes - rest);
    }
    return payload->empty()
               ? absl::InvalidArgumentError(absl::StrCat(InputName(input_), " is empty"))
               : absl::OkStatus();
  }

  static int64_t BlockBytes(const v1::EncodeGroup& group) {
    return client::PackedBytes(client::ShapeOf(group.code())->k() - group.n_filler());
  }

  // On standard error when the data goes to standard output.
  void Report(const GlobalFlags& flags, const v1::EncodeGroup& group, size_t in_bytes,
              const Encoded& encoded) const {
    std::FILE* const stream = outputs_.report();
    const int64_t blocks = static_cast<int64_t>(in_bytes) / BlockBytes(group);
    const double info_bits =
        static_cast<double>(blocks) * (client::ShapeOf(group.code())->k() - group.n_filler());
    const double rate = info_bits / absl::ToDoubleSeconds(encoded.times.wall);
    if (flags.json) {
      nlohmann::ordered_json json;
      json["code"] = Describe(group.code());
      json["blocks"] = blocks;
      json["requests"] = encoded.times.requests;
      json["output_bytes"] = encoded.payload.size();
      json["seconds"] = absl::ToDoubleSeconds(encoded.times.wall);
      json["info_bits_per_second"] = rate;
      absl::FPrintF(stream, "%s\n", json.dump());
    } else {
      absl::FPrintF(stream, "%s of %s in %s: %s in %s, %s of information\n",
                    Plural(blocks, "block"), Describe(group.code()),
                    Plural(encoded.times.requests, "request"),
                    HumanBytes(static_cast<double>(encoded.payload.size())),
                    HumanDuration(encoded.times.wall), HumanRate(rate));
    }
  }

  std::string input_;
  std::string out_ = "-";
  std::string output_ = "codeword";
  bool pad_ = false;
  CodeFlags code_;
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeEncodeCommand() { return std::make_unique<EncodeCommand>(); }

}  // namespace baseband::ctl
