#include "client/ctl/load/load_traffic.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/carrier/pulse_signal.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/priority_names.h"
#include "client/ctl/load/load_signals.h"
#include "client/ctl/shared_channel/early_stop.h"
#include "client/ctl/shared_channel/symbol_channel.h"

namespace baseband::ctl {
namespace {

constexpr NamedValue<Operation> kOperations[] = {
    {"encode", Operation::kEncode},
    {"decode", Operation::kDecode},
    {"encode-shared-channel", Operation::kEncodeSharedChannel},
    {"decode-shared-channel", Operation::kDecodeSharedChannel},
    {"recover", Operation::kRecover},
    {"downconvert", Operation::kDownconvert},
    {"minimize", Operation::kMinimize}};
constexpr NamedValue<const char*> kMethods[] = {
    {"encode", "/baseband.v1.Baseband/Encode"},
    {"decode", "/baseband.v1.Baseband/Decode"},
    {"encode-shared-channel", "/baseband.v1.Baseband/EncodeSharedChannel"},
    {"decode-shared-channel", "/baseband.v1.Baseband/DecodeSharedChannel"},
    {"recover", "/baseband.v1.Baseband/RecoverCarrier"},
    {"downconvert", "/baseband.v1.Baseband/Downconvert"},
    {"minimize", "/baseband.v1.Baseband/Minimize"}};

// Of a request that fits into a message.
constexpr int64_t kMostRequestBytes = int64_t{1} << 30;

bool IsCoding(const TrafficSpec& spec) {
  return spec.operation == Operation::kEncode || spec.operation == Operation::kDecode;
}

bool IsSharedChannel(const TrafficSpec& spec) {
  return spec.operation == Operation::kEncodeSharedChannel ||
         spec.operation == Operation::kDecodeSharedChannel;
}

bool IsDecoding(const TrafficSpec& spec) { return TakesHarq(spec.operation); }

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
  if (spec.harq > 0 && !code->has_nr()) {
    status.Update(absl::InvalidArgumentError("harq goes with decode of an NR code only"));
  }
  const client::CodeShape shape = *client::ShapeOf(*code);
  if (spec.decode.llr_count != 0) {
    status.Update(CheckRange("llr_count", spec.decode.llr_count, shape.k(), shape.sent()));
  }
  return status;
}

absl::Status CheckSharedChannel(const TrafficSpec& spec) {
  const absl::StatusOr<TransportFormat> format = ToTransportFormat(spec.format, spec.mcs);
  if (!format.ok()) {
    return format.status();
  }
  absl::Status status = CheckRange("harq", spec.harq, 0, 1);
  if (spec.snr_db.has_value()) {
    status.Update(CheckRange("snr", *spec.snr_db, -50, 80));
  }
  const std::vector<std::string> stops = NamesOfEarlyStops();
  if (std::find(stops.begin(), stops.end(), spec.early_stop) == stops.end()) {
    status.Update(absl::InvalidArgumentError(NotOneOf("early_stop", spec.early_stop, stops)));
  }
  const std::vector<std::string> inputs = NamesOfReceivedTypes();
  if (std::find(inputs.begin(), inputs.end(), spec.input) == inputs.end()) {
    status.Update(absl::InvalidArgumentError(NotOneOf("input", spec.input, inputs)));
  }
  if (!status.ok()) {
    return status;
  }
  const SymbolChannel channel(ParseReceivedType(spec.input), format->mcs.qm, /*snr_db=*/0);
  const int64_t most = kMostRequestBytes / (format->soft_bytes() +
                                            std::max(channel.SentBytes(format->num_symbols()),
                                                     channel.ReceivedBytes(format->num_symbols())));
  status.Update(CheckRange("blocks", spec.blocks, 1, static_cast<double>(most)));
  return status;
}

absl::Status CheckSamples(const TrafficSpec& spec) {
  if (spec.samples_per_symbol.empty()) {
    return spec.roll_off.has_value()
               ? absl::InvalidArgumentError("roll_off is of samples: say samples_per_symbol too")
               : absl::OkStatus();
  }
  const absl::Status status = ParseSamplesPerSymbol(spec.samples_per_symbol).status();
  return status.ok()
             ? CheckRange("roll_off", spec.roll_off.value_or(kRollOff), 0.05, 1)
             : absl::InvalidArgumentError(absl::StrCat("samples_per_symbol ", status.message()));
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
    case Operation::kEncodeSharedChannel:
    case Operation::kDecodeSharedChannel: {
      const TransportFormat format = *ToTransportFormat(spec.format, spec.mcs);
      return absl::StrCat(operation, " ", spec.blocks, " x ", format.Name(), ": ",
                          format.Describe());
    }
    case Operation::kRecover:
      return absl::StrCat(
          operation, " ", spec.blocks, " x ", spec.constellation,
          spec.samples_per_symbol.empty()
              ? ""
              : absl::StrCat(", ", ToText(*ParseSamplesPerSymbol(spec.samples_per_symbol)),
                             " samples a symbol"));
    case Operation::kDownconvert:
      return absl::StrCat(operation, " ", spec.samples, " samples, ", spec.channels, " channels");
    case Operation::kMinimize:
      break;
  }
  return absl::StrCat(operation, " ", spec.points, " points");
}

// Whether `points` are those of a constellation: of mean energy 1, all different.
bool IsConstellation(const NamedPoints& named, absl::string_view name) {
  double energy = 0;
  for (size_t i = 0; i < named.points.size(); ++i) {
    energy += std::norm(std::complex<double>(named.points[i]));
    for (size_t j = 0; j < i; ++j) {
      if (named.points[i] == named.points[j]) return false;
    }
  }
  return absl::EqualsIgnoreCase(named.name, name) && named.power >= 1 && named.power <= 64 &&
         std::abs(named.operating_snr_db) < 60 &&
         std::abs(energy / static_cast<double>(named.points.size()) - 1) < 1e-3;
}

bool AreEqual(const NamedPoints& a, const NamedPoints& b) {
  return a.name == b.name && a.points == b.points && a.symmetry == b.symmetry &&
         a.operating_snr_db == b.operating_snr_db && a.power == b.power;
}

// What two of three answers agree on; the other one, if it differs, is added to `wrong`.
absl::StatusOr<NamedPoints> ConfirmPoints(client::Client* client, const GlobalFlags& flags,
                                          const std::string& name, load::WrongAnswers* wrong) {
  constexpr int kTimes = 3;
  std::vector<NamedPoints> answers;
  std::vector<absl::Status> errors;  // that a wrong answer may be the cause of
  for (int i = 0; i < kTimes; ++i) {
    auto fetched = FetchPoints(client, flags, {name});
    if (fetched.ok() && IsConstellation(fetched->front(), name)) {
      answers.push_back(std::move(fetched->front()));
    } else if (fetched.ok() || absl::IsInternal(fetched.status()) ||
               absl::IsNotFound(fetched.status())) {
      errors.push_back(fetched.status());
    } else {
      return fetched.status();
    }
  }
  for (const NamedPoints& one : answers) {
    const auto agree = std::count_if(answers.begin(), answers.end(), [&](const NamedPoints& other) {
      return AreEqual(one, other);
    });
    if (agree > kTimes / 2) {
      wrong->Add(kTimes - agree, "GetCapabilities: answers differ in the points of " + name);
      return one;
    }
  }
  const bool errors_agree = errors.size() > kTimes / 2 && !errors.back().ok();
  return errors_agree
             ? errors.back()
             : absl::DataLossError("GetCapabilities: answers differ in the points of " + name);
}

absl::StatusOr<load::Request> MakeRequest(const TrafficSpec& spec, bool second,
                                          int kinds_of_devices, const NamedPoints& points,
                                          Random* random) {
  switch (spec.operation) {
    case Operation::kEncode:
      return EncodeRequest(spec, kinds_of_devices, random);
    case Operation::kDecode:
      return DecodeRequest(spec, second, kinds_of_devices, random);
    case Operation::kEncodeSharedChannel:
      return EncodeSharedRequest(spec, kinds_of_devices, random);
    case Operation::kDecodeSharedChannel:
      return DecodeSharedRequest(spec, second, kinds_of_devices, random);
    case Operation::kRecover:
      return CarrierRequest(points, spec, kinds_of_devices, random);
    case Operation::kDownconvert:
      return DownconvertRequest(spec, kinds_of_devices, random);
    case Operation::kMinimize:
      break;
  }
  return MinimizeRequest(spec, kinds_of_devices, random);
}

load::Settings SettingsOf(const TrafficSpec& spec, bool second) {
  switch (spec.operation) {
    case Operation::kDecode:
      return DecodeSettings(spec);
    case Operation::kEncodeSharedChannel:
      return EncodeSharedSettings();
    case Operation::kDecodeSharedChannel:
      return DecodeSharedSettings(spec, second);
    default:
      return {};
  }
}

absl::StatusOr<load::Workload> MakeWorkload(const TrafficSpec& spec, bool second,
                                            int kinds_of_devices, const NamedPoints& points,
                                            Random* random) {
  load::Workload workload;
  workload.name = absl::StrCat(NameOf(spec), second ? ", 2nd transmission" : "");
  workload.method = *FindValue(kMethods, "operation", NameOfOperation(spec.operation));
  if (spec.operation == Operation::kMinimize) {
    workload.essence = MinimizeEssence;
  }
  workload.settings = SettingsOf(spec, second);
  workload.weight = spec.weight * (second ? spec.harq : 1 - spec.harq);
  workload.deadline = spec.deadline;
  if (!spec.priority.empty()) {
    workload.priority = *FindValue(kPriorities, "priority", spec.priority);
  }
  if (IsCoding(spec)) {
    const int bits = client::ShapeOf(*CodeOf(spec))->k() - spec.code.filler;
    workload.info_bits = static_cast<double>(bits) * spec.blocks;
  }
  if (IsSharedChannel(spec)) {
    const TransportFormat format = *ToTransportFormat(spec.format, spec.mcs);
    workload.info_bits = static_cast<double>(format.plan.tb_bits) * spec.blocks;
  }
  if (IsDecoding(spec)) {
    workload.blocks = spec.blocks;
    const bool is_shared = IsSharedChannel(spec);
    workload.iterations = is_shared ? IterationsOf<v1::DecodeSharedChannelResponse>
                                    : IterationsOf<v1::DecodeResponse>;
    if (!(is_shared ? spec.snr_db : spec.ebn0_db).has_value()) {
      workload.if_all_fail = absl::StrCat(workload.name, ": no block decodes: say another ",
                                          is_shared ? "snr" : "ebn0", ", or more iterations");
    }
  }
  for (int i = 0; i < spec.variants; ++i) {
    auto request = MakeRequest(spec, second, kinds_of_devices, points, random);
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

bool TakesHarq(Operation operation) {
  return operation == Operation::kDecode || operation == Operation::kDecodeSharedChannel;
}

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
  if (!spec.priority.empty()) {
    status.Update(FindValue(kPriorities, "priority", spec.priority).status());
  }
  if (spec.operation == Operation::kRecover) {
    status.Update(CheckSamples(spec));
  }
  if (IsCoding(spec)) {
    status.Update(CheckCoding(spec));
  }
  if (IsSharedChannel(spec)) {
    status.Update(CheckSharedChannel(spec));
  }
  return status;
}

absl::StatusOr<Traffic> MakeTraffic(client::Client* client, const GlobalFlags& flags,
                                    const std::vector<TrafficSpec>& specs, int kinds_of_devices,
                                    uint64_t seed) {
  Traffic traffic;
  for (const TrafficSpec& spec : specs) {
    Random random(seed, traffic.workloads.size());
    NamedPoints points;
    if (spec.operation == Operation::kRecover) {
      auto confirmed = ConfirmPoints(client, flags, spec.constellation, &traffic.wrong);
      if (!confirmed.ok()) {
        return confirmed.status();
      }
      points = *std::move(confirmed);
    }
    for (const bool second : {false, true}) {
      if (second ? spec.harq == 0 : spec.harq == 1) continue;
      auto workload = MakeWorkload(spec, second, kinds_of_devices, points, &random);
      if (!workload.ok()) {
        return workload.status();
      }
      traffic.workloads.push_back(*std::move(workload));
    }
  }
  return traffic;
}

}  // namespace baseband::ctl
