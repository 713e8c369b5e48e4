#include "tests/fuzz/wire/header_block.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/http2_frames.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

using http2::HpackInteger;

struct Field {
  std::string name;
  std::string value;
};
using Fields = std::vector<Field>;

constexpr uint8_t kIndexed = 0x80;
constexpr uint8_t kWithIndexing = 0x40;
constexpr uint8_t kTableSize = 0x20;
constexpr uint8_t kNeverIndexed = 0x10;
constexpr uint8_t kHuffman = 0x80;
// Of HPACK's static table.
constexpr uint64_t kIndexOfPost = 3;
constexpr uint64_t kIndexOfHttp = 6;
constexpr uint64_t kStaticFields = 61;

std::string String(const std::string& text) { return HpackInteger(text.size(), 7, 0) + text; }

// `field` as a literal, in one of three forms.
std::string Literal(const Field& field, Random& random) {
  const uint8_t form = OneOf<uint8_t>({0, kWithIndexing, kNeverIndexed}, random);
  return std::string(1, static_cast<char>(form)) + String(field.name) + String(field.value);
}

Fields ValidFields(const std::string& path, Caller caller, Random& random) {
  Fields fields = {{":method", "POST"}, {":scheme", "http"},
                   {":path", path},     {":authority", "a:80"},
                   {"te", "trailers"},  {"content-type", "application/grpc"}};
  if (OneIn(2, random)) fields[5].value += "+proto";
  if (OneIn(3, random)) {
    fields.push_back(
        {"grpc-timeout", absl::StrCat(1 + random.Below(500), OneOf({"m", "m", "S", "u"}, random))});
  }
  if (OneIn(4, random)) fields.push_back({"user-agent", "grpc-c++/1.51.1 grpc-c/29.0.0 (linux)"});
  if (OneIn(4, random)) fields.push_back({"grpc-accept-encoding", "identity, deflate, gzip"});
  if (OneIn(4, random)) fields.push_back({"grpc-encoding", "identity"});
  if (OneIn(4, random)) fields.push_back({"x-request-id", absl::StrCat("fuzz-", random.Next())});
  if (OneIn(4, random)) {
    fields.push_back({"baseband-priority", OneOf({"high", "normal", "low"}, random)});
  }
  if (OneIn(4, random)) {
    fields.push_back({"baseband-timeout-us", absl::StrCat(random.Below(1'000'000))});
  }
  if (OneIn(4, random)) {  // seldom the message's
    const int64_t bytes = OneIn(2, random) ? random.Below(300) : random.Below(64 << 20);
    fields.push_back({"baseband-request-bytes", absl::StrCat(bytes)});
  }
  if (OneIn(6, random)) fields.push_back({"anything-bin", "AAECAwQF"});
  if (caller == Caller::kWrong) fields.push_back({"authorization", "Bearer none-has-this-one"});
  if (caller == Caller::kHolder) {
    fields.push_back({"authorization", absl::StrCat("Bearer ", kHoldersToken)});
  }
  return fields;
}

// Names that a server, gRPC or HTTP/2 itself reads.
std::string OddName(Random& random) {
  return OneOf<const char*>({":method",
                             ":scheme",
                             ":path",
                             ":authority",
                             ":status",
                             ":protocol",
                             ":",
                             "",
                             "te",
                             "content-type",
                             "content-length",
                             "transfer-encoding",
                             "connection",
                             "host",
                             "cookie",
                             "Upper-Case",
                             "with blank",
                             "with\nnewline",
                             "\x7f\xff",
                             "grpc-timeout",
                             "grpc-encoding",
                             "grpc-accept-encoding",
                             "grpc-internal-encoding-request",
                             "grpc-status",
                             "grpc-message",
                             "grpc-tags-bin",
                             "grpc-trace-bin",
                             "grpc-server-stats-bin",
                             "grpc-previous-rpc-attempts",
                             "grpc-retry-pushback-ms",
                             "grpclb_client_stats",
                             "lb-token",
                             "lb-cost-bin",
                             "endpoint-load-metrics-bin",
                             "user-agent",
                             "authorization",
                             "baseband-priority",
                             "baseband-request-bytes",
                             "baseband-timeout-us",
                             "x-request-id",
                             "anything-bin",
                             "-bin",
                             "x-envoy-peer-metadata"},
                            random);
}

std::string OddValue(Random& random) {
  switch (random.Below(5)) {
    case 0:
      return RandomBytes(random.Below(64), random);
    case 1:
      return std::string(static_cast<size_t>(SomeCount(20000, random)),
                         static_cast<char>('a' + random.Below(26)));
    default:
      return OneOf<const char*>({"",
                                 " ",
                                 "x",
                                 "0",
                                 "-1",
                                 "1",
                                 "18446744073709551616",
                                 "1e9",
                                 "gzip",
                                 "deflate",
                                 "snappy",
                                 "identity",
                                 "high",
                                 "HIGH",
                                 "99999999H",
                                 "999999999H",
                                 "0n",
                                 "1x",
                                 "-1S",
                                 "S",
                                 "Bearer",
                                 "Bearer ",
                                 "bearer wire-holder-token",
                                 "Basic YTpi",
                                 "Bearer \x01\xff",
                                 "AAE",
                                 "A===",
                                 "AAEC,AwQ",
                                 "trailers",
                                 "https",
                                 "ftp",
                                 "GET",
                                 "PUT",
                                 "CONNECT",
                                 "OPTIONS",
                                 "application/grpc-web",
                                 "text/html",
                                 "\r\n",
                                 "%00%ff%",
                                 "../../etc"},
                                random);
  }
}

// What is no field at all.
std::string OddBytes(Random& random) {
  const uint64_t any = random.Next() >> random.Below(64);
  switch (random.Below(9)) {
    case 0:  // of the tables, and beyond
      return HpackInteger(any % (2 * kStaticFields + 64), 7, kIndexed);
    case 1:
      return HpackInteger(any, 7, kIndexed);
    case 2:
      return HpackInteger(any, 5, kTableSize);
    case 3:
      return HpackInteger(any % 8192, 5, kTableSize) + HpackInteger(any % 4097, 5, kTableSize);
    case 4:  // a number that does not end
      return std::string(1, OneOf<char>({'\x7f', '\x3f', '\x1f', '\x0f', '\xff'}, random)) +
             std::string(static_cast<size_t>(SomeCount(4000, random)), '\x80');
    case 5:  // a name of a table, the value longer than all that follows
      return HpackInteger(any % (kStaticFields + 4), 6, kWithIndexing) + HpackInteger(any, 7, 0);
    case 6: {  // Huffman's code, or not
      const std::string text = RandomBytes(random.Below(100), random);
      return std::string(1, static_cast<char>(kWithIndexing)) + String("huffman") +
             HpackInteger(text.size(), 7, kHuffman) + text;
    }
    case 7:
      return HpackInteger(any % (kStaticFields + 4), 4, kNeverIndexed) + String(OddValue(random));
    default:
      return RandomBytes(1 + random.Below(200), random);
  }
}

size_t Place(size_t size, Random& random) {
  return static_cast<size_t>(random.Below(static_cast<int>(size) + 1));
}

void Change(Fields* fields, Random& random) {
  const size_t at = Place(fields->size() - 1, random);
  Field& field = (*fields)[at];
  switch (random.Below(7)) {
    case 0:
      if (fields->size() > 1) fields->erase(fields->begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      fields->push_back(Field(field));
      break;
    case 2:
      std::swap(field, (*fields)[Place(fields->size() - 1, random)]);
      break;
    case 3:
      field.value = OddValue(random);
      break;
    case 4:
      field.name = OddName(random);
      break;
    case 5:
      for (int i = SomeCount(300, random); i > 0; --i) {
        fields->push_back({absl::StrCat("many-", OneIn(2, random) ? i : 0), "x"});
      }
      break;
    default:
      fields->insert(fields->begin() + static_cast<std::ptrdiff_t>(at),
                     {OddName(random), OddValue(random)});
      break;
  }
}

}  // namespace

std::string ValidHeaders(const std::string& path, Caller caller, Random& random) {
  std::string block;
  if (OneIn(10, random)) block += HpackInteger(OneOf({0u, 100u, 4096u}, random), 5, kTableSize);
  for (const Field& field : ValidFields(path, caller, random)) {
    if (field.value == "POST" && OneIn(2, random)) {
      block += HpackInteger(kIndexOfPost, 7, kIndexed);
    } else if (field.value == "http" && OneIn(2, random)) {
      block += HpackInteger(kIndexOfHttp, 7, kIndexed);
    } else {
      block += Literal(field, random);
    }
  }
  return block;
}

std::string OddHeaders(const std::string& path, Caller caller, Random& random) {
  Fields fields = ValidFields(path, caller, random);
  for (int i = random.Below(4); i > 0; --i) Change(&fields, random);
  const size_t odd_at = OneIn(2, random) ? Place(fields.size(), random) : fields.size() + 1;
  std::string block;
  for (size_t i = 0; i <= fields.size(); ++i) {
    if (i == odd_at) block += OddBytes(random);
    if (i < fields.size()) block += Literal(fields[i], random);
  }
  if (OneIn(8, random)) block.resize(Place(block.size(), random));  // cut anywhere
  return block;
}

}  // namespace baseband::testing
