// Requests that are right, nearly right, claim more than they bring, or are no messages at all.
#ifndef BASEBAND_TESTS_FUZZ_RANDOM_MESSAGE_H_
#define BASEBAND_TESTS_FUZZ_RANDOM_MESSAGE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/jobs/request.h"
#include "tests/support/convert_request.h"
#include "tests/support/field_extremes.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {

// Many times what a repeated field ends with: groups, channels, retunes, points.
inline void Repeat(google::protobuf::Message* message,
                   const google::protobuf::FieldDescriptor* field, Random& random) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  const int size = reflection.FieldSize(*message, field);
  if (size == 0) return;
  const bool is_message = field->cpp_type() == Field::CPPTYPE_MESSAGE;
  const size_t bytes =
      is_message ? reflection.GetRepeatedMessage(*message, field, size - 1).ByteSizeLong() + 2 : 4;
  constexpr size_t kMostBytes = size_t{1} << 18;
  const size_t times = std::min(OneOf<size_t>({1, 7, 100, 700, 5000}, random), kMostBytes / bytes);
  for (size_t i = 0; i < times; ++i) {
    switch (field->cpp_type()) {
      case Field::CPPTYPE_MESSAGE:
        reflection.AddMessage(message, field)
            ->CopyFrom(reflection.GetRepeatedMessage(*message, field, size - 1));
        break;
      case Field::CPPTYPE_FLOAT:
        reflection.AddFloat(message, field, static_cast<float>(random.Normal()));
        break;
      case Field::CPPTYPE_INT32:
        reflection.AddInt32(message, field, random.Below(600) - 1);
        break;
      case Field::CPPTYPE_UINT32:
        reflection.AddUInt32(message, field, static_cast<uint32_t>(random.Below(1 << 20)));
        break;
      default:
        return;
    }
  }
}

// One field of the message, or of one in it, becomes what nobody would send.
inline void ChangeOneField(google::protobuf::Message* message, Random& random) {
  const google::protobuf::Descriptor& type = *message->GetDescriptor();
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  if (type.field_count() == 0) return;
  const auto* const field = type.field(random.Below(type.field_count()));
  const bool is_message = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
  if (field->is_repeated()) {
    if (OneIn(3, random)) return Repeat(message, field, random);
    const int size = reflection.FieldSize(*message, field);
    if (is_message && size > 0 && !OneIn(6, random)) {
      return ChangeOneField(reflection.MutableRepeatedMessage(message, field, random.Below(size)),
                            random);
    }
  } else if (is_message && !OneIn(6, random)) {
    return ChangeOneField(reflection.MutableMessage(message, field), random);
  }
  const auto ways = ExtremesOf(field);
  if (!ways.empty())
    ways[static_cast<size_t>(random.Below(static_cast<int>(ways.size())))](message);
}

// `message` with a few such changes, as converters see it; now and then broken on its way.
template <typename Message>
server::Request Distorted(Message message, Random& random) {
  for (int changes = OneOf({0, 0, 1, 1, 2, 4}, random); changes > 0; --changes) {
    ChangeOneField(&message, random);
  }
  server::Request request = server::RequestOf(std::move(message));
  if (OneIn(12, random) && !request.header.empty()) {
    const auto size = static_cast<int>(request.header.size());
    if (OneIn(2, random)) {
      request.header.resize(static_cast<size_t>(random.Below(size)));
    } else {
      request.header[static_cast<size_t>(random.Below(size))] ^=
          static_cast<char>(1 << random.Below(8));
    }
  }
  return request;
}

// A request of the operation of that name.
inline server::Request RandomRequest(const std::string& operation, Random& random) {
  if (operation == "Encode") return Distorted(RandomEncodeRequest(random), random);
  if (operation == "Decode") return Distorted(RandomDecodeRequest(random), random);
  if (operation == "EncodeSharedChannel") {
    return Distorted(RandomEncodeSharedChannelRequest(random), random);
  }
  if (operation == "DecodeSharedChannel") {
    return Distorted(RandomDecodeSharedChannelRequest(random), random);
  }
  if (operation == "RecoverCarrier") return Distorted(RandomRecoverCarrierRequest(random), random);
  if (operation == "Downconvert") return Distorted(RandomDownconvertRequest(random), random);
  return Distorted(RandomMinimizeRequest(random), random);
}

// A message of a DownconvertStream, its first or another.
inline server::Request RandomStreamMessage(bool first, Random& random) {
  v1::DownconvertRequest message = RandomDownconvertRequest(random);
  if (!OneIn(8, random)) {
    message.clear_history();
    message.clear_zero_history();
    if (!first) message.clear_setup();
  }
  if (!OneIn(4, random)) message.clear_first_sample();
  if (!OneIn(3, random)) message.clear_retunes();
  return Distorted(std::move(message), random);
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_RANDOM_MESSAGE_H_
