#include "client/ctl/ldpc/code_flags.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/options.h"

namespace baseband::ctl {
namespace {

constexpr NamedValue<v1::WimaxCode::Rate> kWimaxRates[] = {
    {"1/2", v1::WimaxCode::RATE_1_2},   {"2/3A", v1::WimaxCode::RATE_2_3A},
    {"2/3B", v1::WimaxCode::RATE_2_3B}, {"3/4A", v1::WimaxCode::RATE_3_4A},
    {"3/4B", v1::WimaxCode::RATE_3_4B}, {"5/6", v1::WimaxCode::RATE_5_6}};
constexpr NamedValue<v1::WifiCode::Rate> kWifiRates[] = {{"1/2", v1::WifiCode::RATE_1_2},
                                                         {"2/3", v1::WifiCode::RATE_2_3},
                                                         {"3/4", v1::WifiCode::RATE_3_4},
                                                         {"5/6", v1::WifiCode::RATE_5_6}};
constexpr NamedValue<v1::DecodeAlgorithm> kAlgorithms[] = {
    {"min-sum", v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM},
    {"sum-product", v1::DECODE_ALGORITHM_SUM_PRODUCT},
    {"bit-flipping", v1::DECODE_ALGORITHM_BIT_FLIPPING},
    {"nms", v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM},
    {"spa", v1::DECODE_ALGORITHM_SUM_PRODUCT},
    {"hard", v1::DECODE_ALGORITHM_BIT_FLIPPING}};
constexpr NamedValue<v1::DecodeSchedule> kSchedules[] = {
    {"layered", v1::DECODE_SCHEDULE_LAYERED}, {"flooding", v1::DECODE_SCHEDULE_FLOODING}};

absl::Status RefuseFlag(bool given, absl::string_view flag, absl::string_view family) {
  return given ? absl::InvalidArgumentError(absl::StrCat(flag, " does not go with ", family))
               : absl::OkStatus();
}

absl::StatusOr<v1::LdpcCode> FamilyToCode(const CodeFlags& flags) {
  v1::LdpcCode code;
  absl::Status refused;
  if (flags.nr_bg != 0) {
    code.mutable_nr()->set_base_graph(flags.nr_bg);
    code.mutable_nr()->set_zc(flags.zc == 0 ? 384 : flags.zc);
    refused.Update(RefuseFlag(flags.n != 0, "--n", "--nr-bg"));
    refused.Update(RefuseFlag(flags.punctured != 0, "--punctured", "--nr-bg"));
  } else if (!flags.matrix_file.empty()) {
    absl::StatusOr<std::string> text = ReadText(flags.matrix_file);
    if (!text.ok()) {
      return text.status();
    }
    absl::StatusOr<v1::CustomCode> custom = ParseBaseMatrix(*text, flags.zc, flags.punctured);
    if (!custom.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.matrix_file, ": ", custom.status().message()));
    }
    *code.mutable_custom() = *std::move(custom);
    refused.Update(RefuseFlag(flags.n != 0, "--n", "--matrix"));
  } else if (!flags.wimax_rate.empty()) {
    const absl::StatusOr<v1::WimaxCode::Rate> rate = ParseWimaxRate(flags.wimax_rate);
    if (!rate.ok()) {
      return rate.status();
    }
    code.mutable_wimax()->set_rate(*rate);
    code.mutable_wimax()->set_n(flags.n == 0 ? 2304 : flags.n);
  } else {
    const absl::StatusOr<v1::WifiCode::Rate> rate = ParseWifiRate(flags.wifi_rate);
    if (!rate.ok()) {
      return rate.status();
    }
    code.mutable_wifi()->set_rate(*rate);
    code.mutable_wifi()->set_n(flags.n == 0 ? 1944 : flags.n);
  }
  if (code.has_wimax() || code.has_wifi()) {
    const char* family = code.has_wimax() ? "--wimax" : "--wifi";
    refused.Update(RefuseFlag(flags.zc != 0, "--zc", family));
    refused.Update(RefuseFlag(flags.rows != 0, "--rows", family));
    refused.Update(RefuseFlag(flags.punctured != 0, "--punctured", family));
  }
  if (!refused.ok()) {
    return refused;
  }
  code.set_parity_rows(flags.rows);
  return code;
}

}  // namespace

void AddCodeFlags(CLI::App* app, CodeFlags* flags) {
  const char* group = "Code (one of --nr-bg, --wimax, --wifi, --matrix)";
  AddNumber(app, "--nr-bg", "BG", &flags->nr_bg, Between(1, 2), "5G NR base graph")->group(group);
  app->add_option("--wimax", flags->wimax_rate, "802.16e: rate 1/2, 2/3A, 2/3B, 3/4A, 3/4B or 5/6")
      ->type_name("RATE")
      ->group(group);
  app->add_option("--wifi", flags->wifi_rate, "802.11n: rate 1/2, 2/3, 3/4 or 5/6")
      ->type_name("RATE")
      ->group(group);
  app->add_option("--matrix", flags->matrix_file,
                  "a base matrix of your own: a row of shifts a line, -1 for a zero block")
      ->type_name("FILE")
      ->group(group);
  AddNumber(app, "--zc", "ZC", &flags->zc, Between(1, 512),
            "lifting size (--nr-bg: 384; --matrix: must be given)")
      ->group(group);
  AddNumber(app, "--n", "BITS", &flags->n, Between(1, 1 << 20),
            "code word length (--wimax: 2304, --wifi: 1944)")
      ->group(group);
  AddNumber(app, "--rows", "N", &flags->rows, Between(1, 64),
            "use the first rows of the matrix only, for a higher rate (all)")
      ->group(group);
  AddNumber(app, "--punctured", "N", &flags->punctured, Between(0, 127),
            "for --matrix: first block columns that are never sent (0)")
      ->group(group);
  AddNumber(app, "--filler", "BITS", &flags->filler, Between(0, 1 << 20),
            "last information bits of a block that are known zeros, not in the file (0)")
      ->group(group);
}

absl::StatusOr<v1::LdpcCode> ToLdpcCode(const CodeFlags& flags) {
  const int families = (flags.nr_bg != 0) + !flags.wimax_rate.empty() + !flags.wifi_rate.empty() +
                       !flags.matrix_file.empty();
  if (families != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(families == 0 ? "no code is given" : "several codes are given",
                     ": use one of --nr-bg, --wimax, --wifi, --matrix"));
  }
  absl::StatusOr<v1::LdpcCode> code = FamilyToCode(flags);
  if (!code.ok()) {
    return code;
  }
  const absl::StatusOr<client::CodeShape> shape = client::ShapeOf(*code);
  if (!shape.ok()) {
    return shape.status();
  }
  if (flags.filler >= shape->k()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--filler ", flags.filler, " is not in [0, ", shape->k() - 1, "]"));
  }
  return code;
}

absl::StatusOr<v1::CustomCode> ParseBaseMatrix(absl::string_view text, int zc, int punctured) {
  if (zc == 0) {
    return absl::InvalidArgumentError("--matrix needs --zc");
  }
  v1::CustomCode code;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = line.substr(0, line.find('#'));
    int columns = 0;
    for (const absl::string_view entry :
         absl::StrSplit(line, absl::ByAnyChar(", \t\r"), absl::SkipEmpty())) {
      int shift = -1;
      if (entry != "." && (!absl::SimpleAtoi(entry, &shift) || shift < -1 || shift >= zc)) {
        return absl::InvalidArgumentError(absl::StrCat("line ", line_number, ": shift '", entry,
                                                       "' is not in [-1, ", zc - 1, "]"));
      }
      code.add_shifts(shift);
      ++columns;
    }
    if (columns == 0) {
      continue;
    }
    if (code.rows() > 0 && static_cast<uint32_t>(columns) != code.columns()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line_number, " has ", columns,
                                                     " shifts, the lines above ", code.columns()));
    }
    code.set_columns(columns);
    code.set_rows(code.rows() + 1);
  }
  code.set_zc(zc);
  code.set_punctured_columns(punctured);
  return code;
}

absl::StatusOr<v1::WimaxCode::Rate> ParseWimaxRate(absl::string_view rate) {
  return FindValue(kWimaxRates, "--wimax", rate);
}

absl::StatusOr<v1::WifiCode::Rate> ParseWifiRate(absl::string_view rate) {
  return FindValue(kWifiRates, "--wifi", rate);
}

std::string NameOfRate(v1::WimaxCode::Rate rate) { return NameOf(kWimaxRates, rate); }

std::string NameOfRate(v1::WifiCode::Rate rate) { return NameOf(kWifiRates, rate); }

std::string Describe(const v1::LdpcCode& code) {
  const absl::StatusOr<client::CodeShape> shape = client::ShapeOf(code);
  if (!shape.ok()) {
    return std::string(shape.status().message());
  }
  const std::string size = absl::StrCat("(", shape->sent(), ",", shape->k(), ")");
  switch (code.code_case()) {
    case v1::LdpcCode::kNr:
      return absl::StrCat("5G NR BG", code.nr().base_graph(), " Zc=", code.nr().zc(), ", ",
                          shape->rows, " rows: ", size);
    case v1::LdpcCode::kWimax:
      return absl::StrCat("802.16e ", size, " rate ", NameOfRate(code.wimax().rate()));
    case v1::LdpcCode::kWifi:
      return absl::StrCat("802.11n ", size, " rate ", NameOfRate(code.wifi().rate()));
    default:
      return absl::StrCat("own code ", shape->rows, " x ", shape->columns, " Zc=", shape->zc, " ",
                          size);
  }
}

void AddDecodeFlags(CLI::App* app, DecodeFlags* flags) {
  const char* group = "Decoder";
  app->add_option("--algorithm", flags->algorithm,
                  "min-sum (normalised; or nms), sum-product (or spa), bit-flipping (hard "
                  "decision; or hard)")
      ->type_name("NAME")
      ->group(group);
  app->add_option("--schedule", flags->schedule, "layered or flooding")
      ->type_name("NAME")
      ->group(group);
  AddNumber(app, "--iterations", "N", &flags->iterations, Between(1, 100),
            "most iterations per block (10)")
      ->group(group);
  app->add_flag("--fixed", flags->fixed, "run all iterations, even when the parity checks hold")
      ->group(group);
  AddNumber(app, "--scale-factor", "FACTOR", &flags->scale_factor, UpTo(1),
            "of normalised min-sum (the server's choice)")
      ->group(group);
  AddNumber(app, "--llr-scale", "SCALE", &flags->llr_scale, Between(0.001, 127),
            "LLR units per natural LLR (4)")
      ->group(group);
}

absl::StatusOr<v1::DecodeAlgorithm> ParseAlgorithm(absl::string_view name) {
  return FindValue(kAlgorithms, "algorithm", name);
}

absl::StatusOr<v1::DecodeSchedule> ParseSchedule(absl::string_view name) {
  return FindValue(kSchedules, "schedule", name);
}

absl::StatusOr<v1::DecodeGroup> ToDecodeGroup(const DecodeFlags& flags) {
  const absl::StatusOr<v1::DecodeAlgorithm> algorithm = ParseAlgorithm(flags.algorithm);
  if (!algorithm.ok()) {
    return algorithm.status();
  }
  const absl::StatusOr<v1::DecodeSchedule> schedule = ParseSchedule(flags.schedule);
  if (!schedule.ok()) {
    return schedule.status();
  }
  if (flags.scale_factor != 0 && *algorithm != v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM) {
    return absl::InvalidArgumentError(
        absl::StrCat("--scale-factor does not go with ", flags.algorithm, ": it is of min-sum"));
  }
  v1::DecodeGroup group;
  group.set_algorithm(*algorithm);
  group.set_schedule(*schedule);
  group.set_max_iterations(flags.iterations);
  group.set_fixed_iterations(flags.fixed);
  group.set_scale_factor(flags.scale_factor);
  group.set_llr_scale(flags.llr_scale);
  group.set_llr_count(flags.llr_count);
  return group;
}

}  // namespace baseband::ctl
