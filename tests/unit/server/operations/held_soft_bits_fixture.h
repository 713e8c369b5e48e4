// A CPU device that holds soft bits, and requests of a block of two code blocks for it.
#ifndef BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_HELD_SOFT_BITS_FIXTURE_H_
#define BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_HELD_SOFT_BITS_FIXTURE_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/device/cpu_device.h"
#include "server/operations/operations.h"
#include "server/operations/shared_channel/decode_shared_channel.h"
#include "tests/support/convert_request.h"
#include "tests/support/matchers.h"
#include "tests/support/run_on_cpu.h"

namespace baseband::server {

inline constexpr int kVersions[] = {0, 2, 3, 1};  // in the order in which they are sent

inline v1::SharedChannelBlock BlockOf(int transmission) {
  v1::SharedChannelBlock block;
  v1::TransportBlock& tb = *block.mutable_transport_block();
  tb.set_tb_bytes(1125);  // two code blocks
  tb.set_base_graph(1);
  tb.set_g(11000);
  block.set_rv(static_cast<uint32_t>(kVersions[transmission % 4]));
  block.set_qm(2);
  block.set_c_init(12345);
  return block;
}

class HeldSoftBitsTest : public ::testing::Test {
 protected:
  HeldSoftBitsTest() { Serve(/*max_mib=*/8, /*client_mib=*/4); }

  void Serve(int64_t max_mib, int64_t client_mib) {
    ObjectLimits limits;
    limits.max_bytes = max_mib << 20;
    limits.max_bytes_per_owner = client_mib << 20;
    limits.time_to_live = absl::Seconds(60);
    limits.clock = [this] { return now_; };
    device_ = std::make_unique<CpuDevice>(1, /*standby=*/false, limits);
    device_->set_healthy(true);
  }

  // What is received of `payload` in a transmission, with noise.
  std::string Received(const std::string& payload, int transmission, double sigma, unsigned seed) {
    v1::EncodeSharedChannelRequest request;
    v1::EncodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = BlockOf(transmission);
    group.set_count(1);
    request.set_payload(payload);
    const Request wire = RequestOf(request);
    JobPtr job = *ConvertRequest(*operations_.Find("EncodeSharedChannel"), wire);
    job = testing::RunOnCpu(std::move(job), wire.payload);
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0.0, sigma);
    std::string llr;
    for (int bit = 0; bit < 11000; ++bit) {
      const bool one = job->reply.data()[bit / 8] >> (7 - bit % 8) & 1;
      const double y = (one ? -1.0 : 1.0) + noise(random);
      llr.push_back(
          static_cast<char>(std::clamp(std::lround(4.0 * 2.0 * y / (sigma * sigma)), -127L, 127L)));
    }
    return llr;
  }

  static v1::DecodeSharedChannelRequest RequestFor(const std::string& llr, int transmission) {
    v1::DecodeSharedChannelRequest request;
    v1::DecodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = BlockOf(transmission);
    group.set_count(1);
    request.set_payload(llr);
    return request;
  }
  v1::DecodeSharedChannelRequest Held(const std::string& key, int transmission) const {
    return Held(key, transmission, llr_);
  }
  static v1::DecodeSharedChannelRequest Held(const std::string& key, int transmission,
                                             const std::string& llr) {
    v1::DecodeSharedChannelRequest request = RequestFor(llr, transmission);
    v1::Harq& harq = *request.mutable_groups(0)->mutable_harq();
    harq.set_key(key);
    harq.set_transmission(static_cast<uint32_t>(transmission));
    return request;
  }
  // The soft bits of earlier transmissions go along, and come back.
  static v1::DecodeSharedChannelRequest Travelling(const std::string& soft, int transmission,
                                                   const std::string& llr) {
    v1::DecodeSharedChannelRequest request = RequestFor(soft + llr, transmission);
    request.mutable_groups(0)->mutable_harq()->set_soft_in(transmission > 0);
    request.mutable_groups(0)->mutable_harq()->set_soft_out(true);
    return request;
  }

  absl::StatusOr<JobPtr> Bound(const v1::DecodeSharedChannelRequest& request,
                               const std::string& client = "cell 1") {
    BASEBAND_ASSIGN_OR_RETURN(
        JobPtr job, ConvertRequest(*operations_.Find("DecodeSharedChannel"), RequestOf(request)));
    job->caller.client = client;
    Device* const device = device_.get();
    BASEBAND_RETURN_IF_ERROR(job->Bind({&device, 1}));
    BASEBAND_RETURN_IF_ERROR(job->Hold({&device, 1}));
    return job;
  }
  // The response, with its bulk fields.
  absl::StatusOr<v1::DecodeSharedChannelResponse> Call(
      const v1::DecodeSharedChannelRequest& request, const std::string& client = "cell 1") {
    BASEBAND_ASSIGN_OR_RETURN(JobPtr job, Bound(request, client));
    return Run(std::move(job), request);
  }
  absl::StatusOr<v1::DecodeSharedChannelResponse> Run(
      JobPtr job, const v1::DecodeSharedChannelRequest& request) {
    job = testing::RunOnCpu(std::move(job), RequestOf(request).payload);
    BASEBAND_ASSIGN_OR_RETURN(const Reply reply,
                              operations_.Find("DecodeSharedChannel")->ToReply(*job));
    v1::DecodeSharedChannelResponse response;
    response.ParseFromString(reply.header);
    for (const BulkField& field : reply.fields) {
      const std::string bytes(reinterpret_cast<const char*>(reply.memory.data()) + field.offset,
                              static_cast<size_t>(field.bytes));
      const bool is_soft = field.number == v1::DecodeSharedChannelResponse::kSoftFieldNumber;
      *(is_soft ? response.mutable_soft() : response.mutable_payload()) = bytes;
    }
    return response;
  }
  v1::HarqOutcome OutcomeOf(const v1::DecodeSharedChannelRequest& request,
                            std::string* why = nullptr) {
    const auto response = Call(request);
    EXPECT_THAT(response, testing::IsOk());
    if (!response.ok()) return v1::HARQ_OUTCOME_UNSPECIFIED;
    if (why != nullptr) *why = response->blocks(0).harq_message();
    return response->blocks(0).harq();
  }

  absl::Time now_ = absl::UnixEpoch();
  OperationTable operations_ = MakeOperations();
  std::unique_ptr<CpuDevice> device_;
  const std::string llr_ = std::string(11000, '\x03');
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_UNIT_SERVER_OPERATIONS_HELD_SOFT_BITS_FIXTURE_H_
