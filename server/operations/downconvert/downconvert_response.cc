#include "server/operations/downconvert/downconvert_response.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

// A sample of floats: "nan", or of a complex signal "(1, nan)".
std::string SampleText(absl::Span<const uint8_t> samples, int64_t index,
                       downconvert::InputFormat format) {
  const auto bytes = static_cast<size_t>(downconvert::BytesPerSample(format));
  float parts[2] = {};
  std::memcpy(parts, samples.data() + static_cast<size_t>(index) * bytes,
              std::min(bytes, sizeof(parts)));
  return bytes == sizeof(float) ? absl::StrCat(parts[0])
                                : absl::StrCat("(", parts[0], ", ", parts[1], ")");
}

}  // namespace

absl::Status CheckFinite(const DownconvertJob& job) {
  if (!job.has_non_finite()) return absl::OkStatus();
  // What stayed on a device was looked at when it came.
  const int64_t resident = job.resident_bytes / downconvert::BytesPerSample(job.block().format);
  downconvert::Block input = job.block();
  input.num_samples -= resident;
  const Payload samples = job.input.is_contiguous() ? job.input : job.input.Copy();
  const int64_t found = downconvert::FindNonFinite(input, samples.span());
  if (found == input.num_samples) {
    return NotFoundAgain("a sample that is not finite", job.input);
  }
  const int64_t bad = resident + found;
  return absl::InvalidArgumentError(absl::StrCat(
      "payload: sample ", bad - job.past_samples(), ", at ", job.block().first_index + bad,
      " of the signal, is ", SampleText(samples.span(), found, input.format), ": not finite"));
}

void DescribeChannels(const DownconvertSetup& setup, v1::DownconvertResponse* response) {
  for (size_t c = 0; c < setup.channels->size(); ++c) {
    const downconvert::Filter& filter = *(*setup.channels)[c].filter;
    const downconvert::Frequency& frequency = setup.frequencies[c];
    v1::ChannelDescription& description = *response->add_descriptions();
    description.mutable_frequency()->set_num(frequency.num());
    description.mutable_frequency()->set_den(frequency.den());
    description.set_frequency_hz(frequency.cycles_per_sample() * setup.sample_rate_hz);
    description.set_output_rate_hz(setup.sample_rate_hz * filter.up() / filter.down());
    description.set_group_delay(filter.report().group_delay);
    description.set_transient(static_cast<uint64_t>(filter.report().transient_inputs));
    description.set_ripple_db(filter.report().ripple_db);
    description.set_attenuation_db(filter.report().attenuation_db);
    for (const downconvert::Stage& stage : filter.stages()) {
      description.add_stage_taps(static_cast<uint32_t>(stage.taps.size()));
      description.add_stage_up(static_cast<uint32_t>(stage.up));
      description.add_stage_down(static_cast<uint32_t>(stage.down));
    }
  }
}

void FillResponse(const DownconvertJob& job, v1::DownconvertResponse* response) {
  SetTiming(job.times, response->mutable_timing());
  for (size_t c = 0; c < job.channels().size(); ++c) {
    v1::ChannelOutput& output = *response->add_channels();
    output.set_first_output(static_cast<uint64_t>(job.ranges()[c].first));
    output.set_count(static_cast<uint64_t>(job.ranges()[c].count));
    output.set_saturated(static_cast<uint64_t>(job.results[c].saturated));
  }
  const int64_t next = job.block().first_index + job.block().num_samples;
  response->set_next_sample(static_cast<uint64_t>(next));
  response->set_history(
      static_cast<uint64_t>(std::min(next, downconvert::HistoryOf(job.channels()))));
}

}  // namespace baseband::server
