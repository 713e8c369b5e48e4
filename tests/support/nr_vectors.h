// Known answers of rate matching and of transport blocks, read from the vectors folder.
#ifndef BASEBAND_TESTS_SUPPORT_NR_VECTORS_H_
#define BASEBAND_TESTS_SUPPORT_NR_VECTORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/nr/transport_block.h"
#include "tests/support/ldpc_vectors.h"

namespace baseband::testing {

// Bits are packed, most significant first, the last byte filled up with zero bits.
struct NrRateMatchVector {
  int number = 0;
  nr::CodeBlock block;
  int k_prime = 0;
  int n_cb = 0;  // as it follows from block.n_cb
  int k0 = 0;
  std::vector<uint8_t> info;  // k_prime bits
  std::vector<uint8_t> out;   // e bits
};

inline std::vector<NrRateMatchVector> ReadNrRateMatchVectors() {
  std::vector<NrRateMatchVector> vectors;
  for (const nlohmann::json& answer : ReadJsonLines("ldpc/nr_rate_match.jsonl")) {
    NrRateMatchVector v;
    v.number = answer.at("case");
    v.block.base_graph = answer.at("bg");
    v.block.zc = answer.at("zc");
    v.block.num_filler = answer.at("filler");
    v.block.n_cb = answer.at("nref");
    v.block.rv = answer.at("rv");
    v.block.qm = answer.at("qm");
    v.block.e = answer.at("e");
    v.k_prime = answer.at("k_prime");
    v.n_cb = answer.at("ncb");
    v.k0 = answer.at("k0");
    v.info = FromHex(answer.at("info"));
    v.out = FromHex(answer.at("out"));
    vectors.push_back(v);
  }
  return vectors;
}

// Parameters that a transport block's vector gives, and what follows from them.
struct NrPlanVector {
  int number = 0;
  nr::TransportBlock block;
  double code_rate = 0;
  int zc = 0;
  int k = 0;
  int k_prime = 0;
  int n_cb = 0;
  std::vector<int> e;       // of every code block
  std::vector<uint8_t> tb;  // the payload
};

inline NrPlanVector ReadNrPlanVector(const nlohmann::json& answer) {
  NrPlanVector v;
  v.number = answer.at("case");
  v.block.tb_bytes = answer.at("a").get<int64_t>() / 8;
  v.block.base_graph = answer.at("bg");
  v.block.qm = answer.at("qm");
  v.block.num_layers = answer.at("layers");
  v.block.g = answer.at("g");
  v.block.tbs_lbrm = answer.at("tbs_lbrm");
  v.code_rate = answer.at("r_x1024").get<double>() / 1024;
  v.zc = answer.at("zc");
  v.k = answer.at("k");
  v.k_prime = answer.at("k_prime");
  v.n_cb = answer.at("ncb");
  v.e = answer.at("e").get<std::vector<int>>();
  v.tb = FromHex(answer.at("tb"));
  return v;
}

struct NrChainVector {
  NrPlanVector plan;
  int tb_crc_bits = 0;
  int k0 = 0;
  std::vector<std::vector<uint8_t>> blocks;  // k_prime bits each
  std::vector<uint8_t> out;                  // g bits
};

inline std::vector<NrChainVector> ReadNrChainVectors() {
  std::vector<NrChainVector> vectors;
  for (const nlohmann::json& answer : ReadJsonLines("ldpc/nr_tb_chain.jsonl")) {
    NrChainVector v;
    v.plan = ReadNrPlanVector(answer);
    v.plan.block.rv = answer.at("rv");
    v.tb_crc_bits = answer.at("tb_crc_bits");
    v.k0 = answer.at("k0");
    for (const std::string block : answer.at("cbs")) v.blocks.push_back(FromHex(block));
    v.out = FromHex(answer.at("out"));
    vectors.push_back(v);
  }
  return vectors;
}

struct NrDecodeVector {
  struct Transmission {
    int rv = 0;
    std::vector<int8_t> llr;  // [g]
  };
  NrPlanVector plan;  // its rv is that of no transmission in particular
  std::vector<Transmission> transmissions;
  bool decodes_after_first = false;
};

inline std::vector<NrDecodeVector> ReadNrDecodeVectors() {
  std::vector<NrDecodeVector> vectors;
  for (const nlohmann::json& answer : ReadJsonLines("ldpc/nr_tb_decode.jsonl")) {
    NrDecodeVector v;
    v.plan = ReadNrPlanVector(answer);
    for (const nlohmann::json& sent : answer.at("tx")) {
      const std::vector<uint8_t> bytes = FromHex(sent.at("llr"));
      v.transmissions.push_back({sent.at("rv"), {bytes.begin(), bytes.end()}});
    }
    v.decodes_after_first = answer.at("decodes_after_first_tx");
    vectors.push_back(v);
  }
  return vectors;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_NR_VECTORS_H_
