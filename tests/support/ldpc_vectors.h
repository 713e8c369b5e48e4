// Known answers of LDPC encoding, read from the vectors folder, and blocks to encode.
#ifndef BASEBAND_TESTS_SUPPORT_LDPC_VECTORS_H_
#define BASEBAND_TESTS_SUPPORT_LDPC_VECTORS_H_

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/base/hex.h"
#include "kernels/ldpc/code.h"
#include "nlohmann/json.hpp"

namespace baseband::testing {

// The vectors folder; the environment variable BASEBAND_TEST_DATA names another than the source
// tree's.
inline std::string TestDataPath(const std::string& file) {
  const char* const elsewhere = std::getenv("BASEBAND_TEST_DATA");
  return std::string(elsewhere != nullptr ? elsewhere : BASEBAND_TEST_DATA) + "/" + file;
}

inline std::vector<uint8_t> FromHex(const std::string& hex) {
  const std::string bytes = BytesOfHex(hex);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

// One JSON object a line.
inline std::vector<nlohmann::json> ReadJsonLines(const std::string& file) {
  std::ifstream in(TestDataPath(file));
  EXPECT_TRUE(in.good()) << "cannot read " << TestDataPath(file);
  std::vector<nlohmann::json> cases;
  for (std::string line; std::getline(in, line);) {
    cases.push_back(nlohmann::json::parse(line));
  }
  return cases;
}

// A message and its code word, most significant bit first, last bytes filled up with zero bits.
struct EncodeVector {
  ldpc::CodePtr code;
  std::vector<uint8_t> info;      // k bits
  std::vector<uint8_t> codeword;  // n bits
};

// All answers of ldpc/nr_encode.jsonl and ldpc/wimax_wifi_encode.jsonl.
inline std::vector<EncodeVector> ReadEncodeVectors() {
  std::vector<EncodeVector> vectors;
  const auto add = [&](const absl::StatusOr<ldpc::CodePtr>& code, const nlohmann::json& answer) {
    ASSERT_TRUE(code.ok()) << code.status();
    vectors.push_back({*code, FromHex(answer.at("info")), FromHex(answer.at("codeword"))});
  };
  for (const nlohmann::json& answer : ReadJsonLines("ldpc/nr_encode.jsonl")) {
    add(ldpc::NrCode(answer.at("bg"), answer.at("zc")), answer);
  }
  for (const nlohmann::json& answer : ReadJsonLines("ldpc/wimax_wifi_encode.jsonl")) {
    const std::string rate = answer.at("rate");
    const int n = answer.at("n");
    add(answer.at("standard") == "802.16e" ? ldpc::WimaxCode(rate, n) : ldpc::WifiCode(rate, n),
        answer);
  }
  return vectors;
}

// All codes of 802.16e and 802.11n.
inline std::vector<ldpc::CodePtr> IeeeCodes() {
  std::vector<ldpc::CodePtr> codes;
  for (const char* rate : {"1/2", "2/3A", "2/3B", "3/4A", "3/4B", "5/6"}) {
    for (int n = 576; n <= 2304; n += 96) {
      codes.push_back(*ldpc::WimaxCode(rate, n));
    }
  }
  for (const char* rate : {"1/2", "2/3", "3/4", "5/6"}) {
    for (const int n : {648, 1296, 1944}) {
      codes.push_back(*ldpc::WifiCode(rate, n));
    }
  }
  return codes;
}

// Both base graphs at every lifting size, all rows.
inline std::vector<ldpc::CodePtr> NrCodes() {
  std::vector<ldpc::CodePtr> codes;
  for (const int base_graph : {1, 2}) {
    for (const int zc : ldpc::NrLiftingSizes()) {
      codes.push_back(*ldpc::NrCode(base_graph, zc));
    }
  }
  return codes;
}

inline std::vector<uint8_t> RandomBytes(size_t count, std::mt19937* random) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>((*random)());
  }
  return bytes;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_LDPC_VECTORS_H_
