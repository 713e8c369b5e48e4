// How a group of DecodeSharedChannel is to be received and decoded: the wire's options, checked and
// made numbers.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_OPTIONS_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_OPTIONS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "server/operations/shared_channel/decode_shared_channel.h"

namespace baseband::server {

// Both fill in `group`, whose block and count are there. InvalidArgument names the field, its value
// and its range.
//
// What a payload's size depends on: what is received, in which scale, and which soft bits come with
// it or are held.
absl::Status ReceivedFromProto(const v1::DecodeSharedChannelGroup& message,
                               DecodeSharedChannelGroup* group);
// The decoder's parameters.
absl::Status ParametersFromProto(const v1::DecodeSharedChannelGroup& message,
                                 DecodeSharedChannelGroup* group);

// InvalidArgument, of `field`: soft bits cannot be held under `key`.
absl::Status CheckHarqKey(absl::string_view field, absl::string_view key);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_OPTIONS_H_
