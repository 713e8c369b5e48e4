#include "server/config/list_settings.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/base/status_macros.h"
#include "server/config/address.h"
#include "server/config/cpu_list.h"
#include "server/config/setting_kinds.h"

namespace baseband::server {
namespace {

absl::Status SetDevice(absl::string_view name, const Values& values, Config* config) {
  absl::string_view text = values[0];
  DeviceSelection device;
  if (text == "auto" || text == "cpu") {
    device.kind = text == "cpu" ? DeviceSelection::Kind::kCpu : DeviceSelection::Kind::kAuto;
  } else if (absl::ConsumePrefix(&text, "cuda") &&
             (text.empty() || absl::ConsumePrefix(&text, ":"))) {
    device.kind = DeviceSelection::Kind::kCuda;
    std::set<int> seen;
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
      if (values[0] == "cuda") break;
      int ordinal = 0;
      if (!absl::SimpleAtoi(part, &ordinal) || ordinal < 0 || ordinal > 255) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " ", values[0], ": GPU '", part, "' is not in [0, 255]"));
      }
      if (!seen.insert(ordinal).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " ", values[0], " names GPU ", ordinal, " twice"));
      }
      device.cuda_ordinals.push_back(ordinal);
    }
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", values[0], " is not one of auto, cpu, cuda, cuda:0, cuda:0,1"));
  }
  config->device = device;
  return absl::OkStatus();
}

Values GetDevice(const Config& config) {
  switch (config.device.kind) {
    case DeviceSelection::Kind::kAuto:
      return {"auto"};
    case DeviceSelection::Kind::kCpu:
      return {"cpu"};
    case DeviceSelection::Kind::kCuda:
      break;
  }
  const std::vector<int>& ordinals = config.device.cuda_ordinals;
  return {absl::StrCat("cuda", ordinals.empty() ? "" : ":", absl::StrJoin(ordinals, ","))};
}

}  // namespace

Setting DeviceSetting() {
  Setting setting =
      Text("device", "auto|cpu|cuda[:i,j]",
           "What computes: every GPU that works, else the CPU; the CPU; all or some GPUs");
  setting.set = SetDevice;
  setting.get = GetDevice;
  return setting;
}

Setting ListenSetting() {
  Setting setting = Text("listen", "HOST:PORT|unix:PATH",
                         "Where to serve gRPC; repeatable. Other hosts only with --tls-cert");
  setting.repeats = true;
  setting.set = [](absl::string_view name, const Values& values, Config* config) {
    for (const std::string& value : values) {
      if (const absl::Status status = ParseAddress(value).status(); !status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " ", status.message()));
      }
    }
    config->listen = values;
    return absl::OkStatus();
  };
  setting.get = [](const Config& config) { return config.listen; };
  return setting;
}

Setting ClientShareSetting() {
  constexpr int kMaxWeight = 1000;
  constexpr char kEqual[] = "equal";
  Setting setting = Text(
      "client_share", "CLIENT=WEIGHT|equal",
      "Device time of a client beside others of its class, who have weight 1; 1..1000; repeatable");
  setting.repeats = true;
  setting.set = [=](absl::string_view name, const Values& values, Config* config) -> absl::Status {
    config->client_share.clear();
    if (values == Values{kEqual}) return absl::OkStatus();
    for (const std::string& value : values) {
      const size_t equals = value.rfind('=');
      if (equals == std::string::npos || equals == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " ", value, ": expected CLIENT=WEIGHT"));
      }
      const std::string client = value.substr(0, equals);
      if (config->client_share.count(client) > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " ", value, ": ", client, " has a weight already"));
      }
      BASEBAND_ASSIGN_OR_RETURN(config->client_share[client],
                                ParseInt(absl::StrCat(name, " ", value, ": weight"),
                                         value.substr(equals + 1), 1, kMaxWeight));
    }
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) {
    Values values;
    for (const auto& [client, weight] : config.client_share) {
      values.push_back(absl::StrCat(client, "=", weight));
    }
    return values.empty() ? Values{kEqual} : values;
  };
  return setting;
}

Setting CpusSetting() {
  constexpr char kAll[] = "all";
  Setting setting = Text("cpus", "LIST|all",
                         "Cores that its threads run on, such as 0-7,16; all: those it may use");
  setting.set = [=](absl::string_view name, const Values& values, Config* config) -> absl::Status {
    config->cpus.clear();
    if (values[0] == kAll) return absl::OkStatus();
    absl::StatusOr<std::set<int>> cpus = ParseCpuList(values[0]);
    if (!cpus.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ", values[0], ": ", cpus.status().message()));
    }
    config->cpus = *std::move(cpus);
    return absl::OkStatus();
  };
  setting.get = [=](const Config& config) {
    return Values{config.cpus.empty() ? kAll : FormatCpuList(config.cpus)};
  };
  return setting;
}

}  // namespace baseband::server
