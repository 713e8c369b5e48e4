#include "server/grpc/wire.h"

#include <random>
#include <string>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/device/read_arena.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsInvalid;
using ::baseband::testing::IsOk;

constexpr int kPayload = v1::DecodeRequest::kPayloadFieldNumber;

// `text` in slices of `size` bytes, as gRPC hands over large messages.
grpc::ByteBuffer InSlices(const std::string& text, size_t size) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < text.size(); i += size) {
    slices.emplace_back(text.substr(i, size));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Gather(const Request& request) {
  std::string payload(static_cast<size_t>(request.payload.bytes()), '\0');
  request.payload.CopyTo(reinterpret_cast<uint8_t*>(payload.data()));
  return payload;
}

v1::DecodeRequest Sent() {
  v1::DecodeRequest request;
  v1::DecodeGroup& group = *request.add_groups();
  group.mutable_code()->mutable_nr()->set_base_graph(1);
  group.mutable_code()->mutable_nr()->set_zc(384);
  group.set_count(3);
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) request.mutable_payload()->push_back(static_cast<char>(random()));
  return request;
}

TEST(ReadRequestTest, SplitsHeaderAndPayloadHoweverTheBytesAreSliced) {
  const v1::DecodeRequest request = Sent();
  for (const size_t size : {1, 2, 3, 7, 64, 100000}) {
    const auto read = ReadRequest(InSlices(request.SerializeAsString(), size), kPayload);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(Gather(*read), request.payload());
    v1::DecodeRequest header;
    ASSERT_TRUE(header.ParseFromString(read->header));
    EXPECT_EQ(header.groups(0).SerializeAsString(), request.groups(0).SerializeAsString());
    EXPECT_TRUE(header.payload().empty());
  }
}

TEST(ReadRequestTest, PiecesNameTheRegionOfReadBuffersAndOnlyTheirSlicesAreKept) {
  const std::string message = Sent().SerializeAsString();
  std::vector<uint8_t> memory(message.begin(), message.end());
  ReadArena arena({memory.data(), static_cast<int64_t>(memory.size()), /*is_page_locked=*/true});
  ReadArena::SetOfProcess(&arena);
  std::vector<int> freed;
  struct End {
    std::vector<int>* freed;
    int number;
  };
  std::vector<End> ends;
  for (int i = 0; i < 3; ++i) ends.push_back({&freed, i});
  const auto free_slice = [](void* end) {
    static_cast<End*>(end)->freed->push_back(static_cast<End*>(end)->number);
  };
  const auto slice = [&](size_t begin, size_t bytes, int number) {
    return grpc::Slice(memory.data() + begin, bytes, free_slice,
                       &ends[static_cast<size_t>(number)]);
  };
  absl::StatusOr<Request> read;
  {
    // The header and no byte of the payload; a part of it in the arena; the rest elsewhere.
    const size_t header = message.size() - Sent().payload().size();
    const grpc::Slice slices[] = {slice(0, header, 0), slice(header, 600, 1),
                                  grpc::Slice(message.substr(header + 600))};
    read = ReadRequest(grpc::ByteBuffer(slices, 3), kPayload);
  }
  ReadArena::SetOfProcess(nullptr);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(freed, std::vector<int>{0});
  ASSERT_EQ(read->payload.pieces().size(), 2U);
  EXPECT_EQ(read->payload.pieces()[0].region, &arena.region());
  EXPECT_EQ(read->payload.pieces()[1].region, nullptr);
  EXPECT_EQ(Gather(*read), Sent().payload());
  read->payload = Payload();
  EXPECT_EQ(freed, (std::vector<int>{0, 1}));
}

TEST(ReadRequestTest, ThePayloadMayComeFirstAndTheLastOneCounts) {
  v1::DecodeRequest payload_only;
  payload_only.set_payload("first");
  v1::DecodeRequest again = Sent();
  again.set_payload("second");
  const auto read = ReadRequest(
      InSlices(payload_only.SerializeAsString() + again.SerializeAsString(), 10), kPayload);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(Gather(*read), "second");
}

TEST(ReadRequestTest, AnEmptyMessageHasNoFields) {
  for (const grpc::ByteBuffer& empty : {grpc::ByteBuffer(), InSlices("", 1)}) {
    const auto read = ReadRequest(empty, kPayload);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(read->payload.bytes(), 0);
    EXPECT_TRUE(read->header.empty());
  }
}

TEST(ReadRequestTest, EveryTruncationIsRefusedOrParsesAsAShorterMessage) {
  const std::string whole = Sent().SerializeAsString();
  const size_t group_bytes = Sent().groups(0).ByteSizeLong() + 2;
  for (size_t size = 1; size < whole.size(); ++size) {
    const auto read = ReadRequest(InSlices(whole.substr(0, size), 13), kPayload);
    if (size == group_bytes) {
      EXPECT_THAT(read, IsOk());  // cut exactly between the fields
    } else {
      EXPECT_THAT(read, IsInvalid("well-formed"));
    }
  }
}

TEST(ReadRequestTest, APayloadLongerThanTheMessageIsRefused) {
  for (const std::string length : {"\x7f", "\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\x0f"}) {
    EXPECT_THAT(ReadRequest(InSlices("\x7a" + length + "abc", 2), kPayload),
                IsInvalid("well-formed"));
  }
}

// 12 is no field of the request. Of the length, 32 bits are 0.
TEST(ReadRequestTest, AnUnknownFieldLongerThanTheMessageIsRefused) {
  const std::string tag = "\x62";
  for (const std::string length :
       {"\x7f", "\xff\xff\xff\xff\x07", "\x80\x80\x80\x80\x10", "\x80\x80\x80\x80\x80\x2f"}) {
    for (const int payload_field : {kPayload, 0}) {
      EXPECT_THAT(ReadRequest(InSlices(tag + length + "\x08\x01", 2), payload_field),
                  IsInvalid("well-formed"))
          << length.size();
    }
  }
}

TEST(ReadRequestTest, AGroupIsPassedWhereProtobufPassesIt) {
  const std::string begin_98 = "\x93\x06";
  const std::string end_98 = "\x94\x06";
  const auto deep = [&](int depth, const std::string& inside) {
    std::string bytes = inside;
    for (int i = 0; i < depth; ++i) bytes = begin_98 + bytes + end_98;
    return bytes;
  };
  for (const std::string& bytes :
       {deep(1, ""), deep(1, "\x08\x01\x62\x02zz"), deep(3, "\x62\x01z"), deep(99, ""),
        deep(1, "\x62\x80\x80\x80\x80\x10\x08\x01"), deep(1, "\x9c\x06"), deep(150, ""),
        deep(3000, ""), begin_98, begin_98 + "\x08\x01"}) {
    const auto read = ReadRequest(InSlices(bytes, 3), kPayload);
    EXPECT_EQ(read.ok(), v1::DecodeRequest().ParseFromString(bytes)) << bytes.size();
    if (read.ok()) {
      EXPECT_EQ(read->header, bytes);
    }
  }
}

TEST(ReadRequestTest, TheEndOfAGroupThatNeverBeganIsRefused) {
  const std::string end_group_98 = "\x94\x06";
  for (const std::string& bytes : {end_group_98, Sent().SerializeAsString() + end_group_98}) {
    EXPECT_THAT(ReadRequest(InSlices(bytes, 5), kPayload), IsInvalid("well-formed"));
  }
}

TEST(ReadRequestTest, ATagOfMoreThanFiveBytesIsRefused) {
  EXPECT_THAT(ReadRequest(InSlices("\xc0\xf5\xeb\xdd\xef\xf7\xfd\x01\x05", 4), kPayload),
              IsInvalid("well-formed"));
}

TEST(ReadRequestTest, AFieldOfNumberZeroIsRefusedAlsoWhereTheRequestHasNoPayload) {
  for (const std::string& bytes : {std::string("\0\1", 2), std::string("\2\3abc", 5),
                                   std::string("\5abcd", 5), std::string("\3\4", 2)}) {
    EXPECT_THAT(ReadRequest(InSlices(bytes, 2), kPayload), IsInvalid("well-formed"));
    EXPECT_THAT(ReadRequest(InSlices(bytes, 2), /*payload_field=*/0), IsInvalid("well-formed"));
  }
}

TEST(ReadRequestTest, AnOverlongHeaderIsRefused) {
  std::string field(kMaxHeaderBytes + 1, 'x');
  v1::GetCapabilitiesResponse unknown_to_it;  // any message with a string field
  unknown_to_it.set_version(field);
  EXPECT_THAT(ReadRequest(InSlices(unknown_to_it.SerializeAsString(), 65536), kPayload),
              IsInvalid("split the request"));
}

// The fields that name shared memory.
constexpr int kPayloadAt = v1::DecodeRequest::kPayloadAtFieldNumber;  // 100
constexpr int kReplyAt = v1::DecodeRequest::kReplyAtFieldNumber;
constexpr int kHold = v1::DecodeRequest::kHoldFieldNumber;  // 102

// Numbers from 16 to 2047 have a tag of two bytes.
std::string Tag(int field, int wire_type) {
  const int tag = field << 3 | wire_type;
  return {static_cast<char>((tag & 0x7f) | 0x80), static_cast<char>(tag >> 7)};
}
std::string LengthDelimited(int field, const std::string& content) {
  std::string length;
  size_t left = content.size();
  for (; left > 0x7f; left >>= 7) length.push_back(static_cast<char>((left & 0x7f) | 0x80));
  length.push_back(static_cast<char>(left));
  return Tag(field, 2) + length + content;
}

TEST(ReadRequestTest, RangesThatComeTwiceMergeAsProtobufMergesThem) {
  v1::DecodeRequest first = Sent();
  first.clear_payload();
  first.mutable_payload_at()->set_region("first");
  first.mutable_payload_at()->set_offset(64);
  first.mutable_hold()->set_number(4);
  v1::DecodeRequest second;
  second.mutable_payload_at()->set_region("second");
  second.mutable_payload_at()->set_bytes(7);
  second.mutable_reply_at()->set_offset(128);
  second.mutable_hold()->set_offset(192);
  const std::string bytes = first.SerializeAsString() + second.SerializeAsString();
  v1::DecodeRequest expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  for (const size_t size : {1, 3, 100000}) {
    const auto read = ReadRequest(InSlices(bytes, size), kPayload);
    ASSERT_THAT(read, IsOk());
    ASSERT_TRUE(read->payload_at.has_value() && read->reply_at.has_value() &&
                read->hold.has_value());
    EXPECT_EQ(read->payload_at->region, expected.payload_at().region());
    EXPECT_EQ(read->payload_at->offset, expected.payload_at().offset());
    EXPECT_EQ(read->payload_at->bytes, expected.payload_at().bytes());
    EXPECT_EQ(read->reply_at->offset, expected.reply_at().offset());
    EXPECT_EQ(read->hold->number, expected.hold().number());
    EXPECT_EQ(read->hold->offset, expected.hold().offset());
    v1::DecodeRequest header;
    ASSERT_TRUE(header.ParseFromString(read->header));
    EXPECT_FALSE(header.has_payload_at() || header.has_reply_at() || header.has_hold());
  }
}

TEST(ReadRequestTest, ARangeIsRefusedThatIsTooLongOrNoneAlsoInParts) {
  const std::string unknown(1000, 'x');  // of a field that no range has
  for (const int field : {kPayloadAt, kReplyAt, kHold}) {
    const std::string part = LengthDelimited(field, LengthDelimited(16, unknown));
    EXPECT_THAT(ReadRequest(InSlices(part, 7), kPayload), IsOk()) << "once";
    EXPECT_THAT(ReadRequest(InSlices(part + part, 7), kPayload), IsInvalid("split the request"));
    EXPECT_THAT(
        ReadRequest(InSlices(LengthDelimited(field, std::string(1025, 'x')), 100), kPayload),
        IsInvalid("split the request"));
    for (const std::string& none : {std::string("\x0a\x05x"), std::string("\xff"),
                                    std::string("\x10"), std::string("\0\1", 2)}) {
      EXPECT_THAT(ReadRequest(InSlices(LengthDelimited(field, none), 2), kPayload),
                  IsInvalid("well-formed"))
          << field;
    }
    // Longer than the message.
    EXPECT_THAT(ReadRequest(InSlices(Tag(field, 2) + "\x10" + "abc", 2), kPayload),
                IsInvalid("well-formed"));
  }
}

// Protobuf takes such a field for one it does not know.
TEST(ReadRequestTest, ARangeOfAnotherWireTypeIsPassedAsAnUnknownField) {
  for (const int field : {kPayloadAt, kReplyAt, kHold}) {
    for (const std::string& bytes : {Tag(field, 0) + "\x05", Tag(field, 1) + "12345678",
                                     Tag(field, 5) + "1234", Tag(field, 3) + Tag(field, 4)}) {
      const auto read = ReadRequest(InSlices(bytes, 3), kPayload);
      ASSERT_THAT(read, IsOk()) << field;
      EXPECT_FALSE(read->names_memory());
      EXPECT_EQ(read->header, bytes);
      EXPECT_TRUE(v1::DecodeRequest().ParseFromString(read->header));
    }
  }
}

TEST(ToByteBufferTest, ReadsAsTheMessageItStandsForAndGivesTheLeaseBack) {
  const auto pool = *HostPool::CreatePageable(4096);
  HostLease lease = *pool->Lease(300);
  for (size_t i = 0; i < 300; ++i) lease.data()[i] = static_cast<uint8_t>(i);
  v1::DecodeResponse header;
  header.add_iterations(7);
  header.add_parity_ok(true);
  {
    const grpc::ByteBuffer reply =
        ToByteBuffer({header.SerializeAsString(),
                      {{v1::DecodeResponse::kSoftFieldNumber, 200, 100},
                       {v1::DecodeResponse::kPayloadFieldNumber, 0, 200}},
                      std::move(lease)});
    EXPECT_GT(pool->used(), 0);
    grpc::Slice slice;
    ASSERT_TRUE(reply.DumpToSingleSlice(&slice).ok());
    v1::DecodeResponse read;
    ASSERT_TRUE(read.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    EXPECT_EQ(read.iterations(0), 7U);
    EXPECT_TRUE(read.parity_ok(0));
    ASSERT_EQ(read.payload().size(), 200U);
    ASSERT_EQ(read.soft().size(), 100U);
    EXPECT_EQ(static_cast<uint8_t>(read.payload()[199]), 199);
    EXPECT_EQ(static_cast<uint8_t>(read.soft()[0]), 200);
  }
  EXPECT_EQ(pool->used(), 0);
}

}  // namespace
}  // namespace baseband::server
