// Complex samples: the wire's formats and numbers to calculate with.
#ifndef BASEBAND_CLIENT_CTL_COMMON_SYMBOLS_H_
#define BASEBAND_CLIENT_CTL_COMMON_SYMBOLS_H_

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

using Complex = std::complex<float>;

// "cf32", "cf16", "ci16", or another name of sample_names.h for one of them; "f32", "f16" and
// "i16", too, for what is asked is always complex. InvalidArgument begins with `what`.
absl::StatusOr<v1::SampleFormat> ParseSampleFormat(absl::string_view what, absl::string_view name);
// The first three.
std::string NameOfFormat(v1::SampleFormat format);

// Bytes of I and Q together.
int BytesPerSample(v1::SampleFormat format);

// What CarrierGroup.scale 0 stands for.
float DefaultScale(v1::SampleFormat format);

// Numbers of `bytes`, which hold whole samples, times `scale`.
std::vector<Complex> ToComplex(absl::string_view bytes, v1::SampleFormat format, float scale);

// The inverse: samples divided by `scale`, rounded to the nearest; int16 saturates.
std::string FromComplex(absl::Span<const Complex> samples, v1::SampleFormat format, float scale);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_SYMBOLS_H_
