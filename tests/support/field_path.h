// Whether a refusal says by which field: its message begins with the path of one as the .proto has
// it, "groups[3].code.nr.zc 7 is not in ..".
#ifndef BASEBAND_TESTS_SUPPORT_FIELD_PATH_H_
#define BASEBAND_TESTS_SUPPORT_FIELD_PATH_H_

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

// INVALID_ARGUMENT, naming a field of the message that `descriptor` is of.
MATCHER_P(RefusesFieldOf, descriptor, absl::StrCat("refuses a field of ", descriptor->name())) {
  const absl::Status& status = AsStatus(arg);
  if (status.code() != absl::StatusCode::kInvalidArgument) {
    *result_listener << status.ToString();
    return false;
  }
  std::string path(status.message().substr(0, status.message().find(' ')));
  if (!path.empty() && (path.back() == ':' || path.back() == ',')) path.pop_back();
  const std::string wrong = WrongInPath(*descriptor, path);
  *result_listener << "\"" << std::string(status.message()) << "\": " << wrong;
  return wrong.empty();
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FIELD_PATH_H_
