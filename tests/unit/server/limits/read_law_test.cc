#include "server/limits/read_law.h"

#include <cmath>

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

TEST(ReadLawTest, TellsLatencyFromBytesAndOnesOwnFromWhatAllShare) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  ReadLaw law;
  LinkLaw link;
  EXPECT_FALSE(link.IsKnown(now));
  for (int i = 0; i < 100; ++i) {
    const double bytes = i % 2 == 0 ? 100e3 : 1e6;
    law.Learn(bytes, bytes, 50e-6 + 1e-9 * bytes, now, &link);
  }
  EXPECT_NEAR(law.Of(link, 2e6, 2e6), 2.05e-3, 0.05e-3);
  for (const LinkLaw* const known : {static_cast<const LinkLaw*>(&link), &law.all()}) {
    EXPECT_TRUE(known->IsKnown(now + LinkLaw::kFresh));
    EXPECT_FALSE(known->IsKnown(now + LinkLaw::kFresh + absl::Milliseconds(1)));
  }
  // Four together take as long as one, eight twice as long: the rate is four times one's.
  for (int i = 0; i < 200; ++i) {
    const double together = i % 2 == 0 ? 4.0 : 8.0;
    law.Learn(1e6, together * 1e6, 50e-6 + 1e-3 * together / 4.0, now, &link);
  }
  EXPECT_NEAR(law.Of(link, 1e6, 1e6), 1.05e-3, 0.05e-3);
  EXPECT_NEAR(law.Of(link, 1e6, 8e6), 2.05e-3, 0.2e-3);
  EXPECT_NEAR(law.RateOf(1e6, 16.0), 4e9, 0.4e9);
  for (const double wrong : {0.0, -1.0, std::nan("")}) {
    law.Learn(wrong, 1e6, 1.0, now, &link);
    law.Learn(1e6, 1e6, wrong, now, &link);
  }
  EXPECT_NEAR(law.Of(link, 1e6, 1e6), 1.05e-3, 0.05e-3);
}

// Of a link that others always use as well nobody knows how long it takes alone.
TEST(ReadLawTest, OfALinkThatWasNeverAloneNothingIsKnown) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  ReadLaw law;
  LinkLaw near;
  LinkLaw crowded;
  for (int i = 0; i < 100; ++i) {
    law.Learn(1e6, 1e6, 1e-3, now, &near);
    law.Learn(1e6, 4e6, 4e-3, now, &crowded);
    law.Learn(1e6, 0.0, 1e-9, now, &crowded);  // a load without it is none
  }
  EXPECT_TRUE(near.IsKnown(now));
  EXPECT_FALSE(crowded.IsKnown(now));
  EXPECT_NEAR(law.shared(), 1e-9, 0.1e-9);
}

// Of two links what all share is what the faster one shows.
TEST(ReadLawTest, TellsTwoLinksFromEachOther) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  ReadLaw law;
  LinkLaw near;
  LinkLaw far;
  for (int i = 0; i < 200; ++i) {
    const double bytes = i % 2 == 0 ? 100e3 : 1e6;
    law.Learn(bytes, bytes, 20e-3 + 100e-9 * bytes, now, &far);
    law.Learn(bytes, bytes, 50e-6 + 1e-9 * bytes, now, &near);
  }
  EXPECT_NEAR(law.Of(near, 1e6, 1e6), 1.05e-3, 0.1e-3);
  EXPECT_NEAR(law.Of(far, 1e6, 1e6), 120e-3, 10e-3);
  EXPECT_NEAR(law.shared(), 1e-9, 0.3e-9);
}

}  // namespace
}  // namespace baseband::server
