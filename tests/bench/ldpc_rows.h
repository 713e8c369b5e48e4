// What the benchmarks of LDPC coding share: which parts they have, the codes of every lifting size,
// rows for the report, and what a block takes at least.
#ifndef BASEBAND_TESTS_BENCH_LDPC_ROWS_H_
#define BASEBAND_TESTS_BENCH_LDPC_ROWS_H_

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode_math.h"
#include "tests/bench/must.h"
#include "tests/bench/rows.h"

namespace baseband::ldpc {

// The parts of a benchmark: `table` is for people, `sizes` has a code of every lifting size,
// `batches` one code with more and more blocks.
class Parts {
 public:
  explicit Parts(const std::string& name) : name_(name) {
    if (!Has("table") && !Has("sizes") && !Has("batches")) {
      bench::Fail("'" + name + "' is none of table, sizes, batches and all");
    }
  }
  bool Has(const std::string& part) const { return name_ == part || name_ == "all"; }

 private:
  std::string name_;
};

// A code, and its name without its size.
struct SizedCode {
  std::string name;
  CodePtr code;
};
inline std::vector<SizedCode> CodesOfEverySize() {
  std::vector<SizedCode> codes;
  for (const int zc : NrLiftingSizes()) {
    codes.push_back({"NR BG1 rows=46", bench::Must(NrCode(1, zc))});
    codes.push_back({"NR BG2 rows=42", bench::Must(NrCode(2, zc))});
  }
  for (int n = 576; n <= 2304; n += 96) {
    codes.push_back({"802.16e rate=1/2", bench::Must(WimaxCode("1/2", n))});
  }
  for (const int n : {648, 1296, 1944}) {
    codes.push_back({"802.11n rate=1/2", bench::Must(WifiCode("1/2", n))});
  }
  return codes;
}
// Eb/N0 in dB at which their words decode, all but one in many.
inline double EasyEbn0(const Code& code) {
  const bool is_high_rate = code.k() > 0.8 * code.num_sent();
  return (is_high_rate ? 5.0 : 3.0) + 6.0 / std::sqrt(code.zc());
}

inline std::vector<CodePtr> CodesOfBatches() {
  return {bench::Must(NrCode(1, 384)), bench::Must(NrCode(1, 384, 4))};
}

// By `parameters` a row of a table, or, if these are along "zc", of a figure.
inline bench::Row LdpcRow(const char* what, const char* device, bench::RowParameters parameters,
                          const Code& code, double blocks, double seconds, double spread) {
  bench::Row row = bench::RateRow(what, device, std::move(parameters), blocks * code.k(), "bit",
                                  seconds, spread);
  for (const auto& [name, value] : row.parameters) row.along = name == "zc" ? name : row.along;
  return row;
}

// LLRs come in and bits go out; min-sum takes about six operations for each edge, of heavy checks
// that have a factor and an offset of their own two more.
inline bench::Row DecodeRow(const char* device, bench::RowParameters parameters, const Code& code,
                            double iterations, double blocks, double seconds, double spread) {
  bench::Row row = LdpcRow("decode", device, std::move(parameters), code, blocks, seconds, spread);
  double operations = 0.0;  // of one block and iteration
  for (int r = 0; r < code.rows(); ++r) {
    const auto degree = static_cast<int>(code.row(r).size());
    const bool own = degree >= kHeavyDegree && code.family() == Family::kNr && code.rows() > 4;
    operations += (own ? 8.0 : 6.0) * degree * code.zc();
  }
  row.operations = iterations * operations / code.k();
  row.bytes = (code.num_sent() + code.k() / 8.0) / code.k();
  return row;
}

// Information bits come in and parity bits go out; each edge takes an exclusive or, of as many bits
// at a time as the device has in an integer operation.
inline bench::Row EncodeRow(const char* device, bench::RowParameters parameters, const Code& code,
                            double blocks, double seconds, double spread) {
  bench::Row row = LdpcRow("encode", device, std::move(parameters), code, blocks, seconds, spread);
  const double bits = std::string(device) == "gpu" ? 32.0 : 8.0;
  row.operations = static_cast<double>(code.edges().size()) * code.zc() / bits / code.k();
  row.bytes = (code.k() + code.parity_bits()) / 8.0 / code.k();
  return row;
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_TESTS_BENCH_LDPC_ROWS_H_
