// Fixture of the tests of a DownconvertStream: its messages, and the jobs that it makes of them.
#ifndef BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_DOWNCONVERT_STREAM_FIXTURE_H_
#define BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_DOWNCONVERT_STREAM_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/jobs/stream_session.h"
#include "server/operations/downconvert/downconvert.h"
#include "tests/support/convert_request.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::testing {

using server::DownconvertJob;
using server::JobPtr;

class DownconvertStreamTest : public ::testing::Test {
 protected:
  DownconvertStreamTest() { Start(); }
  void Start() {
    session_ = operation_.NewStream(server::RequestLimits(), metrics_.ResultsOf(operation_.rpc()));
  }

  // Channels of 64 taps that divide the rate by 8.
  static v1::DownconvertSetup Setup(int channels, v1::WidebandFormat format) {
    v1::DownconvertSetup setup;
    setup.set_sample_rate_hz(1e6);
    setup.set_format(format);
    for (int c = 0; c < channels; ++c) {
      v1::DownconvertChannel& channel = *setup.add_channels();
      channel.mutable_frequency()->set_hz(1e5 + c);
      for (int k = 0; k < 64; ++k) channel.mutable_filter()->add_taps(1.0F / 64);
      channel.mutable_filter()->set_down(8);
    }
    return setup;
  }
  static v1::DownconvertRequest First(int channels = 1) {
    v1::DownconvertRequest request;
    *request.mutable_setup() = Setup(channels, v1::WIDEBAND_FORMAT_REAL_INT8);
    return request;
  }
  static void AddRetunes(v1::DownconvertRequest* request, int count, uint32_t channel,
                         uint64_t first) {
    for (int i = 0; i < count; ++i) {
      v1::Retune& retune = *request->add_retunes();
      retune.set_channel(channel);
      retune.set_index(first + static_cast<uint64_t>(i));
      retune.mutable_frequency()->set_hz(2e5);
    }
  }

  absl::StatusOr<JobPtr> Make(v1::DownconvertRequest request, const std::string& samples) {
    request.set_payload(samples);
    requests_.push_back(server::RequestOf(request));
    BASEBAND_ASSIGN_OR_RETURN(server::Conversion conversion, session_->Convert(requests_.back()));
    return std::move(conversion.job);
  }
  // A job that is not run: the samples do not matter.
  const DownconvertJob& MakeJob(const v1::DownconvertRequest& request, size_t samples = 100) {
    absl::StatusOr<JobPtr> job = Make(request, std::string(samples, '\1'));
    EXPECT_THAT(job, IsOk());
    jobs_.push_back(*std::move(job));
    return static_cast<const DownconvertJob&>(*jobs_.back());
  }

  server::Operation& operation_ = server::TestOperation("Downconvert");
  server::Metrics metrics_{"test", server::TestOperations().counted()};
  std::unique_ptr<server::StreamSession> session_;
  std::vector<server::Request> requests_;
  std::vector<JobPtr> jobs_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_DOWNCONVERT_STREAM_FIXTURE_H_
