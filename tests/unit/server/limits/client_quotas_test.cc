#include "server/limits/client_quotas.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/metrics/unserved.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

TEST(ClientQuotasTest, ARequestTooManyIsRefusedByNameUntilOneHasEnded) {
  ClientQuotas quotas({2, 0, 0});
  auto first = quotas.EnterRequest("a", 1);
  auto second = quotas.EnterRequest("a", 1);
  const absl::Status refused = quotas.EnterRequest("a", 1).status();
  EXPECT_EQ(ReasonOf(refused), UnservedReason::kClientRequests);
  EXPECT_THAT(refused,
              StatusIs(kExhausted, HasSubstr("client_requests: 2 requests of this client are in "
                                             "flight, of 2")));
  EXPECT_THAT(quotas.EnterRequest("b", 1).status(), IsOk());
  EXPECT_THAT(quotas.EnterStream("a").status(), IsOk());
  { const ClientHold ended = *std::move(first); }
  EXPECT_THAT(quotas.EnterRequest("a", 1).status(), IsOk());
}

TEST(ClientQuotasTest, BytesTooManyAreRefusedButALargeRequestMayComeAlone) {
  ClientQuotas quotas({0, 100, 0});
  {
    const auto large = quotas.EnterRequest("a", 1000);
    EXPECT_THAT(large.status(), IsOk());
    EXPECT_THAT(quotas.EnterRequest("a", 1).status(),
                StatusIs(kExhausted, HasSubstr("client_mib")));
  }
  const auto half = quotas.EnterRequest("a", 60);
  const auto rest = quotas.EnterRequest("a", 40);
  EXPECT_THAT(rest.status(), IsOk());
  const absl::Status refused = quotas.EnterRequest("a", 1).status();
  EXPECT_EQ(ReasonOf(refused), UnservedReason::kClientBytes);
  EXPECT_THAT(refused,
              StatusIs(kExhausted, HasSubstr("100 bytes of this client are in flight, of 100")));
}

TEST(ClientQuotasTest, WhoHoldsSomethingEntersWithoutItsName) {
  ClientQuotas quotas({1, 100, 1});
  auto stream = *quotas.EnterStream("a");
  {
    auto request = *quotas.EnterRequest(stream, 60);
    EXPECT_EQ(ReasonOf(quotas.EnterRequest(stream, 1).status()), UnservedReason::kClientRequests);
    EXPECT_EQ(ReasonOf(quotas.EnterRequest("a", 1).status()), UnservedReason::kClientRequests);
    EXPECT_THAT(quotas.EnterRequest("b", 1).status(), IsOk());
  }
  EXPECT_THAT(quotas.EnterRequest(stream, 101).status(), IsOk());
}

TEST(ClientQuotasTest, ARequestThatGrowsIsHeldAgainstWhatElseIsInFlight) {
  ClientQuotas quotas({0, 100, 0});
  {
    auto request = *quotas.EnterRequest("a", 10);
    auto other = *quotas.EnterRequest("a", 40);
    EXPECT_THAT(request.GrowTo(61), StatusIs(kExhausted, HasSubstr("client_mib: 40 bytes of this "
                                                                   "client are in flight, of 100: "
                                                                   "no room for 61 more")));
    EXPECT_THAT(request.GrowTo(60), IsOk());
    EXPECT_THAT(request.GrowTo(20), IsOk());  // as large already
    EXPECT_THAT(quotas.EnterRequest("a", 1).status(),
                StatusIs(kExhausted, HasSubstr("client_mib")));
    EXPECT_THAT(quotas.EnterRequest("b", 1).status(), IsOk());
    { const ClientHold ended = std::move(other); }
    EXPECT_THAT(request.GrowTo(1000), IsOk());  // alone
    EXPECT_THAT(quotas.EnterRequest("a", 1).status(),
                StatusIs(kExhausted, HasSubstr("client_mib")));
  }
  EXPECT_THAT(quotas.EnterRequest("a", 100).status(), IsOk());
}

TEST(ClientQuotasTest, StreamsTooManyAreRefused) {
  ClientQuotas quotas({0, 0, 1});
  const auto stream = quotas.EnterStream("a");
  const absl::Status refused = quotas.EnterStream("a").status();
  EXPECT_EQ(ReasonOf(refused), UnservedReason::kClientStreams);
  EXPECT_THAT(refused, StatusIs(kExhausted, HasSubstr("client_streams: 1 streams and searches")));
  EXPECT_THAT(quotas.EnterRequest("a", 1).status(), IsOk());
}

TEST(ClientQuotasTest, ZeroIsNoQuota) {
  ClientQuotas quotas({});
  std::vector<absl::StatusOr<ClientHold>> holds;
  for (int i = 0; i < 1000; ++i) {
    holds.push_back(quotas.EnterRequest("a", int64_t{1} << 40));
    holds.push_back(quotas.EnterStream("a"));
  }
  for (const auto& hold : holds) EXPECT_THAT(hold.status(), IsOk());
}

}  // namespace
}  // namespace baseband::server
