// 5G shared channels as a sender sends them and a receiver gets them: for tests of requests.
#ifndef BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_WORDS_H_
#define BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "server/operations/shared_channel/shared_channel_block.h"
#include "tests/support/channel.h"

namespace baseband::testing {

// What is sent of `block`: its coded bits, scrambled if it has a c_init, packed. `payload` has
// block.payload_bytes().
std::vector<uint8_t> SentBitsOf(const server::SharedChannelBlock& block,
                                const std::string& payload);

// What comes of these in the form that `group` says, as a request's payload has it: `soft`, if the
// group has soft bits; LLRs of bits, or symbols; their noise. `snr_db` is a symbol's, and of LLRs a
// bit's. Filled up with zeros to a multiple of 4 bytes.
std::string ReceivedOf(const server::SharedChannelBlock& block, const std::vector<uint8_t>& sent,
                       const v1::DecodeSharedChannelGroup& group, double snr_db, Random& random,
                       const std::string& soft = "");

inline bool HasSymbols(v1::SharedChannelInput input) {
  return input >= v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_WORDS_H_
