#include "client/ctl/ldpc/known_answer.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/ldpc/answer_fields.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/ldpc/known_answer_nr.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr int kLlrScale = 4;

// Set index of TS 38.212 table 5.3.2-1: which a in a * 2^j.
int LiftingSet(int zc) {
  constexpr int kFactors[] = {2, 3, 5, 7, 9, 11, 13, 15};
  while (zc % 2 == 0 && zc > 2) {
    zc /= 2;
  }
  for (int set = 0; set < 8; ++set) {
    if (kFactors[set] == zc) {
      return set;
    }
  }
  return -1;
}

void ReadNrCode(AnswerFields* fields, KnownAnswer* answer) {
  answer->code.mutable_nr()->set_base_graph(fields->Int("bg"));
  answer->code.mutable_nr()->set_zc(fields->Int("zc"));
}

void ReadIeeeCode(AnswerFields* fields, KnownAnswer* answer) {
  const std::string standard = fields->Text("standard");
  const std::string rate = fields->Text("rate");
  const int n = fields->Int("n");
  if (standard == "802.16e") {
    const auto parsed = ParseWimaxRate(rate);
    if (!parsed.ok()) {
      fields->Refuse(parsed.status().message());
    }
    answer->code.mutable_wimax()->set_rate(parsed.value_or(v1::WimaxCode::RATE_1_2));
    answer->code.mutable_wimax()->set_n(n);
  } else if (standard == "802.11n") {
    const auto parsed = ParseWifiRate(rate);
    if (!parsed.ok()) {
      fields->Refuse(parsed.status().message());
    }
    answer->code.mutable_wifi()->set_rate(parsed.value_or(v1::WifiCode::RATE_1_2));
    answer->code.mutable_wifi()->set_n(n);
  } else {
    fields->Refuse(absl::StrCat("standard '", standard, "' is not 802.16e or 802.11n"));
  }
}

void ReadEncodeCase(AnswerFields* fields, KnownAnswer* answer) {
  if (answer->code.has_nr()) {
    fields->Expect("ils", LiftingSet(answer->shape.zc));
    fields->Expect("n_full", answer->shape.full());
  } else {
    fields->Expect("z", answer->shape.zc);
  }
  answer->info = fields->Bits("info", answer->shape.k());
  answer->codeword = fields->Bits("codeword", answer->shape.full());
}

void ReadDecodeCase(AnswerFields* fields, KnownAnswer* answer) {
  const int llr_count = fields->Int("llr_count");
  int coded_bits = llr_count;  // that carry something: without fillers
  if (answer->code.has_nr()) {
    if (const std::string standard = fields->Text("standard"); standard != "38.212") {
      fields->Refuse(absl::StrCat("standard '", standard, "' is not 38.212"));
    }
    fields->Expect("n", answer->shape.sent());
    answer->filler = fields->Int("filler");
    if (answer->filler >= answer->shape.k()) {
      fields->Refuse(absl::StrCat("filler ", answer->filler, " is not below k"));
      answer->filler = 0;
    }
    fields->Expect("k_prime", answer->shape.k() - answer->filler);
    coded_bits = llr_count - answer->filler;
    fields->Expect("e", coded_bits);
  } else {
    fields->Expect("z", answer->shape.zc);
    fields->Expect("llr_count", answer->shape.sent());
  }
  if (llr_count < 1 || llr_count > answer->shape.sent()) {
    fields->Refuse(
        absl::StrCat("llr_count ", llr_count, " is not in [1, ", answer->shape.sent(), "]"));
    return;
  }
  fields->Expect("llr_scale", kLlrScale);
  const int info_bits = answer->shape.k() - answer->filler;
  const double ebn0_db = fields->Number("ebn0_db");
  answer->sigma2 = fields->Number("sigma2");
  const std::string expected =
      absl::StrFormat("%.8f", NoiseVariance(ebn0_db, static_cast<double>(info_bits) / coded_bits));
  if (absl::StrFormat("%.8f", answer->sigma2) != expected || answer->sigma2 <= 0) {
    fields->Refuse(absl::StrFormat("sigma2 %.10g does not go with ebn0_db %g and the rate: %s",
                                   answer->sigma2, ebn0_db, expected));
  }
  answer->info = fields->Bits("info", info_bits);
  answer->llr = fields->Bytes("llr", llr_count);
}

}  // namespace

absl::StatusOr<KnownAnswer> ParseKnownAnswer(absl::string_view line) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("not a JSON object");
  }
  if (json.contains("out") || json.contains("tx")) {
    return ParseNrAnswer(json);
  }
  AnswerFields fields(json);
  KnownAnswer answer;
  if (fields.Has("codeword") == fields.Has("llr")) {
    return absl::InvalidArgumentError(
        "no case of Encode (field codeword), Decode (llr) or a shared channel (out, tx)");
  }
  answer.kind = fields.Has("codeword") ? KnownAnswer::Kind::kEncode : KnownAnswer::Kind::kDecode;
  answer.number = fields.Int("case");
  if (answer.kind == KnownAnswer::Kind::kDecode) {
    answer.group = fields.Text("group");
  }
  fields.Has("bg") ? ReadNrCode(&fields, &answer) : ReadIeeeCode(&fields, &answer);
  const absl::StatusOr<client::CodeShape> shape = client::ShapeOf(answer.code);
  if (!shape.ok()) {
    fields.Refuse(shape.status().message());
    return fields.Finish();
  }
  answer.shape = *shape;
  fields.Expect("k", answer.shape.k());
  answer.kind == KnownAnswer::Kind::kEncode ? ReadEncodeCase(&fields, &answer)
                                            : ReadDecodeCase(&fields, &answer);
  if (absl::Status status = fields.Finish(); !status.ok()) {
    return status;
  }
  return answer;
}

absl::Status CheckLlr(int index, int llr, bool bit, double sigma2) {
  constexpr double kDeviations = 6.5;
  if (llr == -128) {
    return absl::InvalidArgumentError(absl::StrCat("llr ", index, " is -128, below the range"));
  }
  const double mean = kLlrScale * 2 / sigma2;
  const double reach = kDeviations * kLlrScale * 2 / std::sqrt(sigma2) + 0.5;
  const double right = bit ? -llr : llr;  // positive: speaks for the true bit
  const bool clipped = right == 127;
  return right > mean + reach || (right < mean - reach && !clipped)
             ? absl::InvalidArgumentError(absl::StrFormat(
                   "llr %d is %d, which sigma2 %g and its bit make impossible", index, llr, sigma2))
             : absl::OkStatus();
}

absl::Status CheckLlrs(const KnownAnswer& answer, absl::string_view codeword) {
  const int punctured = answer.shape.full() - answer.shape.sent();
  const int first_filler = answer.shape.k() - answer.filler - punctured;
  const int after_fillers = answer.shape.k() - punctured;
  for (int i = 0; i < static_cast<int>(answer.llr.size()); ++i) {
    const int llr = static_cast<int8_t>(answer.llr[i]);
    const bool is_filler = i >= first_filler && i < after_fillers;
    if (is_filler && llr != 127) {
      return absl::InvalidArgumentError(
          absl::StrCat("llr ", i, " is ", llr, "; it is a filler's and should be 127"));
    }
    if (is_filler) {
      continue;
    }
    if (absl::Status status = CheckLlr(i, llr, GetBit(codeword, i), answer.sigma2); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::ctl
