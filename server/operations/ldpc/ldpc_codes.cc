#include "server/operations/ldpc/ldpc_codes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

absl::Status OutOfRange(absl::string_view field, int64_t value, int64_t low, int64_t high) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
}

absl::StatusOr<std::string> WimaxRate(v1::WimaxCode::Rate rate) {
  switch (rate) {
    case v1::WimaxCode::RATE_1_2:
      return "1/2";
    case v1::WimaxCode::RATE_2_3A:
      return "2/3A";
    case v1::WimaxCode::RATE_2_3B:
      return "2/3B";
    case v1::WimaxCode::RATE_3_4A:
      return "3/4A";
    case v1::WimaxCode::RATE_3_4B:
      return "3/4B";
    case v1::WimaxCode::RATE_5_6:
      return "5/6";
    default:
      return OutOfRange("rate", rate, 1, 6);
  }
}

absl::StatusOr<std::string> WifiRate(v1::WifiCode::Rate rate) {
  switch (rate) {
    case v1::WifiCode::RATE_1_2:
      return "1/2";
    case v1::WifiCode::RATE_2_3:
      return "2/3";
    case v1::WifiCode::RATE_3_4:
      return "3/4";
    case v1::WifiCode::RATE_5_6:
      return "5/6";
    default:
      return OutOfRange("rate", rate, 1, 4);
  }
}

// The factory calls them rows, and says what is wrong with any other base graph.
absl::Status CheckNrRows(uint32_t base_graph, uint32_t parity_rows) {
  const uint32_t most = base_graph == 1 ? 46 : 42;
  if (parity_rows != 0 && (parity_rows < 4 || parity_rows > most)) {
    return absl::InvalidArgumentError(absl::StrCat("code.parity_rows ", parity_rows,
                                                   " is neither 0 (all) nor in [4, ", most, "]"));
  }
  return absl::OkStatus();
}

std::string CustomKey(const v1::CustomCode& message, uint32_t parity_rows) {
  return absl::StrCat(parity_rows, "/", message.SerializeAsString());
}

absl::Status WholeMatrixOnly(uint32_t parity_rows, absl::string_view standard) {
  if (parity_rows != 0) {
    return absl::InvalidArgumentError(absl::StrCat("code.parity_rows ", parity_rows,
                                                   " is not 0: a part of an ", standard,
                                                   " matrix is no code of the standard"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ldpc::CodePtr> LdpcCodes::FromProto(const v1::LdpcCode& message) {
  switch (message.code_case()) {
    case v1::LdpcCode::kNr:
      BASEBAND_RETURN_IF_ERROR(CheckNrRows(message.nr().base_graph(), message.parity_rows()));
      return Within("code.nr.", ldpc::NrCode(message.nr().base_graph(), message.nr().zc(),
                                             message.parity_rows()));
    case v1::LdpcCode::kWimax: {
      BASEBAND_RETURN_IF_ERROR(WholeMatrixOnly(message.parity_rows(), "802.16e"));
      BASEBAND_ASSIGN_OR_RETURN(const std::string rate,
                                Within("code.wimax.", WimaxRate(message.wimax().rate())));
      return Within("code.wimax.", ldpc::WimaxCode(rate, message.wimax().n()));
    }
    case v1::LdpcCode::kWifi: {
      BASEBAND_RETURN_IF_ERROR(WholeMatrixOnly(message.parity_rows(), "802.11n"));
      BASEBAND_ASSIGN_OR_RETURN(const std::string rate,
                                Within("code.wifi.", WifiRate(message.wifi().rate())));
      return Within("code.wifi.", ldpc::WifiCode(rate, message.wifi().n()));
    }
    case v1::LdpcCode::kCustom:
      return Custom(message.custom(), message.parity_rows());
    case v1::LdpcCode::CODE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("code is not set: one of nr, wimax, wifi, custom is needed");
}

absl::StatusOr<ldpc::CodePtr> LdpcCodes::FromProto(const v1::LdpcCode& message,
                                                   uint32_t llr_count) {
  BASEBAND_ASSIGN_OR_RETURN(ldpc::CodePtr code, FromProto(message));
  if (message.code_case() != v1::LdpcCode::kNr || message.parity_rows() != 0 || llr_count == 0 ||
      llr_count >= static_cast<uint32_t>(code->num_sent())) {
    return code;
  }
  // An extension row is worth its while from the first received bit of its own column on. The four
  // rows of the core always are.
  const int columns =
      (static_cast<int>(llr_count) + code->zc() - 1) / code->zc() + code->punctured_columns();
  return ldpc::NrCode(message.nr().base_graph(), code->zc(), std::max(4, columns - code->kb()));
}

absl::StatusOr<ldpc::CodePtr> LdpcCodes::Custom(const v1::CustomCode& message,
                                                uint32_t parity_rows) {
  const std::string key = CustomKey(message, parity_rows);
  if (ldpc::CodePtr known = custom_.Find(key)) {
    return known;
  }
  ldpc::BaseMatrix matrix;
  matrix.rows = message.rows();
  matrix.columns = message.columns();
  matrix.zc = message.zc();
  matrix.punctured_columns = message.punctured_columns();
  matrix.shifts.assign(message.shifts().begin(), message.shifts().end());
  if (parity_rows != 0) {
    // Check the whole before a part of it is taken.
    BASEBAND_RETURN_IF_ERROR(
        Within("code.custom.", ldpc::Code::Create(matrix, ldpc::Family::kCustom, "custom"))
            .status());
    if (parity_rows > message.rows()) {
      return OutOfRange("code.parity_rows", parity_rows, 1, message.rows());
    }
    const int64_t rows = parity_rows;
    const int64_t columns = matrix.columns - matrix.rows + rows;
    std::vector<int> part;
    for (int64_t r = 0; r < rows; ++r) {
      const auto begin = matrix.shifts.begin() + r * matrix.columns;
      part.insert(part.end(), begin, begin + columns);
    }
    matrix.rows = rows;
    matrix.columns = columns;
    matrix.shifts = std::move(part);
  }
  BASEBAND_ASSIGN_OR_RETURN(
      ldpc::CodePtr code,
      Within("code.custom.", ldpc::Code::Create(matrix, ldpc::Family::kCustom,
                                                absl::StrCat("custom ", matrix.rows, "x",
                                                             matrix.columns, " zc=", matrix.zc))));
  const int64_t bytes = code->bytes();
  return Within("code.custom: ", custom_.Insert(key, std::move(code), bytes));
}

absl::Status LdpcCodes::FindEncodePlan(const v1::LdpcCode& message, const ldpc::Code& code,
                                       const ContinueCheck& may_continue) {
  BASEBAND_RETURN_IF_ERROR(code.FindEncodePlan(may_continue));
  if (message.has_custom()) {
    custom_.Resize(CustomKey(message.custom(), message.parity_rows()), code.bytes());
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
