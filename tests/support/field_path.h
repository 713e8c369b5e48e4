// Whether a refusal says by which field: its message begins with the path of one as the .proto has
// it, "groups[3].code.nr.zc 7 is not in ..".
#ifndef BASEBAND_TESTS_SUPPORT_FIELD_PATH_H_
#define BASEBAND_TESTS_SUPPORT_FIELD_PATH_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

// What is wrong with `path` as that of a field, or a oneof, of `message`; empty: nothing.
inline std::string WrongInPath(const google::protobuf::Descriptor& message, std::string path) {
  const google::protobuf::Descriptor* at = &message;
  for (;;) {
    const size_t dot = path.find('.');
    std::string name = path.substr(0, dot);
    const size_t bracket = name.find('[');
    const bool has_index = bracket != std::string::npos;
    if (has_index) {
      const std::string index = name.substr(bracket + 1, name.size() - bracket - 2);
      if (name.back() != ']' || index.empty() ||
          !std::all_of(index.begin(), index.end(),
                       [](unsigned char c) { return std::isdigit(c); })) {
        return name + " has no number in its brackets";
      }
      name.resize(bracket);
    }
    const bool is_last = dot == std::string::npos;
    const google::protobuf::FieldDescriptor* const field = at->FindFieldByName(name);
    if (field == nullptr) {
      const bool is_oneof = is_last && !has_index && at->FindOneofByName(name) != nullptr;
      return is_oneof ? "" : absl::StrCat(at->name(), " has no field '", name, "'");
    }
    if (has_index && !field->is_repeated()) return name + " is not repeated";
    if (is_last) return "";
    if (!has_index && field->is_repeated()) return name + " is repeated: which one?";
    at = field->message_type();
    if (at == nullptr) return name + " has no fields";
    path = path.substr(dot + 1);
  }
}

// The path of a field that `status` begins with.
inline std::string PathIn(const absl::Status& status) {
  std::string path(status.message().substr(0, status.message().find(' ')));
  if (!path.empty() && (path.back() == ':' || path.back() == ',')) path.pop_back();
  return path;
}

// Whether `word` is in `text`, and neither begins nor ends within another.
inline bool HasWord(absl::string_view text, absl::string_view word) {
  const auto bounds = [](absl::string_view character) {
    return character.empty() || character.find_first_of(" (),:;[]") == 0;
  };
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if (at > 0 && bounds(text.substr(at - 1, 1)) && bounds(text.substr(at + word.size(), 1))) {
      return true;
    }
  }
  return false;
}

// The number at `path` of `message`, as refusals write it; empty: there is no number.
inline std::string NumberAt(const google::protobuf::Message& message, std::string path) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Message* at = &message;
  for (;;) {
    const size_t dot = path.find('.');
    std::string name = path.substr(0, dot);
    int index = -1;
    if (const size_t bracket = name.find('['); bracket != std::string::npos) {
      index = std::stoi(name.substr(bracket + 1));
      name.resize(bracket);
    }
    const Field* const field = at->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) return "";
    const google::protobuf::Reflection& reflection = *at->GetReflection();
    if (field->is_repeated() && (index < 0 || index >= reflection.FieldSize(*at, field))) return "";
    if (dot != std::string::npos) {
      at = index < 0 ? &reflection.GetMessage(*at, field)
                     : &reflection.GetRepeatedMessage(*at, field, index);
      path = path.substr(dot + 1);
      continue;
    }
    const auto get = [&](auto one, auto repeated) {
      return absl::StrCat(index < 0 ? (reflection.*one)(*at, field)
                                    : (reflection.*repeated)(*at, field, index));
    };
    using Reflection = google::protobuf::Reflection;
    switch (field->cpp_type()) {
      case Field::CPPTYPE_UINT32:
        return get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
      case Field::CPPTYPE_UINT64:
        return get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
      case Field::CPPTYPE_INT32:
        return get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32);
      case Field::CPPTYPE_INT64:
        return get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
      case Field::CPPTYPE_ENUM:
        return get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
      case Field::CPPTYPE_FLOAT:
        return get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
      case Field::CPPTYPE_DOUBLE:
        return get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
      default:
        return "";
    }
  }
}

// INVALID_ARGUMENT that says what `message` has in the field it names.
MATCHER_P(TellsTheNumberIn, message, "tells the number that it refuses") {
  const absl::Status& status = AsStatus(arg);
  const std::string path = PathIn(status);
  const std::string number = NumberAt(*message, path);
  *result_listener << "\"" << std::string(status.message()) << "\", and not " << number;
  // Where 0 is sent, or nothing, the default that it stands for may be told.
  return number.empty() || number == "0" || HasWord(status.message().substr(path.size()), number);
}

// INVALID_ARGUMENT, naming a field of the message that `descriptor` is of.
MATCHER_P(RefusesFieldOf, descriptor, absl::StrCat("refuses a field of ", descriptor->name())) {
  const absl::Status& status = AsStatus(arg);
  if (status.code() != absl::StatusCode::kInvalidArgument) {
    *result_listener << status.ToString();
    return false;
  }
  const std::string wrong = WrongInPath(*descriptor, PathIn(status));
  *result_listener << "\"" << std::string(status.message()) << "\": " << wrong;
  return wrong.empty();
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FIELD_PATH_H_
