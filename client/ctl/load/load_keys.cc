#include "client/ctl/load/load_keys.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace baseband::ctl {
namespace {

absl::Status SetBits(const Json& json, int64_t* value) {
  int number = 0;
  const absl::Status status = SetInteger(json, &number);
  *value = number;
  return status;
}

absl::Status SetFloat(const Json& json, float* value) {
  double number = 0;
  const absl::Status status = SetNumber(json, &number);
  *value = static_cast<float>(number);
  return status;
}

// A text such as 5/2, or a number.
absl::Status SetRate(const Json& json, std::string* value) {
  if (!json.is_number()) return SetText(json, value);
  *value = json.dump();
  return absl::OkStatus();
}

using Spec = TrafficSpec;
using Operations = std::vector<Operation>;
using Set = absl::Status (*)(const Json&, Spec*);

// "decode, decode-shared-channel".
std::string Names(const Operations& operations) {
  return absl::StrJoin(operations, ", ", [](std::string* out, Operation operation) {
    absl::StrAppend(out, NameOfOperation(operation));
  });
}

std::vector<TrafficKey> MakeTrafficKeys() {
  const Operations all;
  const Operations coding = {Operation::kEncode, Operation::kDecode};
  const Operations decode = {Operation::kDecode};
  const Operations shared = {Operation::kEncodeSharedChannel, Operation::kDecodeSharedChannel};
  const Operations shared_decode = {Operation::kDecodeSharedChannel};
  const Operations decoding = {Operation::kDecode, Operation::kDecodeSharedChannel};
  const Operations of_blocks = {Operation::kEncode, Operation::kDecode,
                                Operation::kEncodeSharedChannel, Operation::kDecodeSharedChannel,
                                Operation::kRecover};
  const Operations recover = {Operation::kRecover};
  const Operations downconvert = {Operation::kDownconvert};
  const Operations minimize = {Operation::kMinimize};
  std::vector<TrafficKey> keys;
  const auto add = [&keys](const Operations& operations, const char* name, Set set) {
    TrafficKey& key = keys.emplace_back();
    key.name = name;
    key.set = set;
    key.operations = operations;
  };
  add(all, "operation",
      [](const Json& j, Spec* s) { return SetNamed(j, &ParseOperation, &s->operation); });
  add(all, "name", [](const Json& j, Spec* s) { return SetText(j, &s->name); });
  add(all, "weight", [](const Json& j, Spec* s) { return SetNumber(j, &s->weight); });
  add(all, "deadline", [](const Json& j, Spec* s) { return SetDuration(j, &s->deadline); });
  add(all, "priority", [](const Json& j, Spec* s) { return SetText(j, &s->priority); });
  add(all, "variants", [](const Json& j, Spec* s) { return SetInteger(j, &s->variants); });
  add(coding, "nr_bg", [](const Json& j, Spec* s) { return SetInteger(j, &s->code.nr_bg); });
  add(coding, "wimax", [](const Json& j, Spec* s) { return SetText(j, &s->code.wimax_rate); });
  add(coding, "wifi", [](const Json& j, Spec* s) { return SetText(j, &s->code.wifi_rate); });
  add(coding, "matrix", [](const Json& j, Spec* s) { return SetText(j, &s->code.matrix_file); });
  add(coding, "zc", [](const Json& j, Spec* s) { return SetInteger(j, &s->code.zc); });
  add(coding, "n", [](const Json& j, Spec* s) { return SetInteger(j, &s->code.n); });
  add(coding, "rows", [](const Json& j, Spec* s) { return SetInteger(j, &s->code.rows); });
  add(coding, "punctured",
      [](const Json& j, Spec* s) { return SetInteger(j, &s->code.punctured); });
  add(coding, "filler", [](const Json& j, Spec* s) { return SetInteger(j, &s->code.filler); });
  add(decode, "algorithm", [](const Json& j, Spec* s) { return SetText(j, &s->decode.algorithm); });
  add(decode, "schedule", [](const Json& j, Spec* s) { return SetText(j, &s->decode.schedule); });
  add(decoding, "iterations",
      [](const Json& j, Spec* s) { return SetInteger(j, &s->decode.iterations); });
  add(decode, "fixed", [](const Json& j, Spec* s) { return SetBool(j, &s->decode.fixed); });
  add(decoding, "scale_factor",
      [](const Json& j, Spec* s) { return SetFloat(j, &s->decode.scale_factor); });
  add(decode, "llr_scale",
      [](const Json& j, Spec* s) { return SetFloat(j, &s->decode.llr_scale); });
  add(decode, "llr_count",
      [](const Json& j, Spec* s) { return SetInteger(j, &s->decode.llr_count); });
  add(of_blocks, "blocks", [](const Json& j, Spec* s) { return SetInteger(j, &s->blocks); });
  add(decode, "ebn0", [](const Json& j, Spec* s) { return SetNumber(j, &s->ebn0_db.emplace()); });
  add(decoding, "harq", [](const Json& j, Spec* s) { return SetNumber(j, &s->harq); });
  add(shared, "mcs", [](const Json& j, Spec* s) { return SetInteger(j, &s->mcs.emplace()); });
  add(shared, "mcs_table", [](const Json& j, Spec* s) { return SetInteger(j, &s->format.table); });
  add(shared, "qm", [](const Json& j, Spec* s) { return SetInteger(j, &s->format.qm); });
  add(shared, "code_rate",
      [](const Json& j, Spec* s) { return SetNumber(j, &s->format.code_rate); });
  add(shared, "layers", [](const Json& j, Spec* s) { return SetInteger(j, &s->format.layers); });
  add(shared, "prbs", [](const Json& j, Spec* s) { return SetInteger(j, &s->format.prbs); });
  add(shared, "tbs_lbrm", [](const Json& j, Spec* s) { return SetBits(j, &s->format.tbs_lbrm); });
  add(shared_decode, "snr",
      [](const Json& j, Spec* s) { return SetNumber(j, &s->snr_db.emplace()); });
  add(shared_decode, "input", [](const Json& j, Spec* s) { return SetText(j, &s->input); });
  add(shared_decode, "early_stop",
      [](const Json& j, Spec* s) { return SetText(j, &s->early_stop); });
  add(recover, "constellation",
      [](const Json& j, Spec* s) { return SetText(j, &s->constellation); });
  add(recover, "frames", [](const Json& j, Spec* s) { return SetInteger(j, &s->blocks); });
  add(recover, "frame_symbols",
      [](const Json& j, Spec* s) { return SetInteger(j, &s->frame_symbols); });
  add(recover, "samples_per_symbol",
      [](const Json& j, Spec* s) { return SetRate(j, &s->samples_per_symbol); });
  add(recover, "roll_off",
      [](const Json& j, Spec* s) { return SetNumber(j, &s->roll_off.emplace()); });
  add(downconvert, "samples", [](const Json& j, Spec* s) { return SetInteger(j, &s->samples); });
  add(downconvert, "channels", [](const Json& j, Spec* s) { return SetInteger(j, &s->channels); });
  add(minimize, "points", [](const Json& j, Spec* s) { return SetInteger(j, &s->points); });
  return keys;
}

}  // namespace

bool TrafficKey::IsFor(Operation operation) const {
  return operations.empty() ||
         std::find(operations.begin(), operations.end(), operation) != operations.end();
}

const std::vector<TrafficKey>& TrafficKeys() {
  static const auto* const keys = new std::vector<TrafficKey>(MakeTrafficKeys());
  return *keys;
}

const TrafficKey* KeyOfFlag(const std::string& flag) {
  for (const TrafficKey& key : TrafficKeys()) {
    if (flag == absl::StrCat("--", absl::StrReplaceAll(key.name, {{"_", "-"}}))) return &key;
  }
  return nullptr;
}

void TellOperations(CLI::App* app) {
  for (CLI::Option* const option : app->get_options()) {
    const TrafficKey* const key = KeyOfFlag(option->get_name());
    if (key == nullptr || key->operations.empty()) continue;
    option->description(absl::StrCat(Names(key->operations), ": ", option->get_description()));
  }
}

std::string DoesNotGo(const TrafficKey& key, const std::vector<Operation>& operations) {
  Operations others;
  for (const Operation operation : operations) {
    if (std::find(others.begin(), others.end(), operation) == others.end()) {
      others.push_back(operation);
    }
  }
  return absl::StrCat("goes with ", Names(key.operations), ", not with ", Names(others));
}

absl::Status CheckFlags(const CLI::App& app, const std::vector<Operation>& operations) {
  for (const CLI::Option* const option : app.get_options()) {
    const TrafficKey* const key = option->count() > 0 ? KeyOfFlag(option->get_name()) : nullptr;
    const bool goes =
        key == nullptr || std::any_of(operations.begin(), operations.end(),
                                      [key](Operation operation) { return key->IsFor(operation); });
    if (!goes) {
      return absl::InvalidArgumentError(
          absl::StrCat(option->get_name(), " ", DoesNotGo(*key, operations)));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::ctl
