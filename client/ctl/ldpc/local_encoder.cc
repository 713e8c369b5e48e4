#include "client/ctl/ldpc/local_encoder.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/code_flags.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/encode.h"

namespace baseband::ctl {
namespace {

constexpr int kProved = 8;  // blocks of a request; the encoder does the same sums for each

// The first `parity_rows` rows of the client's own matrix, 0 for all, and the columns they leave.
ldpc::BaseMatrix ToMatrix(const v1::CustomCode& custom, uint32_t parity_rows) {
  ldpc::BaseMatrix matrix;
  matrix.rows = parity_rows == 0 ? custom.rows() : parity_rows;
  matrix.columns = int64_t{custom.columns()} - custom.rows() + matrix.rows;
  matrix.zc = custom.zc();
  matrix.punctured_columns = custom.punctured_columns();
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const auto begin = custom.shifts().begin() + row * custom.columns();
    matrix.shifts.insert(matrix.shifts.end(), begin, begin + matrix.columns);
  }
  return matrix;
}

absl::StatusOr<ldpc::CodePtr> ToKernelCode(const v1::LdpcCode& code) {
  switch (code.code_case()) {
    case v1::LdpcCode::kNr:
      return ldpc::NrCode(code.nr().base_graph(), code.nr().zc(), code.parity_rows());
    case v1::LdpcCode::kWimax:
      return ldpc::WimaxCode(NameOfRate(code.wimax().rate()), code.wimax().n());
    case v1::LdpcCode::kWifi:
      return ldpc::WifiCode(NameOfRate(code.wifi().rate()), code.wifi().n());
    default:
      return ldpc::Code::Create(ToMatrix(code.custom(), code.parity_rows()), ldpc::Family::kCustom,
                                "custom");
  }
}

// Whether all parity checks hold for `word`, all n bits of a code word, packed. From the code's
// definition: row r of an edge's block has its one at column (r + shift) mod zc.
bool SatisfiesChecks(const ldpc::Code& code, const std::string& word) {
  const int zc = code.zc();
  for (int row = 0; row < code.rows(); ++row) {
    std::vector<uint8_t> sums(static_cast<size_t>(zc));
    for (const ldpc::Edge& edge : code.row(row)) {
      for (int i = 0; i < zc; ++i) {
        sums[static_cast<size_t>(i)] ^= GetBit(word, edge.column * zc + (i + edge.shift) % zc);
      }
    }
    if (std::count(sums.begin(), sums.end(), 0) != zc) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> EncodeHere(const v1::LdpcCode& message, int filler,
                                       const std::string& info, int blocks) {
  if (absl::Status known = client::ShapeOf(message).status(); !known.ok()) {
    return known;
  }
  const absl::StatusOr<ldpc::CodePtr> made = ToKernelCode(message);
  if (!made.ok()) {
    return made.status();
  }
  const ldpc::Code& code = **made;
  if (!code.encode_plan().ok()) {
    return absl::InvalidArgumentError(code.encode_plan().status().message());
  }
  const int info_bits = code.k() - filler;
  const auto info_bytes = static_cast<size_t>(client::PackedBytes(info_bits));
  const auto sent_bytes = static_cast<size_t>(client::PackedBytes(code.num_sent()));
  std::string words;
  std::vector<uint8_t> parity(static_cast<size_t>(client::PackedBytes(code.parity_bits())));
  for (int block = 0; block < blocks; ++block) {
    const std::string own = info.substr(static_cast<size_t>(block) * info_bytes, info_bytes);
    ldpc::EncodeOnCpu(code, {reinterpret_cast<const uint8_t*>(own.data()), own.size()}, info_bits,
                      absl::MakeSpan(parity));
    std::string word(static_cast<size_t>(client::PackedBytes(code.n())), '\0');
    CopyBits(own, 0, &word, 0, info_bits);
    CopyBits({reinterpret_cast<const char*>(parity.data()), parity.size()}, 0, &word, code.k(),
             code.parity_bits());
    if (block < kProved && !SatisfiesChecks(code, word)) {
      return absl::InternalError(
          absl::StrCat("a code word made here fails the parity checks of ", Describe(message)));
    }
    std::string sent(sent_bytes, '\0');
    CopyBits(word, code.n() - code.num_sent(), &sent, 0, code.num_sent());
    words += sent;
  }
  return words;
}

}  // namespace baseband::ctl
