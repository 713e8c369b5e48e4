#include "server/converters/minimize_functionals.h"

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/matched.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/sinusoids.h"
#include "server/converters/rpc.h"

namespace baseband::server {
namespace {

constexpr const char* kAxisNames[] = {"x", "y", "z", "w"};

absl::Status CheckPayload(const RequestView& request, int64_t numbers) {
  constexpr int64_t kBytes = sizeof(double);
  if (request.payload_bytes() != numbers * kBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("payload has ", request.payload_bytes(), " bytes; the functional takes ",
                     numbers, " float64 numbers, which is ", numbers * kBytes));
  }
  return absl::OkStatus();
}

std::vector<double> ReadPayload(const RequestView& request) {
  std::vector<double> numbers(static_cast<size_t>(request.payload_bytes()) / sizeof(double));
  request.GatherPayload(reinterpret_cast<uint8_t*>(numbers.data()));
  return numbers;
}

// The payload: `series` times num_samples samples of one or two parts.
std::vector<std::vector<std::complex<double>>> ReadSeries(const RequestView& request,
                                                          int64_t series, int64_t num_samples,
                                                          int64_t parts) {
  const std::vector<double> numbers = ReadPayload(request);
  const double* next = numbers.data();
  std::vector<std::vector<std::complex<double>>> all(static_cast<size_t>(series));
  for (auto& samples : all) {
    samples.reserve(static_cast<size_t>(num_samples));
    for (int64_t n = 0; n < num_samples; ++n, next += parts) {
      samples.emplace_back(next[0], parts == 2 ? next[1] : 0.0);
    }
  }
  return all;
}

absl::StatusOr<minimize::FunctionalPtr> ExpressionFromProto(const v1::MinimizeRequest& message,
                                                            const RequestView& request) {
  const v1::Expression& expression = message.expression();
  minimize::Names names;
  for (int k = 0; k < message.axes_size(); ++k) {
    const std::string& name = message.axes(k).name();
    names.variables.push_back(name.empty() ? kAxisNames[k] : name);
  }
  std::vector<double> scalars;
  for (const v1::NamedScalar& scalar : expression.scalars()) {
    names.scalars.push_back(scalar.name());
    scalars.push_back(scalar.value());
  }
  // Sizes are bounded before they are added up: Parse has not seen them yet.
  int64_t elements = 0;
  for (const v1::NamedArray& array : expression.arrays()) {
    const int64_t size = Saturated(array.size());
    names.arrays.push_back({array.name(), size});
    elements += std::min(size, minimize::kMaxArrayElements + 1);
  }
  BASEBAND_ASSIGN_OR_RETURN(auto parsed, minimize::Expression::Parse(expression.text(), names));
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, elements));
  const std::vector<double> numbers = ReadPayload(request);
  std::vector<std::vector<double>> arrays;
  auto next = numbers.begin();
  for (const auto& array : names.arrays) {
    arrays.emplace_back(next, next + array.size);
    next += array.size;
  }
  return minimize::ExpressionFunctional::Create(std::move(parsed), std::move(scalars),
                                                std::move(arrays));
}

absl::StatusOr<minimize::FunctionalPtr> SinusoidsFromProto(const v1::SinusoidsFunctional& message,
                                                           const RequestView& request,
                                                           const minimize::Grid& grid) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("sinusoids.num_samples", Saturated(message.num_samples()),
                                      minimize::kMinSamples, minimize::kMaxSamples));
  BASEBAND_RETURN_IF_ERROR(CheckRange("sinusoids.fixed_columns", message.fixed_columns(), 0,
                                      minimize::kMaxFixedColumns));
  const auto num_samples = static_cast<int64_t>(message.num_samples());
  const int64_t parts = message.is_complex() ? 2 : 1;
  const int64_t series = 1 + int64_t{message.fixed_columns()};
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, series * num_samples * parts));
  minimize::Observation observation;
  observation.sampling_interval_s = message.sampling_interval_s();
  observation.is_complex = message.is_complex();
  observation.columns = ReadSeries(request, series, num_samples, parts);
  observation.signal = std::move(observation.columns.front());
  observation.columns.erase(observation.columns.begin());
  return grid.num_axes() == 1 ? minimize::MakeSinusoids(std::move(observation))
                              : minimize::MakeManySinusoids(std::move(observation), grid);
}

absl::StatusOr<minimize::FunctionalPtr> ChirpFromProto(const v1::ChirpFunctional& message,
                                                       int num_axes, const RequestView& request) {
  const int64_t num_samples = Saturated(message.num_samples());
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("chirp.num_samples", num_samples, minimize::kMinSamples, minimize::kMaxSamples));
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, 2 * num_samples));
  return minimize::MakeChirp(ReadSeries(request, 1, num_samples, 2).front(),
                             message.sampling_interval_s(), num_axes);
}

absl::StatusOr<minimize::FunctionalPtr> DelayDopplerFromProto(
    const v1::DelayDopplerFunctional& message, const RequestView& request) {
  const int64_t num_samples = Saturated(message.num_samples());
  BASEBAND_RETURN_IF_ERROR(CheckRange("delay_doppler.num_samples", num_samples,
                                      minimize::kMinSamples, minimize::kMaxReplicaSamples));
  BASEBAND_RETURN_IF_ERROR(CheckPayload(request, 4 * num_samples));
  const auto series = ReadSeries(request, 2, num_samples, 2);
  return minimize::MakeDelayDoppler(series[0], series[1], message.sampling_interval_s());
}

}  // namespace

absl::StatusOr<minimize::FunctionalPtr> FunctionalFromProto(const v1::MinimizeRequest& message,
                                                            const RequestView& request,
                                                            const minimize::Grid& grid) {
  switch (message.functional_case()) {
    case v1::MinimizeRequest::kExpression:
      return ExpressionFromProto(message, request);
    case v1::MinimizeRequest::kSchwefel:
      BASEBAND_RETURN_IF_ERROR(CheckPayload(request, 0));
      return minimize::MakeSchwefel(message.axes_size());
    case v1::MinimizeRequest::kSinusoids:
      return SinusoidsFromProto(message.sinusoids(), request, grid);
    case v1::MinimizeRequest::kChirp:
      return ChirpFromProto(message.chirp(), message.axes_size(), request);
    case v1::MinimizeRequest::kDelayDoppler:
      return DelayDopplerFromProto(message.delay_doppler(), request);
    case v1::MinimizeRequest::FUNCTIONAL_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "functional is not set: it is an expression, schwefel, sinusoids, chirp or delay_doppler");
}

}  // namespace baseband::server
