#include "client/ctl/shared_channel/format_figures.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/shared_channel/symbol_channel.h"
#include "kernels/nr/soft_pack.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

// Columns of base graphs 1 and 2 without the two punctured ones.
constexpr int kSentColumns[] = {66, 50};
// What a server holds under a key has at least as many, see "Memory of HARQ" of kernels/nr.
constexpr int64_t kLeastHeldBytes = 4096;

std::string Bits(int64_t bits) { return absl::StrCat(bits, " bits"); }
std::string Bytes(int64_t bytes) { return absl::StrCat(bytes, " bytes"); }

std::string NameOfTbCrc(const nr::TransportBlockPlan& plan) {
  return plan.tb_crc_bits == 24 ? "CRC24A" : "CRC16";
}

std::string CodedText(const nr::TransportBlockPlan& plan) {
  const auto parts = CodedBlocks(plan);
  return parts.size() == 1 ? Bits(parts[0].second)
                           : absl::StrCat(parts[0].second, " bits of ", parts[0].first, ", ",
                                          parts[1].second, " of ", parts[1].first);
}

}  // namespace

int CodeWordBits(const nr::TransportBlockPlan& plan) {
  return kSentColumns[plan.base_graph - 1] * plan.zc;
}

std::vector<std::pair<int, int>> CodedBlocks(const nr::TransportBlockPlan& plan) {
  std::vector<std::pair<int, int>> parts;
  if (plan.num_short > 0) {
    parts.emplace_back(plan.num_short, plan.e_short);
  }
  if (plan.num_short < plan.num_blocks) {
    parts.emplace_back(plan.num_blocks - plan.num_short, plan.e_long);
  }
  return parts;
}

std::vector<std::pair<std::string, int64_t>> ReceivedSizes(const TransportFormat& format) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const std::string& name : NamesOfReceivedTypes()) {
    const SymbolChannel channel(ParseReceivedType(name), format.mcs.qm, /*snr_db=*/0);
    sizes.emplace_back(name, channel.ReceivedBytes(format.num_symbols()));
  }
  return sizes;
}

std::vector<std::pair<int, int64_t>> HeldSizes(const TransportFormat& format) {
  std::vector<std::pair<int, int64_t>> sizes;
  for (const int size : nr::kHeldSoftSizes) {
    const int64_t bytes =
        format.plan.num_blocks * nr::HeldSoftBytes(size, format.plan.of_long.n_cb);
    sizes.emplace_back(size, std::max(bytes, kLeastHeldBytes));
  }
  return sizes;
}

std::string FiguresText(const TransportFormat& format) {
  const nr::TransportBlockPlan& plan = format.plan;
  TextTable table({{format.Name(), false}, {"", false}, {format.Describe(), false}});
  const auto add = [&table](const char* name, const char* letter, const std::string& value) {
    table.Add({name, letter, value});
  };
  const int n = CodeWordBits(plan);
  const auto n_cb = static_cast<int>(plan.of_long.n_cb);
  add("modulation order", "Q_m", absl::StrCat(format.mcs.qm));
  add("target code rate", "R", absl::StrFormat("%.4f", format.mcs.code_rate));
  add("transport block", "A",
      absl::StrCat(plan.tb_bits, " bits, ", Bytes(format.tb_bytes()), "; ", NameOfTbCrc(plan)));
  add("base graph", "", absl::StrCat(plan.base_graph));
  add("lifting size", "Z_c", absl::StrCat(plan.zc));
  add("code blocks", "C",
      absl::StrCat(plan.num_blocks, plan.block_crc_bits > 0 ? ", CRC24B each" : ""));
  add("information", "K", Bits(plan.k));
  add("without fillers", "K'", Bits(plan.k_prime));
  add("fillers", "", Bits(plan.num_filler()));
  add("code word", "N", Bits(n));
  add("circular buffer", "N_cb",
      absl::StrCat(n_cb, " bits",
                   format.parameters.tbs_lbrm == 0
                       ? ", not limited"
                       : absl::StrCat(n_cb < n ? ", limited" : ", not limited", " by TBS_LBRM ",
                                      format.parameters.tbs_lbrm)));
  add("parity rows used", "", absl::StrCat(plan.num_rows));
  add("coded bits", "G", absl::StrCat(plan.g()));
  add("of a code block", "E", CodedText(plan));
  add("symbols", "", absl::StrCat(format.num_symbols()));

  TextTable bytes({{"of a slot", false}, {"bytes"}});
  for (const auto& [name, size] : ReceivedSizes(format)) {
    bytes.Add({"received, " + name, absl::StrCat(size)});
  }
  bytes.Add({"soft bits, sent", absl::StrCat(format.soft_bytes())});
  for (const auto& [size, held] : HeldSizes(format)) {
    bytes.Add({absl::StrCat("soft bits, held in ", size, " bits"), absl::StrCat(held)});
  }
  bytes.Add({"decoded", absl::StrCat(format.tb_bytes())});
  return absl::StrCat(table.ToText(), "\n", bytes.ToText());
}

nlohmann::ordered_json FiguresJson(const TransportFormat& format) {
  const nr::TransportBlockPlan& plan = format.plan;
  nlohmann::ordered_json json = ToJson(format);
  json["tb_bytes"] = format.tb_bytes();
  json["tb_crc_bits"] = plan.tb_crc_bits;
  json["code_block_crc_bits"] = plan.block_crc_bits;
  json["k"] = plan.k;
  json["k_prime"] = plan.k_prime;
  json["n_filler"] = plan.num_filler();
  json["n"] = CodeWordBits(plan);
  json["n_cb"] = plan.of_long.n_cb;
  json["tbs_lbrm"] = format.parameters.tbs_lbrm;
  json["parity_rows"] = plan.num_rows;
  for (const auto& [blocks, e] : CodedBlocks(plan)) {
    json["e"].push_back({{"code_blocks", blocks}, {"bits", e}});
  }
  json["symbols"] = format.num_symbols();
  for (const auto& [name, size] : ReceivedSizes(format)) {
    json["received_bytes"][name] = size;
  }
  json["soft_bytes"] = format.soft_bytes();
  for (const auto& [size, held] : HeldSizes(format)) {
    json["held_bytes"][absl::StrCat(size)] = held;
  }
  return json;
}

}  // namespace baseband::ctl
