// The fields of a line of JSON that are all to be there, and no other. Internal to known answers.
#ifndef BASEBAND_CLIENT_CTL_LDPC_ANSWER_FIELDS_H_
#define BASEBAND_CLIENT_CTL_LDPC_ANSWER_FIELDS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {

// The first field that is wrong decides the status; reading goes on with zeros.
class AnswerFields {
 public:
  // `json` is an object, and outlives this.
  explicit AnswerFields(const nlohmann::json& json) : json_(json) {}

  bool Has(const char* name) const { return json_.contains(name); }

  // 0 .. 2^31 - 1.
  int Int(const char* name);
  double Number(const char* name);
  bool Bool(const char* name);
  std::string Text(const char* name);
  // Lower-case hex.
  std::string Bytes(const char* name, int64_t size);
  // The same, of bits that are filled up with zeros.
  std::string Bits(const char* name, int64_t bits);
  // Calls `use` for each of `count` elements of a list, or of any number from 1 on if it is below
  // 0.
  void List(const char* name, int64_t count,
            const std::function<void(int64_t index, const nlohmann::json& element)>& use);

  // A field whose value the others decide.
  void Expect(const char* name, int64_t expected);

  void Refuse(absl::string_view message) { status_.Update(absl::InvalidArgumentError(message)); }
  // The status so far; also refuses fields that nobody asked for.
  absl::Status Finish();

 private:
  const nlohmann::json* Find(const char* name);

  const nlohmann::json& json_;
  std::set<std::string> used_;
  absl::Status status_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_ANSWER_FIELDS_H_
