// Splits a message, as bytes, at its top level. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_MESSAGE_SPLIT_H_
#define BASEBAND_CLIENT_CPP_MESSAGE_SPLIT_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <string>

namespace baseband::client {

// Calls take(number, bytes) for each field of bytes or a message whose number `is_wanted`: it reads
// that many bytes of `in`, and says whether it could. All other fields go to `others`, serialized.
// False: `in` is no message, or a field could not be taken.
template <typename IsWanted, typename Take>
bool SplitMessage(google::protobuf::io::CodedInputStream& in, const IsWanted& is_wanted,
                  const Take& take, std::string* others) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::StringOutputStream stream(others);
  google::protobuf::io::CodedOutputStream out(&stream);
  while (const uint32_t tag = in.ReadTag()) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    int bytes = 0;
    const bool is_taken =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED &&
        is_wanted(number);
    if (is_taken ? !in.ReadVarintSizeAsInt(&bytes) || !take(number, bytes)
                 : !WireFormatLite::SkipField(&in, tag, &out)) {
      return false;
    }
  }
  return in.ConsumedEntireMessage();
}

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_MESSAGE_SPLIT_H_
