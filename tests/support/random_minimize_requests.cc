#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

void AppendDouble(double value, std::string* payload) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  payload->append(bytes, sizeof(bytes));
}

void AddAxis(double begin, double end, int count, v1::MinimizeRequest* request) {
  v1::GridAxis& axis = *request->add_axes();
  axis.set_begin(begin);
  axis.set_step((end - begin) / std::max(1, count - 1));
  axis.set_count(static_cast<uint64_t>(count));
}

// About `points` in all, over `axes`.
int CountOfAxis(int points, int axes, Random& random) {
  return 1 + SomeCount(static_cast<int>(2.0 * std::pow(points, 1.0 / axes)), random);
}

// A formula that is as well conditioned as it looks: the devices differ in its last places.
void SetExpression(Random& random, v1::MinimizeRequest* request) {
  v1::Expression& expression = *request->mutable_expression();
  const auto number = [&] { return absl::StrCat(Between(0.1, 3.0, random)); };
  const int axes = 1 + random.Below(3);
  constexpr const char* kNames[] = {"x", "y", "z"};
  std::string text = number();
  for (int axis = 0; axis < axes; ++axis) {
    const std::string x = kNames[axis];
    const std::string terms[] = {
        absl::StrCat("(", x, " - ", number(), ")^2"),
        absl::StrCat(number(), " * cos(", number(), " * ", x, ")"),
        absl::StrCat("sqrt(", x, ")"),  // NaN where negative
        absl::StrCat("select(", x, " < ", number(), ", abs(", x, "), exp(-", x, "))"),
        absl::StrCat("min(", x, " * ", x, ", ", number(), ", atan2(", x, ", s))"),
        absl::StrCat("sum(j, 0, size(a) - 1, (", x, " * a[j] - s)^2)"),
        absl::StrCat("log(1 + ", x, "^2) / (1 + hypot(", x, ", t))"),
        absl::StrCat("sinpi(", x, ") * max(", x, ", -", x, ")")};
    for (int i = 1 + random.Below(3); i > 0; --i) {
      text += OneOf<const char*>({" + ", " - "}, random);
      text += terms[random.Below(8)];
    }
    AddAxis(Between(-4.0, 0.0, random), Between(0.5, 4.0, random), CountOfAxis(20000, axes, random),
            request);
  }
  expression.set_text(text);
  for (const char* const name : {"s", "t"}) {
    v1::NamedScalar& scalar = *expression.add_scalars();
    scalar.set_name(name);
    scalar.set_value(Between(-2.0, 2.0, random));
  }
  v1::NamedArray& array = *expression.add_arrays();
  array.set_name("a");
  array.set_size(static_cast<uint64_t>(SomeCount(40, random)));
  for (uint64_t i = 0; i < array.size(); ++i) {
    AppendDouble(random.Normal(), request->mutable_payload());
  }
}

void AppendNoise(int64_t count, std::string* payload, Random& random) {
  for (int64_t i = 0; i < count; ++i) AppendDouble(random.Normal(), payload);
}

void SetSinusoids(Random& random, v1::MinimizeRequest* request) {
  v1::SinusoidsFunctional& functional = *request->mutable_sinusoids();
  const int samples = 16 + SomeCount(300, random);
  const double interval = LogBetween(1e-9, 1.0, random);
  const int axes = 1 + random.Below(2);
  functional.set_num_samples(static_cast<uint64_t>(samples));
  functional.set_sampling_interval_s(interval);
  functional.set_is_complex(OneIn(2, random));
  functional.set_fixed_columns(static_cast<uint32_t>(random.Below(3)));
  request->set_method(static_cast<v1::SearchMethod>(random.Below(4)));
  for (int axis = 0; axis < axes; ++axis) {
    // Apart, so that the columns are never nearly the same.
    const double low = (0.05 + 0.2 * axis) / interval;
    AddAxis(low, low + 0.15 / interval, CountOfAxis(1500, axes, random), request);
  }
  const int64_t numbers = int64_t{samples} * (1 + functional.fixed_columns());
  AppendNoise(functional.is_complex() ? 2 * numbers : numbers, request->mutable_payload(), random);
}

void SetChirp(Random& random, v1::MinimizeRequest* request) {
  const int samples = 16 + SomeCount(300, random);
  const double interval = LogBetween(1e-9, 1.0, random);
  const double length = samples * interval;
  request->mutable_chirp()->set_num_samples(static_cast<uint64_t>(samples));
  request->mutable_chirp()->set_sampling_interval_s(interval);
  request->set_method(static_cast<v1::SearchMethod>(random.Below(3)));
  if (OneIn(3, random)) {
    AddAxis(-1.0 / (length * length * length), 1.0 / (length * length * length),
            SomeCount(7, random), request);
  }
  AddAxis(-5.0 / (length * length), 5.0 / (length * length), SomeCount(40, random), request);
  AddAxis(-0.4 / interval, 0.4 / interval, SomeCount(200, random), request);
  AppendNoise(int64_t{2} * samples, request->mutable_payload(), random);
}

void SetDelayDoppler(Random& random, v1::MinimizeRequest* request) {
  const int samples = 16 + SomeCount(300, random);
  const double interval = LogBetween(1e-9, 1.0, random);
  request->mutable_delay_doppler()->set_num_samples(static_cast<uint64_t>(samples));
  request->mutable_delay_doppler()->set_sampling_interval_s(interval);
  request->set_method(static_cast<v1::SearchMethod>(random.Below(3)));
  AddAxis(0.0, Between(1.0, 20.0, random) * interval, SomeCount(40, random), request);
  AddAxis(-2.0 / (samples * interval), 2.0 / (samples * interval), SomeCount(60, random), request);
  AppendNoise(int64_t{4} * samples, request->mutable_payload(), random);
}

}  // namespace

v1::MinimizeRequest RandomMinimizeRequest(Random& random) {
  v1::MinimizeRequest request;
  switch (random.Below(6)) {
    case 0: {
      request.mutable_schwefel();
      const int axes = 1 + random.Below(4);
      for (int axis = 0; axis < axes; ++axis) {
        AddAxis(-500.0, 500.0, CountOfAxis(50000, axes, random), &request);
      }
      break;
    }
    case 1:
      SetSinusoids(random, &request);
      break;
    case 2:
      SetChirp(random, &request);
      break;
    case 3:
      SetDelayDoppler(random, &request);
      break;
    default:
      SetExpression(random, &request);
  }
  request.set_goal(static_cast<v1::SearchGoal>(random.Below(3)));
  request.set_precision(static_cast<v1::SearchPrecision>(random.Below(3)));
  request.set_nan_policy(static_cast<v1::NanPolicy>(OneIn(10, random) ? 2 : random.Below(2)));
  if (OneIn(3, random)) request.set_top(static_cast<uint32_t>(SomeCount(20, random)));
  if (OneIn(3, random)) {
    for (int axis = 0; axis < request.axes_size(); ++axis) {
      request.add_separation(static_cast<uint64_t>(SomeCount(20, random)));
    }
  }
  uint64_t points = 1;
  for (const v1::GridAxis& axis : request.axes()) points *= axis.count();
  if (OneIn(3, random)) {
    request.set_profile_axis(static_cast<uint32_t>(random.Below(request.axes_size())));
    const uint64_t count = request.axes(static_cast<int>(request.profile_axis())).count();
    request.set_profile_bins(static_cast<uint32_t>(
        SomeCount(static_cast<int>(std::min<uint64_t>(count, 4096)), random)));
  }
  if (OneIn(3, random)) {
    request.set_refinement(static_cast<v1::Refinement>(random.Below(6)));
    request.set_zoom_levels(static_cast<uint32_t>(random.Below(17)));
  }
  if (OneIn(3, random)) {
    request.set_first_point(static_cast<uint64_t>(random.Uniform() * static_cast<double>(points)));
    const uint64_t left = points - request.first_point();
    request.set_num_points(OneIn(2, random) ? 0 : 1 + random.Next() % left);
  }
  if (OneIn(3, random)) request.set_progress_interval_ms(10);
  return request;
}

}  // namespace baseband::testing
