// That the thread which looks after rings starts, or says why not.
#include "server/rings/ring_poller.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

// How many descriptors this process may have while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few = {most, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

int NextDescriptor() {
  const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  close(fd);
  return fd;
}

TEST(RingPollerTest, WithoutADescriptorItDoesNotStartAndKeepsNone) {
  const int next = NextDescriptor();
  for (const int more : {0, 1}) {
    const FewDescriptors few(static_cast<rlim_t>(next + more));
    EXPECT_THAT(RingPoller::Start(absl::ZeroDuration(), nullptr),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("--ring-threads): Too many open files")));
  }
  EXPECT_EQ(NextDescriptor(), next);
}

}  // namespace
}  // namespace baseband::server
