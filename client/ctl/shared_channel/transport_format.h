// How a user's transport blocks are sent: modulation and coding, and how much of a slot they have.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_TRANSPORT_FORMAT_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_TRANSPORT_FORMAT_H_

#include <cstdint>
#include <string>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/nr/tbs.h"
#include "kernels/nr/transport_block.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// Redundancy versions of the transmissions of a block, in the order in which most schedulers send
// them. There are no more.
inline constexpr int kMaxTransmissions = 4;
inline constexpr int kRedundancyVersions[kMaxTransmissions] = {0, 2, 3, 1};

// Zero: not given.
struct FormatFlags {
  int table = 0;
  int qm = 0;
  double code_rate = 0;
  int layers = 1;
  int prbs = 0;
  int64_t tbs_lbrm = 0;
};

// All but --mcs, which is one number or several.
void AddFormatFlags(CLI::App* app, FormatFlags* flags, int default_prbs);

struct TransportFormat {
  nr::Mcs mcs;
  int table = 0;
  absl::optional<int> index;  // I_MCS of the table; not set: none of them
  int layers = 1;
  int prbs = 0;
  nr::TransportBlock parameters;  // of the first transmission, as the next two
  nr::TransportBlockPlan plan;
  v1::SharedChannelBlock block;  // scrambled

  int64_t tb_bytes() const { return plan.tb_bits / 8; }
  int64_t num_symbols() const { return plan.g() / mcs.qm; }
  // Of all code blocks.
  int64_t soft_bytes() const { return int64_t{plan.num_blocks} * plan.of_long.n_cb; }
  // "MCS 16 of table 2", "64QAM R=0.702".
  std::string Name() const;
  // "64QAM, R=0.702, 273 PRBs, 4 layers".
  std::string Describe() const;
};

// `mcs` as --mcs says it, if it is given. InvalidArgument names the flag: two that say the same,
// one without the other, a value out of its range; or what the standard says against them.
absl::StatusOr<TransportFormat> ToTransportFormat(const FormatFlags& flags,
                                                  const absl::optional<int>& mcs);

nlohmann::ordered_json ToJson(const TransportFormat& format);

// "pi/2-BPSK", "QPSK", "16QAM", ..
std::string NameOfModulation(int qm);

// An Es/N0 in dB near which half of the first transmissions of large transport blocks are right:
// what white noise lets through (Shannon 1948) plus what constellations and codes lose, as `bler`
// has measured it over all tables, +-0.5 dB.
double ThresholdSnrDb(const nr::Mcs& mcs);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_TRANSPORT_FORMAT_H_
