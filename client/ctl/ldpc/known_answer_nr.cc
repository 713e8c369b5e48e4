#include "client/ctl/ldpc/known_answer_nr.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/ldpc/answer_fields.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/nr_code_blocks.h"
#include "kernels/nr/transport_block.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using Json = nlohmann::json;

constexpr int kNrLlrScale = 4;

// Bits that each lifting size brings: K and N.
int64_t InfoColumns(int base_graph) { return base_graph == 1 ? 22 : 10; }
int64_t SentColumns(int base_graph) { return base_graph == 1 ? 66 : 50; }

// Columns of the matrix that hold information (38.212, 5.2.2), of b bits with their CRC.
int InformationColumns(int base_graph, int64_t b) {
  if (base_graph == 1) return 22;
  return b > 640 ? 10 : b > 560 ? 9 : b > 192 ? 8 : 6;
}

void ReadCodeBlock(AnswerFields* fields, KnownAnswer* answer) {
  nr::CodeBlock block;
  block.base_graph = fields->Int("bg");
  block.zc = fields->Int("zc");
  block.num_filler = fields->Int("filler");
  block.rv = fields->Int("rv");
  block.qm = fields->Int("qm");
  block.e = fields->Int("e");
  const int64_t n = SentColumns(block.base_graph) * block.zc;
  const int64_t nref = fields->Int("nref");
  block.n_cb = nref == 0 ? 0 : static_cast<int>(std::min(nref, n));
  const auto made = nr::MakeRateMatch(block);
  if (!made.ok()) {
    fields->Refuse(made.status().message());
    return;
  }
  const int64_t k = InfoColumns(block.base_graph) * block.zc;
  fields->Expect("k", k);
  fields->Expect("k_prime", k - block.num_filler);
  fields->Expect("n", n);
  fields->Expect("ncb", made->n_cb);
  fields->Expect("k0", made->k0);
  answer->info = fields->Bits("info", k - block.num_filler);
  answer->coded_bits = block.e;
  answer->sent = fields->Bits("out", block.e);

  v1::CodeBlock& message = *answer->block.mutable_code_block();
  message.set_base_graph(static_cast<uint32_t>(block.base_graph));
  message.set_zc(static_cast<uint32_t>(block.zc));
  message.set_n_filler(static_cast<uint32_t>(block.num_filler));
  message.set_n_cb(static_cast<uint32_t>(block.n_cb));
  message.set_e(static_cast<uint32_t>(block.e));
  answer->block.set_rv(static_cast<uint32_t>(block.rv));
  answer->block.set_qm(static_cast<uint32_t>(block.qm));
}

// What both forms of transport blocks have: fills in `answer->block`, but for the redundancy
// version, and its payload. The plan is of `rv`; none, and refused, where there is none.
absl::StatusOr<nr::TransportBlockPlan> ReadTransportBlock(int rv, AnswerFields* fields,
                                                          KnownAnswer* answer) {
  const int tb_bits = fields->Int("a");
  const double code_rate = fields->Number("r_x1024") / 1024;
  nr::TransportBlock block;
  block.tb_bytes = tb_bits / 8;
  block.rv = rv;
  block.qm = fields->Int("qm");
  block.num_layers = fields->Int("layers");
  block.g = fields->Int("g");
  block.tbs_lbrm = fields->Int("tbs_lbrm");
  if (tb_bits % 8 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a ", tb_bits, " is not a multiple of 8"));
  }
  if (!(code_rate > 0 && code_rate < 1)) {
    return absl::InvalidArgumentError("r_x1024 is not in (0, 1024)");
  }
  block.base_graph = nr::ChooseBaseGraph(tb_bits, code_rate);
  absl::StatusOr<nr::TransportBlockPlan> plan = nr::MakePlan(block);
  if (!plan.ok()) {
    return plan;
  }
  fields->Expect("bg", block.base_graph);
  fields->Expect("nref", 3 * block.tbs_lbrm / (2 * plan->num_blocks));
  fields->Expect("c", plan->num_blocks);
  fields->Expect("zc", plan->zc);
  fields->Expect("k", plan->k);
  fields->Expect("k_prime", plan->k_prime);
  fields->Expect("filler", plan->num_filler());
  fields->Expect("n", SentColumns(block.base_graph) * plan->zc);
  fields->Expect("ncb", plan->of_long.n_cb);
  fields->List("e", plan->num_blocks, [&](int64_t r, const Json& e) {
    if (e != plan->e(static_cast<int>(r))) {
      fields->Refuse(absl::StrCat("e[", r, "] should be ", plan->e(static_cast<int>(r))));
    }
  });
  answer->info = fields->Bits("tb", tb_bits);
  answer->coded_bits = block.g;
  answer->soft_bytes = int64_t{plan->num_blocks} * plan->of_long.n_cb;

  v1::TransportBlock& message = *answer->block.mutable_transport_block();
  message.set_tb_bytes(static_cast<uint32_t>(block.tb_bytes));
  message.set_code_rate(static_cast<float>(code_rate));
  message.set_g(static_cast<uint32_t>(block.g));
  message.set_tbs_lbrm(static_cast<uint32_t>(block.tbs_lbrm));
  answer->block.set_qm(static_cast<uint32_t>(block.qm));
  answer->block.set_layers(static_cast<uint32_t>(block.num_layers));
  return plan;
}

void ReadChain(AnswerFields* fields, KnownAnswer* answer) {
  const int rv = fields->Int("rv");
  answer->block.set_rv(static_cast<uint32_t>(rv));
  const auto plan = ReadTransportBlock(rv, fields, answer);
  if (!plan.ok()) {
    fields->Refuse(plan.status().message());
    return;
  }
  const int64_t b = plan->tb_bits + plan->tb_crc_bits;
  fields->Expect("tb_crc_bits", plan->tb_crc_bits);
  fields->Expect("b", b);
  fields->Expect("kb", InformationColumns(plan->base_graph, b));
  fields->Expect("k0", plan->of_long.k0);
  answer->sent = fields->Bits("out", answer->coded_bits);
  const std::vector<std::string> blocks = CodeBlocksOf(*plan, answer->info);
  fields->List("cbs", plan->num_blocks, [&](int64_t r, const Json& text) {
    const auto bits = FromHex(text.is_string() ? text.get<std::string>() : "?");
    if (!bits.ok() || *bits != blocks[static_cast<size_t>(r)]) {
      fields->Refuse(absl::StrCat("cbs[", r, "] is not that part of tb with its CRC"));
    }
  });
}

void ReadTransmissions(AnswerFields* fields, KnownAnswer* answer) {
  const auto plan = ReadTransportBlock(0, fields, answer);
  if (!plan.ok()) {
    fields->Refuse(plan.status().message());
    return;
  }
  fields->Expect("llr_scale", kNrLlrScale);
  answer->sigma2 = std::pow(10, -fields->Number("snr_db") / 10);
  if (!(answer->sigma2 > 1e-9 && answer->sigma2 < 1e9)) {
    fields->Refuse("snr_db is not in (-90, 90)");
  }
  fields->List("tx", -1, [&](int64_t index, const Json& element) {
    if (!element.is_object()) {
      fields->Refuse(absl::StrCat("tx[", index, "] is not an object"));
      return;
    }
    AnswerFields of_one(element);
    KnownAnswer::Transmission transmission;
    transmission.rv = static_cast<uint32_t>(of_one.Int("rv"));
    if (transmission.rv > 3) {
      of_one.Refuse(absl::StrCat("rv ", transmission.rv, " is not in [0, 3]"));
    }
    transmission.llr = of_one.Bytes("llr", answer->coded_bits);
    if (absl::Status status = of_one.Finish(); !status.ok()) {
      fields->Refuse(absl::StrCat("tx[", index, "]: ", status.message()));
    }
    answer->transmissions.push_back(std::move(transmission));
  });
  answer->first_decodes = fields->Bool("decodes_after_first_tx");
  if (answer->first_decodes != (answer->transmissions.size() == 1)) {
    fields->Refuse(absl::StrCat("decodes_after_first_tx does not go with ",
                                answer->transmissions.size(), " transmissions"));
  }
  if (!answer->transmissions.empty()) {
    answer->block.set_rv(answer->transmissions[0].rv);
  }
}

}  // namespace

absl::StatusOr<KnownAnswer> ParseNrAnswer(const Json& json) {
  AnswerFields fields(json);
  KnownAnswer answer;
  answer.number = fields.Int("case");
  if (fields.Has("tx")) {
    answer.kind = KnownAnswer::Kind::kSharedDecode;
    ReadTransmissions(&fields, &answer);
  } else {
    answer.kind = KnownAnswer::Kind::kSharedEncode;
    fields.Has("cbs") ? ReadChain(&fields, &answer) : ReadCodeBlock(&fields, &answer);
  }
  if (absl::Status status = fields.Finish(); !status.ok()) {
    return status;
  }
  return answer;
}

}  // namespace baseband::ctl
