// What RecoverCarrier answered, for people and for programs.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_CARRIER_REPORT_H_
#define BASEBAND_CLIENT_CTL_CARRIER_CARRIER_REPORT_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "client/ctl/ldpc/transfer.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

struct CarrierReport {
  std::string input;       // as the user named it
  v1::CarrierGroup group;  // as it was sent, count included
  const Recovered* recovered = nullptr;

  // Whether a frame is locked: its carrier and, of samples, its timing.
  bool is_locked(int64_t frame) const;
  // "yes", or why not, as ShortReason(): its timing comes first.
  std::string reason(int64_t frame) const;
  int64_t locked() const;
  // Of each frame: the group's, or those that its samples were taken for.
  int64_t frame_symbols() const;
};

// A few lines for one frame; a table of at most `max_rows` rows and a summary for several.
void PrintReport(const CarrierReport& report, int64_t max_rows, std::FILE* stream);

// One object; a row a frame, with a header. Units: the contract's (cycles per symbol, Hz, radians).
nlohmann::ordered_json ToJson(const CarrierReport& report);
std::string ToCsv(const CarrierReport& report);

// "yes", or why there is no lock, in plain words of at most `kShortReason` letters.
inline constexpr int kShortReason = 11;
std::string ShortReason(v1::CarrierLock lock);
std::string ShortReason(v1::TimingLock lock);
// A sentence for who has to do something about it.
std::string LongReason(const v1::CarrierResult& result);
std::string LongReason(v1::TimingLock lock);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_CARRIER_REPORT_H_
