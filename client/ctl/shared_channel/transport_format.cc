#include "client/ctl/shared_channel/transport_format.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/terminal.h"
#include "kernels/nr/scrambling.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr int kDefaultTable = 2;
constexpr int kDefaultMcs = 16;
constexpr int kMostPrbs = 275;
constexpr int kMostLayers = 4;  // of a code word
constexpr double kMostCodeRate = 0.95;
// Who is served: any user of any cell, so that bits are scrambled.
constexpr int kRnti = 0x4601;
constexpr int kCell = 1;

// Flags are in their ranges; what a file says may not be.
absl::Status CheckRange(const char* field, int value, int most) {
  return value >= 1 && value <= most ? absl::OkStatus()
                                     : absl::InvalidArgumentError(absl::StrCat(
                                           field, " ", value, " is not in [1, ", most, "]"));
}

// The modulation and coding that the flags name.
absl::Status SetMcs(const FormatFlags& flags, const absl::optional<int>& mcs,
                    TransportFormat* format) {
  const bool own = flags.qm != 0 || flags.code_rate != 0;
  if (!own) {
    format->table = flags.table == 0 ? kDefaultTable : flags.table;
    format->index = mcs.value_or(kDefaultMcs);
    const absl::StatusOr<nr::Mcs> known = nr::McsOf(format->table, *format->index);
    if (!known.ok()) {
      return known.status();
    }
    format->mcs = *known;
    return absl::OkStatus();
  }
  for (const auto& [flag, given] :
       {std::pair("--mcs", mcs.has_value()), std::pair("--mcs-table", flags.table != 0)}) {
    if (given) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " does not go with --qm and --code-rate, which say it all"));
    }
  }
  if (flags.qm == 0 || flags.code_rate == 0) {
    return absl::InvalidArgumentError(flags.qm == 0 ? "--code-rate needs --qm"
                                                    : "--qm needs --code-rate");
  }
  if (flags.qm < 1 || flags.qm > nr::kMaxQm || (flags.qm > 2 && flags.qm % 2 != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("qm ", flags.qm, " is not 1, 2, 4, 6, 8 or 10"));
  }
  if (!(flags.code_rate > 0 && flags.code_rate <= kMostCodeRate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("code_rate ", flags.code_rate, " is not in (0, ", kMostCodeRate, "]"));
  }
  format->mcs = {flags.qm, flags.code_rate};
  return absl::OkStatus();
}

}  // namespace

void AddFormatFlags(CLI::App* app, FormatFlags* flags, int default_prbs) {
  const char* group = "Transport blocks (--mcs, or --qm and --code-rate)";
  flags->prbs = default_prbs;
  AddNumber(app, "--mcs-table", "N", &flags->table, Between(1, nr::kMcsTables),
            "of --mcs: 1 (64QAM), 2 (256QAM), 3 (low efficiency), 4 (1024QAM) of 38.214 (2)")
      ->group(group);
  AddNumber(app, "--qm", "BITS", &flags->qm, Between(1, nr::kMaxQm),
            "bits a symbol, in place of --mcs: 1, 2, 4, 6, 8 or 10")
      ->group(group);
  AddNumber(app, "--code-rate", "R", &flags->code_rate, UpTo(kMostCodeRate),
            "information bits per coded bit")
      ->group(group);
  AddNumber(app, "--layers", "N", &flags->layers, Between(1, kMostLayers),
            "layers that a block is sent on (1)")
      ->group(group);
  AddNumber(app, "--prbs", "N", &flags->prbs, Between(1, kMostPrbs),
            absl::StrCat("physical resource blocks, of ", nr::kMostResourceElements,
                         " resource elements each (", default_prbs, ")"))
      ->group(group);
  AddNumber(app, "--tbs-lbrm", "BITS", &flags->tbs_lbrm, Between(0, nr::kMaxTbsLbrm),
            "limited buffer rate matching: TBS_LBRM (0: not limited)")
      ->group(group);
}

std::string NameOfModulation(int qm) {
  switch (qm) {
    case 1:
      return "pi/2-BPSK";
    case 2:
      return "QPSK";
    default:
      return absl::StrCat(1 << qm, "QAM");
  }
}

std::string TransportFormat::Name() const {
  return index.has_value() ? absl::StrCat("MCS ", *index, " of table ", table)
                           : absl::StrFormat("%s R=%.3f", NameOfModulation(mcs.qm), mcs.code_rate);
}

std::string TransportFormat::Describe() const {
  return absl::StrFormat("%s, R=%.3f, %s, %s", NameOfModulation(mcs.qm), mcs.code_rate,
                         Plural(prbs, "PRB"), Plural(layers, "layer"));
}

absl::StatusOr<TransportFormat> ToTransportFormat(const FormatFlags& flags,
                                                  const absl::optional<int>& mcs) {
  TransportFormat format;
  absl::Status status = SetMcs(flags, mcs, &format);
  status.Update(CheckRange("layers", flags.layers, kMostLayers));
  status.Update(CheckRange("prbs", flags.prbs, kMostPrbs));
  if (!status.ok()) {
    return status;
  }
  format.layers = flags.layers;
  format.prbs = flags.prbs;
  const int64_t num_re = int64_t{nr::kMostResourceElements} * flags.prbs;
  nr::TransportBlock block;
  const int64_t tb_bits = nr::TransportBlockBits(num_re, format.mcs, flags.layers);
  block.tb_bytes = tb_bits / 8;
  block.base_graph = nr::ChooseBaseGraph(tb_bits, format.mcs.code_rate);
  block.qm = format.mcs.qm;
  block.num_layers = flags.layers;
  block.g = num_re * format.mcs.qm * flags.layers;
  block.tbs_lbrm = flags.tbs_lbrm;
  const absl::StatusOr<nr::TransportBlockPlan> plan = nr::MakePlan(block);
  if (!plan.ok()) {
    return plan.status();
  }
  format.parameters = block;
  format.plan = *plan;
  v1::TransportBlock& message = *format.block.mutable_transport_block();
  message.set_tb_bytes(static_cast<uint32_t>(block.tb_bytes));
  message.set_base_graph(static_cast<uint32_t>(block.base_graph));
  message.set_g(static_cast<uint32_t>(block.g));
  message.set_tbs_lbrm(static_cast<uint32_t>(block.tbs_lbrm));
  format.block.set_qm(static_cast<uint32_t>(block.qm));
  format.block.set_layers(static_cast<uint32_t>(block.num_layers));
  format.block.set_c_init(nr::ScramblingInit(kRnti, 0, kCell));
  return format;
}

nlohmann::ordered_json ToJson(const TransportFormat& format) {
  nlohmann::ordered_json json;
  json["name"] = format.Name();
  if (format.index.has_value()) {
    json["mcs_table"] = format.table;
    json["mcs"] = *format.index;
  }
  json["qm"] = format.mcs.qm;
  json["code_rate"] = format.mcs.code_rate;
  json["layers"] = format.layers;
  json["prbs"] = format.prbs;
  json["tb_bits"] = format.plan.tb_bits;
  json["coded_bits"] = format.plan.g();
  json["base_graph"] = format.plan.base_graph;
  json["zc"] = format.plan.zc;
  json["code_blocks"] = format.plan.num_blocks;
  return json;
}

double ThresholdSnrDb(const nr::Mcs& mcs) {
  const double loss_db = mcs.qm <= 2 ? 1.75 : mcs.qm == 4 ? 2.05 : mcs.qm == 6 ? 2.45 : 2.7;
  return 10 * std::log10(std::pow(2.0, mcs.efficiency()) - 1) + loss_db;
}

}  // namespace baseband::ctl
