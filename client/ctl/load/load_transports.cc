#include "client/ctl/load/load_transports.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cpp/shared_arena.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/table.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/load/load_report.h"
#include "kernels/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

struct Name {
  const char* name;
  TransportKind kind;
};
constexpr std::array<Name, 5> kTransportNames = {{{"tcp", TransportKind::kTcp},
                                                  {"uds", TransportKind::kUds},
                                                  {"submit", TransportKind::kSubmit},
                                                  {"shm", TransportKind::kShm},
                                                  {"ring", TransportKind::kRing}}};

absl::Status CheckTarget(const Transport& transport) {
  const bool is_unix = absl::StartsWith(transport.target, "unix:");
  if ((transport.kind == TransportKind::kTcp && is_unix) ||
      (transport.kind == TransportKind::kUds && !is_unix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--transports ", transport.name, ": the target is ", transport.target,
                     ": say ", transport.name, is_unix ? "=HOST:PORT" : "=unix:PATH"));
  }
  return absl::OkStatus();
}

std::string Seconds(double seconds) { return seconds == 0 ? "" : absl::StrFormat("%.4f", seconds); }

}  // namespace

absl::StatusOr<std::vector<Transport>> ParseTransports(const std::string& text,
                                                       const std::string& target) {
  std::vector<Transport> transports;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    const auto* const found =
        std::find_if(kTransportNames.begin(), kTransportNames.end(),
                     [&](const Name& known) { return parts.first == known.name; });
    if (found == kTransportNames.end()) {
      std::vector<std::string> known;
      for (const Name& name : kTransportNames) known.emplace_back(name.name);
      return absl::InvalidArgumentError(NotOneOf("--transports", parts.first, known));
    }
    Transport transport{found->kind, parts.first, parts.second.empty() ? target : parts.second};
    for (const Transport& other : transports) {
      if (other.kind == transport.kind) {
        return absl::InvalidArgumentError(
            absl::StrCat("--transports names ", transport.name, " twice"));
      }
    }
    BASEBAND_RETURN_IF_ERROR(CheckTarget(transport));
    transports.push_back(std::move(transport));
  }
  return transports;
}

bool IsByMemory(const Transport& transport) {
  return transport.kind == TransportKind::kShm || transport.kind == TransportKind::kRing;
}

absl::Status Choose(const Transport& transport, const v1::SharedMemoryCapabilities& shared,
                    load::LoadSpec* spec) {
  spec->client.target = transport.target;
  spec->stream = transport.kind == TransportKind::kSubmit;
  if (transport.kind == TransportKind::kShm) {
    BASEBAND_ASSIGN_OR_RETURN(spec->arena, client::SharedArena::Connect(shared, 1));
  }
  if (transport.kind == TransportKind::kRing) spec->rings = shared;
  return absl::OkStatus();
}

std::string ToText(const TransportResults& results) {
  TextTable table({{"transport", false},
                   {"good/s"},
                   {"not good"},
                   {"mean"},
                   {"p50"},
                   {"p99"},
                   {"client s/Gbit"},
                   {"server s/Gbit"}});
  for (const auto& [transport, result] : results) {
    const load::Tally all = result.totals.All();
    table.Add({transport.name + (result.spec.in_place ? ", in place" : ""),
               absl::StrFormat("%.1f", result.Goodput()), MissedText(all.outcomes),
               MeanText(all.latency), QuantileText(all.latency, 0.5),
               QuantileText(all.latency, 0.99), Seconds(result.ClientCpuPerGbit()),
               Seconds(result.ServerCpuPerGbit())});
  }
  return table.ToText();
}

nlohmann::ordered_json ToJson(const TransportResults& results) {
  Table table;
  for (const auto& [transport, result] : results) {
    const load::Tally all = result.totals.All();
    const auto seconds = [&all](double quantile) {
      return static_cast<double>(all.latency.Quantile(quantile)) * 1e-9;
    };
    table.Add({{"transport", transport.name},
               {"target", transport.target},
               {"payloads", result.spec.in_place ? "in place" : "copied"},
               {"good_per_s", result.Goodput()},
               {"wrong", static_cast<double>(all.outcomes[load::Outcome::kWrong])},
               {"missed_share", all.outcomes.MissShare()},
               {"p50_s", seconds(0.5)},
               {"p99_s", seconds(0.99)},
               {"client_cpu_s_per_gbit", result.ClientCpuPerGbit()},
               {"server_cpu_s_per_gbit", result.ServerCpuPerGbit()}});
  }
  return {{"transports", table.ToJson()}};
}

}  // namespace baseband::ctl
