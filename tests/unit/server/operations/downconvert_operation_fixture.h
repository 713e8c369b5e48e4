// Requests to Downconvert and what becomes of them.
#ifndef BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_DOWNCONVERT_OPERATION_FIXTURE_H_
#define BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_DOWNCONVERT_OPERATION_FIXTURE_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "kernels/base/status_macros.h"
#include "server/operations/downconvert/downconvert_filters.h"
#include "server/operations/downconvert/downconvert_operation.h"
#include "tests/support/convert_request.h"
#include "tests/support/run_on_cpu.h"

namespace baseband::testing {

class DownconvertOperationTest : public ::testing::Test {
 protected:
  // One channel of 64 taps that divides the rate by 8, and 1000 samples.
  DownconvertOperationTest() {
    v1::DownconvertSetup& setup = *request_.mutable_setup();
    setup.set_sample_rate_hz(1e6);
    AddChannel();
    request_.set_payload(std::string(4000, '\1'));
  }

  v1::DownconvertChannel& AddChannel() {
    v1::DownconvertChannel& channel = *request_.mutable_setup()->add_channels();
    channel.mutable_frequency()->set_hz(1e5);
    for (int k = 0; k < 64; ++k) channel.mutable_filter()->add_taps(1.0F / 64);
    channel.mutable_filter()->set_down(8);
    return channel;
  }
  v1::ChannelFilter& Filter() {
    return *request_.mutable_setup()->mutable_channels(0)->mutable_filter();
  }
  void AddRetunes(int count, uint32_t channel, uint64_t first) {
    for (int i = 0; i < count; ++i) {
      v1::Retune& retune = *request_.add_retunes();
      retune.set_channel(channel);
      retune.set_index(first + static_cast<uint64_t>(i));
    }
  }

  absl::StatusOr<server::Conversion> Convert() {
    return operation_->Convert(server::RequestOf(request_), limits_);
  }
  absl::StatusOr<server::JobPtr> Make() {
    BASEBAND_ASSIGN_OR_RETURN(server::Conversion conversion, Convert());
    if (conversion.job != nullptr) return std::move(conversion.job);
    return conversion.preparation->Finish(may_continue_);
  }
  // Of the answer, once the job has run.
  absl::Status Answer() {
    auto job = Make();
    EXPECT_THAT(job, IsOk());
    const server::JobPtr done = RunOnCpu(*std::move(job), server::RequestOf(request_).payload);
    return operation_->ToReply(*done).status();
  }

  v1::DownconvertRequest request_;
  server::RequestLimits limits_;
  ContinueCheck may_continue_;
  std::unique_ptr<server::Operation> operation_ =
      server::MakeDownconvertOperation(std::make_shared<server::DownconvertFilters>());
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_DOWNCONVERT_OPERATION_FIXTURE_H_
