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
ldpc::BaseMatrix ToMatrix(const v1::CustomCode& custom, int parity_rows) {
  const auto whole = static_cast<int>(custom.rows());
  ldpc::BaseMatrix matrix;
  matrix.rows = parity_rows == 0 ? whole : parity_rows;
  matrix.columns = static_cast<int>(custom.columns()) - (whole - matrix.rows);
  matrix.zc = static_cast<int>(custom.zc());
  matrix.punctured_columns = static_cast<int>(custom.punctured_columns());
  for (int row = 0; row < matrix.rows; ++row) {
    for (int column = 0; column < matrix.columns; ++column) {
      matrix.shifts.push_back(custom.shifts(row * static_cast<int>(custom.columns()) + column));
    }
  }
  return matrix;
}

absl::StatusOr<ldpc::CodePtr> ToKernelCode(const v1::LdpcCode& code) {
  const auto rows = static_cast<int>(code.parity_rows());
  switch (code.code_case()) {
    case v1::LdpcCode::kNr:
      return ldpc::NrCode(static_cast<int>(code.nr().base_graph()),
                          static_cast<int>(code.nr().zc()), rows);
    case v1::LdpcCode::kWimax:
      return ldpc::WimaxCode(NameOfRate(code.wimax().rate()), static_cast<int>(code.wimax().n()));
    case v1::LdpcCode::kWifi:
      return ldpc::WifiCode(NameOfRate(code.wifi().rate()), static_cast<int>(code.wifi().n()));
    default:
      return ldpc::Code::Create(ToMatrix(code.custom(), rows), ldpc::Family::kCustom, "custom");
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
