// Modulated symbols over additive white Gaussian noise, as an equaliser would hand them over.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SYMBOL_CHANNEL_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SYMBOL_CHANNEL_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/random.h"

namespace baseband::ctl {

// Element type of I and of Q. What is sent comes in the type that is next to it.
enum class SymbolType { kInt8, kInt16, kFloat16, kFloat32 };

// "int8", "int16", "float16", "float32".
SymbolType ParseSymbolType(absl::string_view name);  // one of them
std::string NameOfSymbolType(SymbolType type);

// Thread-safe.
class SymbolChannel {
 public:
  // Es/N0 in dB; symbols have mean energy 1.
  SymbolChannel(SymbolType type, double snr_db);

  // Asks Encode for symbols that Transmit takes.
  void Ask(v1::EncodeSharedChannelGroup* group) const;
  // Tells Decode what Transmit makes: integers are scaled so that noise hardly ever exceeds them.
  void Tell(v1::DecodeSharedChannelGroup* group) const;

  int64_t SentBytes(int64_t symbols) const;
  int64_t ReceivedBytes(int64_t symbols) const;
  // Appends to `received` what comes of `sent`.
  void Transmit(absl::string_view sent, Random* random, std::string* received) const;

 private:
  const SymbolType type_;
  const double noise_variance_;  // N0, of I and Q together
  float scale_ = 1;              // what is received stands for itself divided by this
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SYMBOL_CHANNEL_H_
