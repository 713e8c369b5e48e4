#include "client/ctl/load/load_traffic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/load/load_signals.h"
#include "client/ctl/minimize/named_value.h"

namespace baseband::ctl {
namespace {

constexpr NamedValue<Operation> kOperations[] = {{"encode", Operation::kEncode},
                                                 {"decode", Operation::kDecode},
                                                 {"recover", Operation::kRecover},
                                                 {"downconvert", Operation::kDownconvert},
                                                 {"minimize", Operation::kMinimize}};
constexpr NamedValue<const char*> kMethods[] = {
    {"encode", "/baseband.v1.Baseband/Encode"},
    {"decode", "/baseband.v1.Baseband/Decode"},
    {"recover", "/baseband.v1.Baseband/RecoverCarrier"},
    {"downconvert", "/baseband.v1.Baseband/Downconvert"},
    {"minimize", "/baseband.v1.Baseband/Minimize"}};

bool IsCoding(const TrafficSpec& spec) {
  return spec.operation == Operation::kEncode || spec.operation == Operation::kDecode;
}

absl::Status CheckRange(const char* field, double value, double low, double high) {
  return value >= low && value <= high
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
}

absl::Status CheckCoding(const TrafficSpec& spec) {
  const absl::StatusOr<v1::LdpcCode> code = CodeOf(spec);
  if (!code.ok()) {
    return code.status();
  }
  absl::Status status = ToDecodeGroup(spec.decode).status();
  status.Update(CheckRange("harq", spec.harq, 0, 1));
  if (spec.harq > 0 && (!code->has_nr() || spec.operation != Operation::kDecode)) {
    status.Update(absl::InvalidArgumentError("harq goes with decode of an NR code only"));
  }
  const client::CodeShape shape = *client::ShapeOf(*code);
  if (spec.decode.llr_count != 0) {
    status.Update(CheckRange("llr_count", spec.decode.llr_count, shape.k(), shape.sent()));
  }
  return status;
}

std::string NameOf(const TrafficSpec& spec) {
  const std::string operation = NameOfOperation(spec.operation);
  if (!spec.name.empty()) {
    return spec.name;
  }
  switch (spec.operation) {
    case Operation::kEncode:
    case Operation::kDecode:
      return absl::StrCat(operation, " ", spec.blocks, " x ", Describe(*CodeOf(spec)));
    case Operation::kRecover:
      return absl::StrCat(operation, " ", spec.blocks, " x ", spec.constellation);
    case Operation::kDownconvert:
      return absl::StrCat(operation, " ", spec.samples, " samples, ", spec.channels, " channels");
    case Operation::kMinimize:
      break;
  }
  return absl::StrCat(operation, " ", spec.points, " points");
}

absl::StatusOr<load::Request> MakeRequest(client::Client* client, const GlobalFlags& flags,
                                          const TrafficSpec& spec, bool second,
                                          const std::vector<NamedPoints>& points, Random* random) {
  switch (spec.operation) {
    case Operation::kEncode:
      return EncodeRequest(client, flags, spec, random);
    case Operation::kDecode:
      return DecodeRequest(client, flags, spec, second, random);
    case Operation::kRecover:
      return CarrierRequest(points.front(), spec, random);
    case Operation::kDownconvert:
      return DownconvertRequest(spec, random);
    case Operation::kMinimize:
      break;
  }
  return MinimizeRequest(spec, random);
}

absl::StatusOr<load::Workload> MakeWorkload(client::Client* client, const GlobalFlags& flags,
                                            const TrafficSpec& spec, bool second, Random* random) {
  load::Workload workload;
  workload.name = absl::StrCat(NameOf(spec), second ? ", 2nd transmission" : "");
  workload.method = *FindValue(kMethods, "operation", NameOfOperation(spec.operation));
  workload.has_timing = spec.operation != Operation::kMinimize;
  workload.weight = spec.weight * (second ? spec.harq : 1 - spec.harq);
  workload.deadline = spec.deadline;
  workload.priority = spec.priority;
  if (IsCoding(spec)) {
    const int bits = client::ShapeOf(*CodeOf(spec))->k() - spec.code.filler;
    workload.info_bits = static_cast<double>(bits) * spec.blocks;
  }
  std::vector<NamedPoints> points;
  if (spec.operation == Operation::kRecover) {
    auto fetched = FetchPoints(client, flags, {spec.constellation});
    if (!fetched.ok()) {
      return fetched.status();
    }
    points = *std::move(fetched);
  }
  for (int i = 0; i < spec.variants; ++i) {
    auto request = MakeRequest(client, flags, spec, second, points, random);
    if (!request.ok()) {
      return request.status();
    }
    workload.requests.push_back(*std::move(request));
  }
  return workload;
}

}  // namespace

absl::StatusOr<Operation> ParseOperation(absl::string_view name) {
  return FindValue(kOperations, "operation", name);
}

std::string NameOfOperation(Operation operation) { return ctl::NameOf(kOperations, operation); }

absl::Status Check(const TrafficSpec& spec) {
  absl::Status status = CheckRange("variants", spec.variants, 1, 64);
  status.Update(CheckRange("blocks", spec.blocks, 1, 65536));
  status.Update(CheckRange("samples", spec.samples, 128, 1 << 24));
  status.Update(CheckRange("channels", spec.channels, 1, 1024));
  status.Update(CheckRange("points", spec.points, 1, 1e9));
  if (spec.frame_symbols != 0) {
    status.Update(CheckRange("frame_symbols", spec.frame_symbols, 16, 1 << 20));
  }
  if (!(spec.weight > 0) || !std::isfinite(spec.weight)) {
    status.Update(absl::InvalidArgumentError(absl::StrCat("weight ", spec.weight, " is not > 0")));
  }
  if (!(spec.deadline > absl::ZeroDuration())) {
    status.Update(absl::InvalidArgumentError("deadline is not > 0"));
  }
  constexpr NamedValue<int> kPriorities[] = {{"high", 0}, {"normal", 1}, {"low", 2}};
  if (!spec.priority.empty()) {
    status.Update(FindValue(kPriorities, "priority", spec.priority).status());
  }
  if (IsCoding(spec)) {
    status.Update(CheckCoding(spec));
  }
  return status;
}

absl::StatusOr<std::vector<load::Workload>> MakeTraffic(client::Client* client,
                                                        const GlobalFlags& flags,
                                                        const std::vector<TrafficSpec>& specs,
                                                        uint64_t seed) {
  std::vector<load::Workload> workloads;
  for (const TrafficSpec& spec : specs) {
    Random random(seed, workloads.size());
    for (const bool second : {false, true}) {
      if (second ? spec.harq == 0 : spec.harq == 1) continue;
      auto workload = MakeWorkload(client, flags, spec, second, &random);
      if (!workload.ok()) {
        return workload.status();
      }
      workloads.push_back(*std::move(workload));
    }
  }
  return workloads;
}

}  // namespace baseband::ctl
