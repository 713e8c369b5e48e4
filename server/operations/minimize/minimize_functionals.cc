#include "server/operations/minimize/minimize_functionals.h"

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/matched.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/sinusoids.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

constexpr const char* kAxisNames[] = {"x", "y", "z", "w"};

// A kernel's name for what is at fault, as the message has it.
absl::Status NameField(absl::string_view functional, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  const absl::string_view text = status.message();
  const auto is = [text](absl::string_view begin) { return absl::StartsWith(text, begin); };
  if (is("arrays") || is("scalars") || is("sampling_interval_s")) {
    return Within(absl::StrCat(functional, "."), status);
  }
  if (is("variables")) {
    return absl::InvalidArgumentError(absl::StrCat("axes", text.substr(9)));
  }
  if (is("number of axes") || is("the axes")) return Within("axes: ", status);
  if (is("signal") || is("column") || is("replica") || is("the replica")) {
    return Within("payload: ", status);
  }
  return status;
}

absl::Status CheckPayload(const Payload& payload, int64_t numbers) {
  constexpr int64_t kBytes = sizeof(double);
  if (payload.bytes() != numbers * kBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("payload has ", payload.bytes(), " bytes; the functional takes ", numbers,
                     " float64 numbers, which is ", numbers * kBytes));
  }
  return absl::OkStatus();
}

std::vector<double> ReadPayload(const Payload& payload) {
  std::vector<double> numbers(static_cast<size_t>(payload.bytes()) / sizeof(double));
  payload.CopyTo(reinterpret_cast<uint8_t*>(numbers.data()));
  return numbers;
}

// The payload: `series` times num_samples samples of one or two parts.
std::vector<std::vector<std::complex<double>>> ReadSeries(const Payload& payload, int64_t series,
                                                          int64_t num_samples, int64_t parts) {
  const std::vector<double> numbers = ReadPayload(payload);
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
                                                            const Payload& payload) {
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
  int64_t elements = 0;
  for (int k = 0; k < expression.arrays_size(); ++k) {
    const v1::NamedArray& array = expression.arrays(k);
    BASEBAND_RETURN_IF_ERROR(CheckRange(absl::StrCat("expression.arrays[", k, "].size"),
                                        array.size(), 1, minimize::kMaxArrayElements));
    names.arrays.push_back({array.name(), static_cast<int64_t>(array.size())});
    elements += names.arrays.back().size;
  }
  BASEBAND_ASSIGN_OR_RETURN(auto parsed, minimize::Expression::Parse(expression.text(), names));
  BASEBAND_RETURN_IF_ERROR(CheckPayload(payload, elements));
  const std::vector<double> numbers = ReadPayload(payload);
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
                                                           const Payload& payload,
                                                           const minimize::Grid& grid,
                                                           const ContinueCheck& may_continue) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("sinusoids.num_samples", message.num_samples(),
                                      minimize::kMinSamples, minimize::kMaxSamples));
  BASEBAND_RETURN_IF_ERROR(CheckRange("sinusoids.fixed_columns", message.fixed_columns(), 0,
                                      minimize::kMaxFixedColumns));
  const auto num_samples = static_cast<int64_t>(message.num_samples());
  const int64_t parts = message.is_complex() ? 2 : 1;
  const int64_t series = 1 + int64_t{message.fixed_columns()};
  BASEBAND_RETURN_IF_ERROR(CheckPayload(payload, series * num_samples * parts));
  minimize::Observation observation;
  observation.sampling_interval_s = message.sampling_interval_s();
  observation.is_complex = message.is_complex();
  observation.columns = ReadSeries(payload, series, num_samples, parts);
  observation.signal = std::move(observation.columns.front());
  observation.columns.erase(observation.columns.begin());
  return grid.num_axes() == 1
             ? minimize::MakeSinusoids(std::move(observation))
             : minimize::MakeManySinusoids(std::move(observation), grid, may_continue);
}

absl::StatusOr<minimize::FunctionalPtr> ChirpFromProto(const v1::ChirpFunctional& message,
                                                       int num_axes, const Payload& payload) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("chirp.num_samples", message.num_samples(),
                                      minimize::kMinSamples, minimize::kMaxSamples));
  const auto num_samples = static_cast<int64_t>(message.num_samples());
  BASEBAND_RETURN_IF_ERROR(CheckPayload(payload, 2 * num_samples));
  return minimize::MakeChirp(ReadSeries(payload, 1, num_samples, 2).front(),
                             message.sampling_interval_s(), num_axes);
}

absl::StatusOr<minimize::FunctionalPtr> DelayDopplerFromProto(
    const v1::DelayDopplerFunctional& message, const Payload& payload) {
  BASEBAND_RETURN_IF_ERROR(CheckRange("delay_doppler.num_samples", message.num_samples(),
                                      minimize::kMinSamples, minimize::kMaxReplicaSamples));
  const auto num_samples = static_cast<int64_t>(message.num_samples());
  BASEBAND_RETURN_IF_ERROR(CheckPayload(payload, 4 * num_samples));
  const auto series = ReadSeries(payload, 2, num_samples, 2);
  return minimize::MakeDelayDoppler(series[0], series[1], message.sampling_interval_s());
}

}  // namespace

namespace {

absl::StatusOr<minimize::FunctionalPtr> MakeFunctional(const v1::MinimizeRequest& message,
                                                       const Payload& payload,
                                                       const minimize::Grid& grid,
                                                       const ContinueCheck& may_continue) {
  switch (message.functional_case()) {
    case v1::MinimizeRequest::kExpression:
      return ExpressionFromProto(message, payload);
    case v1::MinimizeRequest::kSchwefel:
      BASEBAND_RETURN_IF_ERROR(CheckPayload(payload, 0));
      return minimize::MakeSchwefel(message.axes_size());
    case v1::MinimizeRequest::kSinusoids:
      return SinusoidsFromProto(message.sinusoids(), payload, grid, may_continue);
    case v1::MinimizeRequest::kChirp:
      return ChirpFromProto(message.chirp(), message.axes_size(), payload);
    case v1::MinimizeRequest::kDelayDoppler:
      return DelayDopplerFromProto(message.delay_doppler(), payload);
    case v1::MinimizeRequest::FUNCTIONAL_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "functional is not set: it is an expression, schwefel, sinusoids, chirp or delay_doppler");
}

}  // namespace

absl::StatusOr<minimize::FunctionalPtr> FunctionalFromProto(const v1::MinimizeRequest& message,
                                                            const Payload& payload,
                                                            const minimize::Grid& grid,
                                                            const ContinueCheck& may_continue) {
  absl::StatusOr<minimize::FunctionalPtr> made =
      MakeFunctional(message, payload, grid, may_continue);
  if (made.ok()) return made;
  const google::protobuf::OneofDescriptor& functional =
      *v1::MinimizeRequest::descriptor()->FindOneofByName("functional");
  const google::protobuf::FieldDescriptor* const field =
      message.GetReflection()->GetOneofFieldDescriptor(message, &functional);
  return NameField(field != nullptr ? field->name() : "", made.status());
}

}  // namespace baseband::server
