#include "client/ctl/ldpc/answer_fields.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/ldpc/bits.h"

namespace baseband::ctl {

using Json = nlohmann::json;

int AnswerFields::Int(const char* name) {
  const Json* field = Find(name);
  if (field == nullptr || !field->is_number_integer() || field->get<int64_t>() < 0 ||
      field->get<int64_t>() > INT32_MAX) {
    Refuse(absl::StrCat(name, " is not a whole number"));
    return 0;
  }
  return field->get<int>();
}

double AnswerFields::Number(const char* name) {
  const Json* field = Find(name);
  if (field == nullptr || !field->is_number()) {
    Refuse(absl::StrCat(name, " is not a number"));
    return 0;
  }
  return field->get<double>();
}

bool AnswerFields::Bool(const char* name) {
  const Json* field = Find(name);
  if (field == nullptr || !field->is_boolean()) {
    Refuse(absl::StrCat(name, " is not true or false"));
    return false;
  }
  return field->get<bool>();
}

std::string AnswerFields::Text(const char* name) {
  const Json* field = Find(name);
  if (field == nullptr || !field->is_string()) {
    Refuse(absl::StrCat(name, " is not a string"));
    return "";
  }
  return field->get<std::string>();
}

std::string AnswerFields::Bytes(const char* name, int64_t size) {
  absl::StatusOr<std::string> bytes = FromHex(Text(name));
  if (!bytes.ok()) {
    Refuse(absl::StrCat(name, ": ", bytes.status().message()));
  } else if (static_cast<int64_t>(bytes->size()) != size) {
    Refuse(absl::StrCat(name, " has ", bytes->size(), " bytes instead of ", size));
  } else {
    return *std::move(bytes);
  }
  return std::string(size, '\0');
}

std::string AnswerFields::Bits(const char* name, int64_t bits) {
  std::string bytes = Bytes(name, client::PackedBytes(bits));
  if (!PaddingIsZero(bytes, bits)) {
    Refuse(absl::StrCat(name, " has ones after its ", bits, " bits"));
  }
  return bytes;
}

void AnswerFields::List(const char* name, int64_t count,
                        const std::function<void(int64_t, const Json&)>& use) {
  const Json* field = Find(name);
  if (field == nullptr || !field->is_array() || field->empty()) {
    Refuse(absl::StrCat(name, " is not a list"));
    return;
  }
  if (count >= 0 && static_cast<int64_t>(field->size()) != count) {
    Refuse(absl::StrCat(name, " has ", field->size(), " elements instead of ", count));
    return;
  }
  int64_t index = 0;
  for (const Json& element : *field) {
    use(index++, element);
  }
}

void AnswerFields::Expect(const char* name, int64_t expected) {
  if (const int value = Int(name); value != expected) {
    Refuse(absl::StrCat(name, " is ", value, " and should be ", expected));
  }
}

absl::Status AnswerFields::Finish() {
  for (const auto& [name, value] : json_.items()) {
    if (used_.count(name) == 0) {
      Refuse(absl::StrCat("field '", name, "' is unknown"));
    }
  }
  return status_;
}

const Json* AnswerFields::Find(const char* name) {
  used_.insert(name);
  const auto field = json_.find(name);
  if (field == json_.end()) {
    Refuse(absl::StrCat("field '", name, "' is missing"));
    return nullptr;
  }
  return &*field;
}

}  // namespace baseband::ctl
