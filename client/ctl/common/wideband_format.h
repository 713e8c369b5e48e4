// Formats of wideband samples: as flags and SigMF name them, as the wire has them.
#ifndef BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FORMAT_H_
#define BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

struct WidebandFormat {
  const char* name;   // "ci16", of sample_names.h
  const char* sigmf;  // "ci16_le"
  v1::WidebandFormat
      wire;          // UNSPECIFIED: the wire has none such, file_samples.h says what holds it
  int bytes;         // of a sample
  bool is_complex;   // else real: Q is 0
  float full_scale;  // this is 1.0
};

// ci8, ci16, cf32, cu8, i8, i16, f32, u8.
absl::Span<const WidebandFormat> WidebandFormats();

// By a name of sample_names.h; InvalidArgument names those that there are.
absl::StatusOr<const WidebandFormat*> FindWidebandFormat(absl::string_view name);
// By SigMF's core:datatype; InvalidArgument.
absl::StatusOr<const WidebandFormat*> FormatOfSigmf(absl::string_view datatype);
// By the end of a file's name; null if it says nothing.
const WidebandFormat* FormatOfFileName(absl::string_view path);

// Whole samples in a format of the wire, to numbers of which full scale is 1.
std::vector<Complex> WidebandToComplex(absl::string_view bytes, const WidebandFormat& format);
// The inverse, in any format; integers are rounded and saturate. The zero of unsigned bytes is
// 127.5.
std::string WidebandFromComplex(absl::Span<const Complex> samples, const WidebandFormat& format);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_WIDEBAND_FORMAT_H_
