#include <gnuradio/baseband_offload/ldpc_code.h>

#include <map>
#include <stdexcept>

#include "baseband/v1/baseband.pb.h"
#include "client/cpp/code_shape.h"

namespace gr::baseband_offload {

namespace v1 = ::baseband::v1;

struct ldpc_code_maker {
  static ldpc_code Make(const std::string& family, const v1::LdpcCode& message) {
    const absl::StatusOr<::baseband::client::CodeShape> shape =
        ::baseband::client::ShapeOf(message);
    if (!shape.ok()) throw std::invalid_argument(std::string(shape.status().message()));
    ldpc_code code;
    code.n_ = shape->sent();
    code.k_ = shape->k();
    code.name_ = family + " (" + std::to_string(code.n_) + "," + std::to_string(code.k_) + ")";
    code.message_ = message.SerializeAsString();
    return code;
  }
};

namespace {

// Of negative numbers, ones that no range has.
uint32_t Unsigned(int value) { return static_cast<uint32_t>(value); }

template <typename Rate>
Rate RateOf(const std::map<std::string, Rate>& rates, const std::string& name) {
  const auto found = rates.find(name);
  if (found != rates.end()) return found->second;
  std::string known;
  for (const auto& [rate, value] : rates) known += (known.empty() ? "" : ", ") + rate;
  throw std::invalid_argument("rate '" + name + "' is none of " + known);
}

}  // namespace

ldpc_code ldpc_code::nr(int base_graph, int zc, int rows) {
  v1::LdpcCode message;
  message.mutable_nr()->set_base_graph(Unsigned(base_graph));
  message.mutable_nr()->set_zc(Unsigned(zc));
  message.set_parity_rows(Unsigned(rows));
  return ldpc_code_maker::Make(
      "5G NR BG" + std::to_string(base_graph) + " Zc=" + std::to_string(zc), message);
}

ldpc_code ldpc_code::wimax(const std::string& rate, int n) {
  static const auto* const kRates = new std::map<std::string, v1::WimaxCode::Rate>{
      {"1/2", v1::WimaxCode::RATE_1_2},   {"2/3A", v1::WimaxCode::RATE_2_3A},
      {"2/3B", v1::WimaxCode::RATE_2_3B}, {"3/4A", v1::WimaxCode::RATE_3_4A},
      {"3/4B", v1::WimaxCode::RATE_3_4B}, {"5/6", v1::WimaxCode::RATE_5_6}};
  v1::LdpcCode message;
  message.mutable_wimax()->set_rate(RateOf(*kRates, rate));
  message.mutable_wimax()->set_n(Unsigned(n));
  return ldpc_code_maker::Make("802.16e " + rate, message);
}

ldpc_code ldpc_code::wifi(const std::string& rate, int n) {
  static const auto* const kRates =
      new std::map<std::string, v1::WifiCode::Rate>{{"1/2", v1::WifiCode::RATE_1_2},
                                                    {"2/3", v1::WifiCode::RATE_2_3},
                                                    {"3/4", v1::WifiCode::RATE_3_4},
                                                    {"5/6", v1::WifiCode::RATE_5_6}};
  v1::LdpcCode message;
  message.mutable_wifi()->set_rate(RateOf(*kRates, rate));
  message.mutable_wifi()->set_n(Unsigned(n));
  return ldpc_code_maker::Make("802.11n " + rate, message);
}

ldpc_code ldpc_code::custom(int rows, int columns, int zc, const std::vector<int>& shifts,
                            int punctured_columns) {
  if (static_cast<int64_t>(shifts.size()) != int64_t{rows} * columns) {
    throw std::invalid_argument(
        "shifts has " + std::to_string(shifts.size()) +
        " entries, not rows * columns = " + std::to_string(int64_t{rows} * columns));
  }
  v1::LdpcCode message;
  message.mutable_custom()->set_rows(Unsigned(rows));
  message.mutable_custom()->set_columns(Unsigned(columns));
  message.mutable_custom()->set_zc(Unsigned(zc));
  message.mutable_custom()->set_punctured_columns(Unsigned(punctured_columns));
  message.mutable_custom()->mutable_shifts()->Add(shifts.begin(), shifts.end());
  return ldpc_code_maker::Make("custom Zc=" + std::to_string(zc), message);
}

}  // namespace gr::baseband_offload
