// What the comparison of devices rests on: requests drawn at random are nearly all accepted, what
// is refused is refused by name, and every value of every option is drawn.
#include "tests/support/random_requests.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/support/convert_request.h"
#include "tests/support/test_operations.h"

namespace baseband::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// What occurred of each field of a kind of message: names of enum values, "set" for the rest.
using Seen = std::map<std::string, std::set<std::string>>;

void Note(const Message& message, Seen* seen) {
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(i);
    // How the payload comes is no option of the operation.
    if (field->type() == FieldDescriptor::TYPE_MESSAGE &&
        (field->message_type()->name() == "MemoryRange" ||
         field->message_type()->name() == "MemoryHold")) {
      continue;
    }
    std::set<std::string>& values = (*seen)[std::string(field->full_name())];
    if (field->is_repeated()) {
      const int size = reflection.FieldSize(message, field);
      values.insert(size > 0 ? "set" : "");
      for (int j = 0; j < size && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; ++j) {
        Note(reflection.GetRepeatedMessage(message, field, j), seen);
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      values.emplace(reflection.GetEnum(message, field)->name());
    } else {
      values.insert(reflection.HasField(message, field) ? "set" : "");
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
          reflection.HasField(message, field)) {
        Note(reflection.GetMessage(message, field), seen);
      }
    }
  }
}

void ExpectAllSeen(const Message& message, const Seen& seen) {
  const auto& pool = *message.GetDescriptor()->file()->pool();
  for (const auto& [name, values] : seen) {
    const FieldDescriptor* const field = pool.FindFieldByName(name);
    ASSERT_NE(field, nullptr) << name;
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) {
      EXPECT_EQ(values.count("set"), 1U) << name;
      continue;
    }
    for (int v = 0; v < field->enum_type()->value_count(); ++v) {
      const std::string value(field->enum_type()->value(v)->name());
      if (value == "RATE_UNSPECIFIED") continue;  // of a code: refused
      EXPECT_EQ(values.count(value), 1U) << name << " = " << value;
    }
  }
}

template <typename Draw>
void ExpectAccepted(const char* operation, const Draw& draw) {
  constexpr int kDraws = 400;
  Random random(7);
  Seen seen;
  int accepted = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto message = draw(random);
    const auto job = server::ConvertRequest(server::TestOperation(operation), message);
    if (!job.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(job.status())) << job.status();
      continue;
    }
    ++accepted;
    Note(message, &seen);
  }
  EXPECT_GE(accepted, 0.8 * kDraws);
  ExpectAllSeen(draw(random), seen);
}

TEST(RandomRequestsTest, EncodeRequestsAreAcceptedAndUseEveryOption) {
  ExpectAccepted("Encode", RandomEncodeRequest);
}

TEST(RandomRequestsTest, DecodeRequestsAreAcceptedAndUseEveryOption) {
  ExpectAccepted("Decode", RandomDecodeRequest);
}

TEST(RandomRequestsTest, EncodeSharedChannelRequestsAreAcceptedAndUseEveryOption) {
  ExpectAccepted("EncodeSharedChannel", RandomEncodeSharedChannelRequest);
}

TEST(RandomRequestsTest, DecodeSharedChannelRequestsAreAcceptedAndUseEveryOption) {
  ExpectAccepted("DecodeSharedChannel", RandomDecodeSharedChannelRequest);
}

TEST(RandomRequestsTest, RecoverCarrierRequestsAreAcceptedAndUseEveryOption) {
  ExpectAccepted("RecoverCarrier", RandomRecoverCarrierRequest);
}

TEST(RandomRequestsTest, DownconvertRequestsAreAcceptedAndUseEveryOption) {
  ExpectAccepted("Downconvert", RandomDownconvertRequest);
}

TEST(RandomRequestsTest, MinimizeRequestsAreAcceptedAndUseEveryOption) {
  constexpr int kDraws = 1000;
  Random random(7);
  Seen seen;
  int accepted = 0;
  for (int i = 0; i < kDraws; ++i) {
    v1::MinimizeRequest message = RandomMinimizeRequest(random);
    Note(message, &seen);
    const server::Request request = server::RequestOf(message);
    const auto parsed = server::ParseSearch(request);
    const absl::Status status =
        parsed.ok() ? server::MakeSearch(*parsed, request.payload).status() : parsed.status();
    accepted += status.ok();
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_GE(accepted, 0.8 * kDraws);
  seen.erase("baseband.v1.GridAxis.name");
  ExpectAllSeen(RandomMinimizeRequest(random), seen);
}

}  // namespace
}  // namespace baseband::testing
