// A request with one of its fields changed to something that nobody would send, for every field
// that it has and every kind of extreme.
#ifndef BASEBAND_TESTS_SUPPORT_FIELD_EXTREMES_H_
#define BASEBAND_TESTS_SUPPORT_FIELD_EXTREMES_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

namespace baseband::testing {

// Ways to set a field of one value, or of a repeated field that is not empty its last one.
inline std::vector<std::function<void(google::protobuf::Message*)>> ExtremesOf(
    const google::protobuf::FieldDescriptor* field) {
  using Field = google::protobuf::FieldDescriptor;
  using google::protobuf::Message;
  std::vector<std::function<void(Message*)>> ways;
  const auto add = [&ways, field](auto values, auto set, auto set_repeated) {
    for (const auto value : values) {
      ways.push_back([=](Message* message) {
        const google::protobuf::Reflection& reflection = *message->GetReflection();
        if (!field->is_repeated()) {
          (reflection.*set)(message, field, value);
        } else if (const int size = reflection.FieldSize(*message, field); size > 0) {
          (reflection.*set_repeated)(message, field, size - 1, value);
        }
      });
    }
  };
  using Reflection = google::protobuf::Reflection;
  switch (field->cpp_type()) {
    case Field::CPPTYPE_UINT32:
      add(std::vector<uint32_t>{0, 1, 3, 1 << 16, 1 << 20, UINT32_MAX}, &Reflection::SetUInt32,
          &Reflection::SetRepeatedUInt32);
      break;
    case Field::CPPTYPE_UINT64:
      add(std::vector<uint64_t>{0, 1, 3, 1 << 20, uint64_t{1} << 62, UINT64_MAX},
          &Reflection::SetUInt64, &Reflection::SetRepeatedUInt64);
      break;
    case Field::CPPTYPE_INT32:
      add(std::vector<int32_t>{0, -1, INT32_MIN, INT32_MAX}, &Reflection::SetInt32,
          &Reflection::SetRepeatedInt32);
      break;
    case Field::CPPTYPE_INT64:
      add(std::vector<int64_t>{0, -1, INT64_MIN, INT64_MAX}, &Reflection::SetInt64,
          &Reflection::SetRepeatedInt64);
      break;
    case Field::CPPTYPE_ENUM:
      add(std::vector<int>{-1, 0, 1, 2, 3, 4, 5, 6, 7, 99}, &Reflection::SetEnumValue,
          &Reflection::SetRepeatedEnumValue);
      break;
    case Field::CPPTYPE_BOOL:
      add(std::vector<int>{0, 1}, &Reflection::SetBool, &Reflection::SetRepeatedBool);
      break;
    case Field::CPPTYPE_FLOAT: {
      using Limits = std::numeric_limits<float>;
      add(std::vector<float>{0.0F, -1.0F, 1e-30F, Limits::max(), Limits::infinity(),
                             Limits::quiet_NaN()},
          &Reflection::SetFloat, &Reflection::SetRepeatedFloat);
      break;
    }
    case Field::CPPTYPE_DOUBLE: {
      using Limits = std::numeric_limits<double>;
      add(std::vector<double>{0.0, -1.0, 1e-300, 0.25, 1e9, Limits::max(), Limits::infinity(),
                              Limits::quiet_NaN()},
          &Reflection::SetDouble, &Reflection::SetRepeatedDouble);
      break;
    }
    case Field::CPPTYPE_STRING:
      for (const char* value : {"", "nonsense", "(("}) {
        ways.push_back([=](Message* message) {
          if (!field->is_repeated()) message->GetReflection()->SetString(message, field, value);
        });
      }
      break;
    case Field::CPPTYPE_MESSAGE:
      break;
  }
  if (field->is_repeated() || field->has_presence()) {
    ways.push_back([=](Message* message) { message->GetReflection()->ClearField(message, field); });
  }
  if (field->is_repeated()) {
    ways.push_back([=](Message* message) {  // the last one is gone
      const Reflection& reflection = *message->GetReflection();
      if (reflection.FieldSize(*message, field) > 0) reflection.RemoveLast(message, field);
    });
  }
  return ways;
}

// Calls `visit` for each way to change a field of `at`, or of a message in it, while it is changed.
// In the end `at` is what it was; messages in it are new ones.
inline void ForEachExtreme(google::protobuf::Message* at, const std::function<void()>& visit) {
  const google::protobuf::Reflection& reflection = *at->GetReflection();
  const google::protobuf::Descriptor& type = *at->GetDescriptor();
  for (int f = 0; f < type.field_count(); ++f) {
    const google::protobuf::FieldDescriptor* const field = type.field(f);
    const std::unique_ptr<google::protobuf::Message> before(at->New());
    before->CopyFrom(*at);
    for (const auto& change : ExtremesOf(field)) {
      change(at);
      visit();
      at->CopyFrom(*before);
    }
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      // Into what is there; what is not is tried as it is when it comes without any field.
      const bool was_there = reflection.HasField(*at, field);
      google::protobuf::Message* const inside = reflection.MutableMessage(at, field);
      visit();
      if (was_there) ForEachExtreme(inside, visit);
      at->CopyFrom(*before);
    } else if (const int size = reflection.FieldSize(*at, field); size > 0) {
      ForEachExtreme(reflection.MutableRepeatedMessage(at, field, size - 1), visit);
      at->CopyFrom(*before);
    }
  }
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FIELD_EXTREMES_H_
