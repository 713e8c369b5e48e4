// `verify`: replays known answers against a server.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/sha256.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/ldpc/replay.h"
#include "common/files/files.h"
#include "kernels/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Lines "DIGEST  NAME" as sha256sum writes them.
std::map<std::string, std::string> ParseSums(absl::string_view text) {
  std::map<std::string, std::string> sums;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (parts.size() == 2 && parts[1].size() > 1) {
      sums[parts[1].substr(1)] = parts[0];
    }
  }
  return sums;
}

// Case numbers of a file rise within a group, and a group is in one piece: what the numbers and
// names themselves can reveal about a damaged file.
class OrderCheck {
 public:
  absl::Status Add(const KnownAnswer& answer) {
    const bool new_group = answer.group != group_ || first_;
    if (new_group && !groups_.insert(answer.group).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("group '", answer.group, "' goes on after another group"));
    }
    if (!new_group && answer.number <= number_) {
      return absl::InvalidArgumentError(
          absl::StrCat("case ", answer.number, " comes after case ", number_));
    }
    first_ = false;
    group_ = answer.group;
    number_ = answer.number;
    return absl::OkStatus();
  }

 private:
  bool first_ = true;
  std::string group_;
  int64_t number_ = 0;
  std::set<std::string> groups_;
};

void ReadCases(const std::string& file, absl::string_view text, std::vector<ReplayCase>* cases) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) {
    lines.pop_back();  // what follows the last line's end
  }
  OrderCheck order;
  const size_t before = cases->size();
  bool any_json = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    ReplayCase replay;
    replay.where = absl::StrCat(file, ":", i + 1);
    absl::StatusOr<KnownAnswer> answer = ParseKnownAnswer(lines[i]);
    replay.status = answer.status();
    any_json |= absl::StartsWith(absl::StripLeadingAsciiWhitespace(lines[i]), "{");
    if (answer.ok()) {
      replay.status.Update(order.Add(*answer));
      replay.answer = *std::move(answer);
    }
    cases->push_back(std::move(replay));
  }
  if (!any_json && lines.size() > 1) {
    cases->resize(before);
    ReplayCase other;
    other.where = file;
    other.status = absl::InvalidArgumentError(absl::StrCat(
        "is no file of known answers: none of its ", lines.size(), " lines is a JSON object"));
    cases->push_back(std::move(other));
  }
}

class VerifyCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "verify",
        "Replays known answers against the server.\n"
        "Each line of a FILE is one case in JSON, with information bits and the code word that"
        " Encode must give, or with LLRs and the bits that Decode must find; or of 5G NR a code"
        " block or transport block and what EncodeSharedChannel must send of it, or its"
        " transmissions, which DecodeSharedChannel must combine. Every bit is compared, and so is"
        " every field that follows from others; a line that cannot be read is a failed case. Exit"
        " code 0 only if there was a case and all passed, else 4.\n"
        "The noise in LLRs has no redundancy: a changed LLR is found if it becomes improbable, if"
        " the case is one of those published with the project, or if the file's folder holds"
        " SHA256SUMS with the file in it.");
    command->add_option("FILE", files_, "files of known answers, JSON lines")->required();
    command
        ->add_option("--sums", sums_file_,
                     "checksums of the files, as sha256sum writes them (SHA256SUMS in each"
                     " file's folder, if there)")
        ->type_name("FILE");
    AddDecodeFlags(command, &decode_);
    command->remove_option(command->get_option("--llr-scale"));
    command->footer(
        "Examples:\n"
        "  basebandctl verify tests/vectors/ldpc/*.jsonl\n"
        "  basebandctl verify nr_tb_chain.jsonl nr_tb_decode.jsonl\n"
        "  basebandctl verify noisy_decode.jsonl --algorithm=sum-product");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    absl::StatusOr<v1::DecodeGroup> group = ToDecodeGroup(decode_);
    std::vector<ReplayCase> cases;
    absl::Status status = group.status();
    for (const std::string& file : files_) {
      status.Update(AddFile(file, &cases));
    }
    if (!status.ok()) {
      return FailArguments(status);
    }
    const Session session(flags);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    ReplayAll(session.client(), flags, session.limits(), *group, &cases);
    return Report(flags, cases);
  }

 private:
  absl::Status AddFile(const std::string& file, std::vector<ReplayCase>* cases) const {
    BASEBAND_ASSIGN_OR_RETURN(std::string contents, ReadData(file));
    const std::string sums_path = sums_file_.empty() ? FolderOf(file) + "SHA256SUMS" : sums_file_;
    const absl::StatusOr<std::string> sums = ReadText(sums_path);
    if (!sums.ok() && !sums_file_.empty()) {
      return sums.status();
    }
    if (sums.ok()) {
      const auto known = ParseSums(*sums);
      const auto entry = known.find(file.substr(FolderOf(file).size()));
      if (entry != known.end() && entry->second != Sha256Hex(contents)) {
        ReplayCase damaged;
        damaged.where = file;
        damaged.status =
            absl::DataLossError(absl::StrCat("its checksum is not that in ", sums_path));
        cases->push_back(std::move(damaged));
      }
    }
    BASEBAND_ASSIGN_OR_RETURN(const std::string text, TextOf(file, std::move(contents)));
    ReadCases(file, text, cases);
    return absl::OkStatus();
  }

  static int Report(const GlobalFlags& flags, const std::vector<ReplayCase>& cases) {
    int64_t passed = 0;
    nlohmann::ordered_json failures = nlohmann::ordered_json::array();
    for (const ReplayCase& replay : cases) {
      if (replay.status.ok()) {
        ++passed;
        continue;
      }
      const std::string message(replay.status.message());
      if (flags.json) {
        failures.push_back({{"where", replay.where}, {"message", message}});
      } else {
        absl::PrintF("%s %s: %s\n", Bad("FAILED"), replay.where, message);
      }
    }
    const int64_t failed = static_cast<int64_t>(cases.size()) - passed;
    if (flags.json) {
      nlohmann::ordered_json json;
      json["passed"] = passed;
      json["failed"] = failed;
      json["failures"] = std::move(failures);
      absl::PrintF("%s\n", json.dump(2));
    } else {
      absl::PrintF("%d passed, %d failed\n", passed, failed);
    }
    return failed == 0 && passed > 0 ? kOk : kNegativeResult;
  }

  std::vector<std::string> files_;
  std::string sums_file_;
  DecodeFlags decode_;
};

}  // namespace

std::unique_ptr<Command> MakeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace baseband::ctl
