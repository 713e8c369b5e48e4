// Modulated symbols over additive white Gaussian noise, as an equaliser would hand them over, or a
// demapper behind it their LLRs.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SYMBOL_CHANNEL_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SYMBOL_CHANNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/random.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

// What DecodeSharedChannel is given. Element type of I and of Q, and what is sent comes in the type
// that is next to it; or LLRs.
enum class ReceivedType { kInt8, kInt16, kFloat16, kFloat32, kLlrInt8, kLlrInt6, kLlrInt4 };

constexpr bool IsLlr(ReceivedType type) { return type >= ReceivedType::kLlrInt8; }

// "int8", "int16", "float16", "float32", "llr-int8", "llr-int6", "llr-int4".
std::vector<std::string> NamesOfReceivedTypes();
ReceivedType ParseReceivedType(absl::string_view name);  // one of them
std::string NameOfReceivedType(ReceivedType type);
// --input, which takes those names.
CLI::Option* AddInputFlag(CLI::App* app, std::string* name);

// Thread-safe.
class SymbolChannel {
 public:
  // Es/N0 in dB; symbols of `qm` bits have mean energy 1.
  SymbolChannel(ReceivedType type, int qm, double snr_db);

  // Asks Encode for symbols that Transmit takes.
  void Ask(v1::EncodeSharedChannelGroup* group) const;
  // Tells Decode what Transmit makes: integers of symbols are scaled so that noise hardly ever
  // exceeds them.
  void Tell(v1::DecodeSharedChannelGroup* group) const;

  int64_t SentBytes(int64_t symbols) const;
  int64_t ReceivedBytes(int64_t symbols) const;
  // Appends to `received` what comes of `sent`.
  void Transmit(absl::string_view sent, Random* random, std::string* received) const;

 private:
  void AppendLlrs(const std::vector<Complex>& symbols, std::string* bytes) const;

  const ReceivedType type_;
  const int qm_;
  const double noise_variance_;  // N0, of I and Q together
  float scale_ = 1;              // what is received stands for itself divided by this
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SYMBOL_CHANNEL_H_
