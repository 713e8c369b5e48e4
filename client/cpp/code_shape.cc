#include "client/cpp/code_shape.h"

#include "absl/strings/str_cat.h"

namespace baseband::client {
namespace {

absl::Status NotInRange(absl::string_view field, int64_t value, int64_t low, int64_t high) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
}

// Table 5.3.2-1 of TS 38.212: a * 2^j up to 384 with a in {2, 3, 5, 7, 9, 11, 13, 15}.
bool IsNrLiftingSize(uint32_t zc) {
  if (zc < 2 || zc > 384) {
    return false;
  }
  while (zc % 2 == 0 && zc > 2) {
    zc /= 2;
  }
  return zc <= 15 && zc != 1;
}

absl::StatusOr<CodeShape> NrShape(const v1::NrCode& code) {
  if (code.base_graph() != 1 && code.base_graph() != 2) {
    return NotInRange("base_graph", code.base_graph(), 1, 2);
  }
  if (!IsNrLiftingSize(code.zc())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "zc ", code.zc(), " is not a lifting size of TS 38.212 table 5.3.2-1 (2 .. 384)"));
  }
  const int zc = static_cast<int>(code.zc());
  return code.base_graph() == 1 ? CodeShape{46, 68, zc, 2} : CodeShape{42, 52, zc, 2};
}

absl::StatusOr<CodeShape> WimaxShape(const v1::WimaxCode& code) {
  if (code.n() < 576 || code.n() > 2304 || code.n() % 96 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("wimax n ", code.n(), " is not one of 576, 672, .., 2304"));
  }
  const int zc = static_cast<int>(code.n() / 24);
  switch (code.rate()) {
    case v1::WimaxCode::RATE_1_2:
      return CodeShape{12, 24, zc, 0};
    case v1::WimaxCode::RATE_2_3A:
    case v1::WimaxCode::RATE_2_3B:
      return CodeShape{8, 24, zc, 0};
    case v1::WimaxCode::RATE_3_4A:
    case v1::WimaxCode::RATE_3_4B:
      return CodeShape{6, 24, zc, 0};
    case v1::WimaxCode::RATE_5_6:
      return CodeShape{4, 24, zc, 0};
    default:
      return NotInRange("wimax rate", code.rate(), v1::WimaxCode::RATE_1_2,
                        v1::WimaxCode::RATE_5_6);
  }
}

absl::StatusOr<CodeShape> WifiShape(const v1::WifiCode& code) {
  if (code.n() != 648 && code.n() != 1296 && code.n() != 1944) {
    return absl::InvalidArgumentError(
        absl::StrCat("wifi n ", code.n(), " is not one of 648, 1296, 1944"));
  }
  const int zc = static_cast<int>(code.n() / 24);
  switch (code.rate()) {
    case v1::WifiCode::RATE_1_2:
      return CodeShape{12, 24, zc, 0};
    case v1::WifiCode::RATE_2_3:
      return CodeShape{8, 24, zc, 0};
    case v1::WifiCode::RATE_3_4:
      return CodeShape{6, 24, zc, 0};
    case v1::WifiCode::RATE_5_6:
      return CodeShape{4, 24, zc, 0};
    default:
      return NotInRange("wifi rate", code.rate(), v1::WifiCode::RATE_1_2, v1::WifiCode::RATE_5_6);
  }
}

absl::StatusOr<CodeShape> CustomShape(const v1::CustomCode& code) {
  if (code.rows() < 1 || code.rows() > 64) {
    return NotInRange("rows", code.rows(), 1, 64);
  }
  if (code.columns() <= code.rows() || code.columns() > 128) {
    return NotInRange("columns", code.columns(), code.rows() + 1, 128);
  }
  if (code.zc() < 1 || code.zc() > 512) {
    return NotInRange("zc", code.zc(), 1, 512);
  }
  if (code.punctured_columns() > code.columns() - code.rows()) {
    return NotInRange("punctured_columns", code.punctured_columns(), 0,
                      code.columns() - code.rows());
  }
  return CodeShape{static_cast<int>(code.rows()), static_cast<int>(code.columns()),
                   static_cast<int>(code.zc()), static_cast<int>(code.punctured_columns())};
}

absl::StatusOr<CodeShape> WholeShape(const v1::LdpcCode& code) {
  switch (code.code_case()) {
    case v1::LdpcCode::kNr:
      return NrShape(code.nr());
    case v1::LdpcCode::kWimax:
      return WimaxShape(code.wimax());
    case v1::LdpcCode::kWifi:
      return WifiShape(code.wifi());
    case v1::LdpcCode::kCustom:
      return CustomShape(code.custom());
    case v1::LdpcCode::CODE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("code is not set: give one of nr, wimax, wifi, custom");
}

}  // namespace

absl::StatusOr<CodeShape> ShapeOf(const v1::LdpcCode& code) {
  absl::StatusOr<CodeShape> shape = WholeShape(code);
  if (!shape.ok() || code.parity_rows() == 0) {
    return shape;
  }
  if (code.has_wimax() || code.has_wifi()) {
    return absl::InvalidArgumentError("parity_rows must be 0 for 802.16e and 802.11n codes");
  }
  const int lowest = code.has_nr() ? 4 : 1;
  if (code.parity_rows() < static_cast<uint32_t>(lowest) ||
      code.parity_rows() > static_cast<uint32_t>(shape->rows)) {
    return NotInRange("parity_rows", code.parity_rows(), lowest, shape->rows);
  }
  shape->columns -= shape->rows - static_cast<int>(code.parity_rows());
  shape->rows = static_cast<int>(code.parity_rows());
  return shape;
}

int OutputBits(const CodeShape& shape, v1::EncodeOutput output) {
  switch (output) {
    case v1::ENCODE_OUTPUT_CODEWORD:
      return shape.sent();
    case v1::ENCODE_OUTPUT_FULL_CODEWORD:
      return shape.full();
    default:
      return shape.parity();
  }
}

}  // namespace baseband::client
