// An LDPC code that the server knows.
#ifndef INCLUDED_BASEBAND_OFFLOAD_LDPC_CODE_H
#define INCLUDED_BASEBAND_OFFLOAD_LDPC_CODE_H

#include <gnuradio/baseband_offload/api.h>

#include <string>
#include <vector>

namespace gr {
namespace baseband_offload {

// Factories throw std::invalid_argument, which names the field, its value and its range.
class BASEBAND_OFFLOAD_API ldpc_code {
 public:
  // 5G NR, 3GPP TS 38.212 clause 5.3.2: base graph 1 or 2, one of the 51 lifting sizes 2 .. 384.
  // The first `rows` rows of the base graph and the columns that they leave: 4 .. 46 or 42; 0: all.
  static ldpc_code nr(int base_graph, int zc, int rows = 0);
  // IEEE 802.16e-2005: "1/2", "2/3A", "2/3B", "3/4A", "3/4B" or "5/6"; n = 576, 672, .., 2304.
  static ldpc_code wimax(const std::string& rate, int n);
  // IEEE 802.11n-2009: "1/2", "2/3", "3/4" or "5/6"; n = 648, 1296 or 1944.
  static ldpc_code wifi(const std::string& rate, int n);
  // A base matrix of rows x columns circulants of zc x zc bits, row by row: -1 for a zero block,
  // else how far the identity is shifted to the right. The first columns - rows block columns are
  // the information, of which the first punctured_columns are never sent.
  static ldpc_code custom(int rows, int columns, int zc, const std::vector<int>& shifts,
                          int punctured_columns = 0);

  int n() const { return n_; }  // bits that are sent, fillers included
  int k() const { return k_; }  // information bits, fillers included
  // "802.16e 1/2 (2304,1152)"
  const std::string& name() const { return name_; }
  // baseband.v1.LdpcCode, serialised.
  const std::string& message() const { return message_; }

 private:
  ldpc_code() = default;

  int n_ = 0;
  int k_ = 0;
  std::string name_;
  std::string message_;
  friend struct ldpc_code_maker;
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_LDPC_CODE_H
