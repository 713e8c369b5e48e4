// Flags that choose a code, and flags that choose how to decode it, for all commands alike.
#ifndef BASEBAND_CLIENT_CTL_LDPC_CODE_FLAGS_H_
#define BASEBAND_CLIENT_CTL_LDPC_CODE_FLAGS_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

// Zero or empty: not given.
struct CodeFlags {
  int nr_bg = 0;
  std::string wimax_rate;
  std::string wifi_rate;
  std::string matrix_file;
  int zc = 0;
  int n = 0;
  int rows = 0;
  int punctured = 0;
  int filler = 0;

  bool any() const {
    return nr_bg != 0 || !wimax_rate.empty() || !wifi_rate.empty() || !matrix_file.empty();
  }
};

void AddCodeFlags(CLI::App* app, CodeFlags* flags);

// The code that `flags` name. InvalidArgument when none or several are named, when a flag does not
// belong to the one named, or when a value is out of its range; NotFound for a missing file.
absl::StatusOr<v1::LdpcCode> ToLdpcCode(const CodeFlags& flags);

// A base matrix from text: a row a line, shifts separated by blanks or commas, -1 or . for a zero
// block, empty lines and what follows a # ignored.
absl::StatusOr<v1::CustomCode> ParseBaseMatrix(absl::string_view text, int zc, int punctured);

// "1/2", "2/3A", .. as the standards write them.
absl::StatusOr<v1::WimaxCode::Rate> ParseWimaxRate(absl::string_view rate);
absl::StatusOr<v1::WifiCode::Rate> ParseWifiRate(absl::string_view rate);

// And back.
std::string NameOfRate(v1::WimaxCode::Rate rate);
std::string NameOfRate(v1::WifiCode::Rate rate);

// "NR BG1 Zc=384, 24 rows", "802.16e (2304,1152) rate 1/2".
std::string Describe(const v1::LdpcCode& code);

struct DecodeFlags {
  std::string algorithm = "min-sum";
  std::string schedule = "layered";
  int iterations = 10;
  bool fixed = false;
  float scale_factor = 0;
  float llr_scale = 4;
  int llr_count = 0;
};

void AddDecodeFlags(CLI::App* app, DecodeFlags* flags);

// "min-sum" ("nms"), "sum-product" ("spa"), "bit-flipping" ("hard").
absl::StatusOr<v1::DecodeAlgorithm> ParseAlgorithm(absl::string_view name);
// "layered", "flooding".
absl::StatusOr<v1::DecodeSchedule> ParseSchedule(absl::string_view name);

// All fields of a group but code, count and soft output.
absl::StatusOr<v1::DecodeGroup> ToDecodeGroup(const DecodeFlags& flags);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_CODE_FLAGS_H_
