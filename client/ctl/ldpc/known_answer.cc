#include "client/ctl/ldpc/known_answer.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/code_flags.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using Json = nlohmann::json;

constexpr int kLlrScale = 4;

// The fields of one line. The first that is wrong decides the status; reading goes on with zeros.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  bool Has(const char* name) const { return json_.contains(name); }

  int Int(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr || !field->is_number_integer() || field->get<int64_t>() < 0 ||
        field->get<int64_t>() > INT32_MAX) {
      Refuse(absl::StrCat(name, " is not a whole number"));
      return 0;
    }
    return field->get<int>();
  }

  double Number(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr || !field->is_number()) {
      Refuse(absl::StrCat(name, " is not a number"));
      return 0;
    }
    return field->get<double>();
  }

  std::string Text(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr || !field->is_string()) {
      Refuse(absl::StrCat(name, " is not a string"));
      return "";
    }
    return field->get<std::string>();
  }

  std::string Bytes(const char* name, int64_t size) {
    absl::StatusOr<std::string> bytes = FromHex(Text(name));
    if (!bytes.ok()) {
      Refuse(absl::StrCat(name, ": ", bytes.status().message()));
    } else if (static_cast<int64_t>(bytes->size()) != size) {
      Refuse(absl::StrCat(name, " has ", bytes->size(), " bytes instead of ", size));
    } else {
      return *std::move(bytes);
    }
    return std::string(size, '\0');
  }

  std::string Bits(const char* name, int64_t bits) {
    std::string bytes = Bytes(name, client::PackedBytes(bits));
    if (!PaddingIsZero(bytes, bits)) {
      Refuse(absl::StrCat(name, " has ones after its ", bits, " bits"));
    }
    return bytes;
  }

  // A field whose value the others decide.
  void Expect(const char* name, int64_t expected) {
    if (const int value = Int(name); value != expected) {
      Refuse(absl::StrCat(name, " is ", value, " and should be ", expected));
    }
  }

  void Refuse(absl::string_view message) { status_.Update(absl::InvalidArgumentError(message)); }

  // The status so far; also refuses fields that nobody asked for.
  absl::Status Finish() {
    for (const auto& [name, value] : json_.items()) {
      if (used_.count(name) == 0) {
        Refuse(absl::StrCat("field '", name, "' is unknown"));
      }
    }
    return status_;
  }

 private:
  const Json* Find(const char* name) {
    used_.insert(name);
    const auto field = json_.find(name);
    if (field == json_.end()) {
      Refuse(absl::StrCat("field '", name, "' is missing"));
      return nullptr;
    }
    return &*field;
  }

  const Json& json_;
  std::set<std::string> used_;
  absl::Status status_;
};

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

void ReadNrCode(Fields* fields, KnownAnswer* answer) {
  answer->code.mutable_nr()->set_base_graph(fields->Int("bg"));
  answer->code.mutable_nr()->set_zc(fields->Int("zc"));
}

void ReadIeeeCode(Fields* fields, KnownAnswer* answer) {
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

void ReadEncodeCase(Fields* fields, KnownAnswer* answer) {
  if (answer->code.has_nr()) {
    fields->Expect("ils", LiftingSet(answer->shape.zc));
    fields->Expect("n_full", answer->shape.full());
  } else {
    fields->Expect("z", answer->shape.zc);
  }
  answer->info = fields->Bits("info", answer->shape.k());
  answer->codeword = fields->Bits("codeword", answer->shape.full());
}

void ReadDecodeCase(Fields* fields, KnownAnswer* answer) {
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
  const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("not a JSON object");
  }
  Fields fields(json);
  KnownAnswer answer;
  if (fields.Has("codeword") == fields.Has("llr")) {
    return absl::InvalidArgumentError(
        "neither an Encode case (field codeword) nor a Decode case (field llr)");
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

absl::Status CheckLlrs(const KnownAnswer& answer, absl::string_view codeword) {
  constexpr double kDeviations = 6.5;
  const int punctured = answer.shape.full() - answer.shape.sent();
  const int first_filler = answer.shape.k() - answer.filler - punctured;
  const int after_fillers = answer.shape.k() - punctured;
  const double mean = kLlrScale * 2 / answer.sigma2;
  const double reach = kDeviations * kLlrScale * 2 / std::sqrt(answer.sigma2) + 0.5;
  for (int i = 0; i < static_cast<int>(answer.llr.size()); ++i) {
    const int llr = static_cast<int8_t>(answer.llr[i]);
    if (llr == -128) {
      return absl::InvalidArgumentError(absl::StrCat("llr ", i, " is -128, below the range"));
    }
    if (i >= first_filler && i < after_fillers) {
      if (llr != 127) {
        return absl::InvalidArgumentError(
            absl::StrCat("llr ", i, " is ", llr, "; it is a filler's and should be 127"));
      }
      continue;
    }
    const double right = GetBit(codeword, i) ? -llr : llr;  // positive: speaks for the true bit
    const bool clipped = right == 127;
    if (right > mean + reach || (right < mean - reach && !clipped)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "llr %d is %d, which sigma2 %g and its bit make impossible", i, llr, answer.sigma2));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::ctl
