// What EncodeSharedChannel has to answer, and what a receiver has of it, made here and not by a
// server: what tells whether a server is right.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_LOCAL_TRANSMITTER_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_LOCAL_TRANSMITTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/shared_channel/transport_format.h"

namespace baseband::ctl {

// The coded bits of the transport block `tb` at redundancy version `rv`, scrambled, packed.
absl::StatusOr<std::string> CodedBitsHere(const TransportFormat& format, int rv,
                                          const std::string& tb);

// The symbols of these bits as EncodeSharedChannel has them with that output, of symbols.
std::string SymbolsHere(const TransportFormat& format, absl::string_view coded_bits,
                        v1::SharedChannelOutput output = v1::SHARED_CHANNEL_OUTPUT_INT16);

// The soft bits that a receiver has after one transmission of version `rv`: of symbols with a noise
// variance for all of them, or of LLRs of 8, 6 or 4 bits, with all scales as `group` says them.
std::string SoftBitsHere(const TransportFormat& format, int rv,
                         const v1::DecodeSharedChannelGroup& group, absl::string_view received);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_LOCAL_TRANSMITTER_H_
