// How much a call matters beside others, those of other clients too.
#ifndef BASEBAND_CLIENT_CPP_PRIORITY_H_
#define BASEBAND_CLIENT_CPP_PRIORITY_H_

namespace baseband::client {

// The server does what is high before what is normal. What is low it does on lanes of its own, that
// give way to the others, and with a small part of the time at least.
enum class Priority { kHigh, kNormal, kLow };

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_PRIORITY_H_
