// Samples as they lie in recordings, of more kinds than the wire has.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FILE_SAMPLES_H_
#define BASEBAND_CLIENT_CTL_COMMON_FILE_SAMPLES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/ctl/common/wideband_format.h"

namespace baseband::ctl {

// Of the numbers, little endian. Full scale of integers is half their range.
enum class Encoding { kUnsigned8, kSigned8, kSigned16, kSigned24, kSigned32, kFloat32, kFloat64 };

// An unsigned byte has no zero of its own. A converter of 8 bits has as many steps above as below
// it: 127.5; the WAV format says 128.
inline constexpr double kZeroOfConverters = 127.5;
inline constexpr double kZeroOfWav = 128;

struct FileSamples {
  Encoding encoding = Encoding::kSigned16;
  bool is_complex = true;           // I, then Q; else real
  double zero = kZeroOfConverters;  // of kUnsigned8: what stands for 0

  int bytes() const;         // of a sample
  std::string name() const;  // "ci16", "f32", and of what no raw file has "ci24", "f64"
};

FileSamples SamplesOf(const WidebandFormat& format, double zero = kZeroOfConverters);

// What holds them on the wire: without loss, but for 32-bit integers and doubles, which become
// float32. Unsigned bytes become int8 around 128, int16 around any other zero, which is taken to
// the next 1/256.
const WidebandFormat& WireFormatOf(const FileSamples& samples);

// Whole samples as the file has them, to WireFormatOf(samples).
std::string ToWire(std::string bytes, const FileSamples& samples);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FILE_SAMPLES_H_
