// Requests drawn at random from all that the contract allows: every option, odd sizes, mixed
// groups. For comparing devices, and for sequences that no one would think of. A few draws are
// refused by name, where options exclude one another.
#ifndef BASEBAND_TESTS_SUPPORT_RANDOM_REQUESTS_H_
#define BASEBAND_TESTS_SUPPORT_RANDOM_REQUESTS_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "baseband/v1/baseband.pb.h"
#include "tests/support/channel.h"

namespace baseband::testing {

// Some milliseconds of a core each, some of them tens. The same seed gives the same requests.
v1::EncodeRequest RandomEncodeRequest(Random& random);
// Code words with noise that decoders like, that they do not, and noise alone.
v1::DecodeRequest RandomDecodeRequest(Random& random);
// Transport blocks and code blocks of every shape and output.
v1::EncodeSharedChannelRequest RandomEncodeSharedChannelRequest(Random& random);
// Of the like what was received: in every form, with noise as above, and nonsense.
v1::DecodeSharedChannelRequest RandomDecodeSharedChannelRequest(Random& random);
// Frames around the operating point, and now and then noise, zeros or another constellation.
v1::RecoverCarrierRequest RandomRecoverCarrierRequest(Random& random);
v1::DownconvertRequest RandomDownconvertRequest(Random& random);
v1::MinimizeRequest RandomMinimizeRequest(Random& random);

// ---- what they are made of

inline bool OneIn(int n, Random& random) { return random.Below(n) == 0; }
inline double Between(double low, double high, Random& random) {
  return low + (high - low) * random.Uniform();
}
// Evenly in its logarithm; both ends positive.
double LogBetween(double low, double high, Random& random);
// 1 .. `most`, small ones as often as large ones.
int SomeCount(int most, Random& random);
template <typename T>
T OneOf(std::initializer_list<T> choices, Random& random) {
  return choices.begin()[random.Below(static_cast<int>(choices.size()))];
}
std::string RandomBytes(int64_t count, Random& random);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_RANDOM_REQUESTS_H_
