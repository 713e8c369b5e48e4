#include "tests/support/downconvert_traffic.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/time/clock.h"

namespace baseband::testing {
namespace {

constexpr int64_t kBytesPerSample = 4;
constexpr double kSampleRateHz = 64e6;

// Sizes of the pieces of `total` samples: the given ones, the last again and again.
std::vector<int64_t> Pieces(const std::vector<int64_t>& sizes, int64_t total) {
  std::vector<int64_t> pieces;
  for (size_t i = 0; total > 0; ++i) {
    pieces.push_back(std::min(total, sizes[std::min(i, sizes.size() - 1)]));
    total -= pieces.back();
  }
  return pieces;
}

int64_t OutputBytes(v1::SampleFormat format) {
  return format == v1::SAMPLE_FORMAT_FLOAT16 || format == v1::SAMPLE_FORMAT_INT16 ? 4 : 8;
}

// Appends each channel's part of the payload to what it has.
void Append(const v1::DownconvertSetup& setup, const v1::DownconvertResponse& response,
            Converted* converted) {
  converted->channels.resize(static_cast<size_t>(setup.channels_size()));
  size_t at = 0;
  for (int c = 0; c < response.channels_size(); ++c) {
    const auto bytes = static_cast<size_t>(response.channels(c).count()) *
                       static_cast<size_t>(OutputBytes(setup.channels(c).output()));
    converted->channels[static_cast<size_t>(c)] += response.payload().substr(at, bytes);
    at += bytes;
  }
  EXPECT_EQ(at, response.payload().size());
  ++converted->responses;
  converted->gap += static_cast<int64_t>(response.gap());
}

}  // namespace

std::string WidebandSignal(int64_t num_samples, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0.0, 1500.0);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(num_samples * kBytesPerSample));
  for (int64_t n = 0; n < num_samples; ++n) {
    const double t = static_cast<double>(n) / kSampleRateHz;
    const double angles[] = {2 * M_PI * 9.1e6 * t, -2 * M_PI * 3.2e6 * t};
    for (const bool quadrature : {false, true}) {
      double value = noise(random);
      for (const double angle : angles) {
        value += 7000.0 * (quadrature ? std::sin(angle) : std::cos(angle));
      }
      const auto sample = static_cast<int16_t>(std::clamp(value, -32768.0, 32767.0));
      bytes.append(reinterpret_cast<const char*>(&sample), sizeof(sample));
    }
  }
  return bytes;
}

v1::DownconvertSetup ChannelsOf(int count, int taps, int down) {
  v1::DownconvertSetup setup;
  setup.set_sample_rate_hz(kSampleRateHz);
  for (int c = 0; c < count; ++c) {
    v1::DownconvertChannel& channel = *setup.add_channels();
    channel.mutable_frequency()->mutable_fraction()->set_num(9123457 - 1000003 * c % 30000000);
    channel.mutable_frequency()->mutable_fraction()->set_den(64000000);
    channel.set_phase(0.1 * c);
    for (int k = 0; k < taps; ++k) {
      const double window = std::sin(M_PI * (k + 0.5) / taps);
      channel.mutable_filter()->add_taps(
          static_cast<float>(window * window * (1 + 0.01 * c) / taps));
    }
    channel.mutable_filter()->set_down(static_cast<uint32_t>(down));
  }
  return setup;
}

Converted ConvertInPieces(const std::vector<v1::Baseband::Stub*>& stubs,
                          const v1::DownconvertRequest& like, const std::string& signal,
                          const std::vector<int64_t>& sizes) {
  Converted converted;
  uint64_t history = 0;
  uint64_t next = 0;
  size_t turn = 0;
  for (const int64_t size : Pieces(sizes, static_cast<int64_t>(signal.size()) / kBytesPerSample)) {
    v1::DownconvertRequest request = like;
    request.set_first_sample(next - history);
    request.set_history(history);
    request.set_payload(signal.substr((next - history) * kBytesPerSample,
                                      (history + static_cast<uint64_t>(size)) * kBytesPerSample));
    v1::DownconvertResponse response;
    const grpc::Status status = Call(*stubs[turn++ % stubs.size()], request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) break;
    Append(like.setup(), response, &converted);
    next = response.next_sample();
    history = response.history();
  }
  EXPECT_EQ(next * kBytesPerSample, signal.size());
  return converted;
}

Converted ConvertAsStream(v1::Baseband::Stub& stub, const v1::DownconvertRequest& like,
                          const std::string& signal, const std::vector<int64_t>& sizes) {
  Converted converted;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);  // many clients that connect at once
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(120)));
  const auto stream = stub.DownconvertStream(&context);
  uint64_t next = 0;
  for (const int64_t size : Pieces(sizes, static_cast<int64_t>(signal.size()) / kBytesPerSample)) {
    const auto count = static_cast<uint64_t>(size);
    v1::DownconvertRequest request;
    if (next == 0) *request.mutable_setup() = like.setup();
    for (const v1::Retune& retune : like.retunes()) {
      if (retune.index() >= next && retune.index() < next + count) *request.add_retunes() = retune;
    }
    request.set_payload(signal.substr(next * kBytesPerSample, count * kBytesPerSample));
    v1::DownconvertResponse response;
    if (!stream->Write(request) || !stream->Read(&response)) break;
    Append(like.setup(), response, &converted);
    next += count;
    EXPECT_EQ(response.next_sample(), next);
  }
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return converted;
}

grpc::Status Call(v1::Baseband::Stub& stub, const v1::DownconvertRequest& request,
                  v1::DownconvertResponse* response, absl::Duration timeout) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);  // many clients that connect at once
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return stub.Downconvert(&context, request, response);
}

}  // namespace baseband::testing
