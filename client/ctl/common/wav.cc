#include "client/ctl/common/wav.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

constexpr uint32_t kUnknownSize = 0xffffffff;  // a size that stands elsewhere, or nowhere
constexpr int kMaxChunks = 10000;              // a recorder writes fewer than ten
constexpr size_t kMaxRead = 4096;  // of a chunk: "fmt " has 40 bytes, "auxi" some hundred
constexpr size_t kCentre = 32;     // in "auxi", behind the times of begin and end

constexpr int kPcm = 1;
constexpr int kFloat = 3;
constexpr int kExtensible = 0xfffe;
// Of WAVE_FORMAT_EXTENSIBLE, behind the number of the format.
constexpr absl::string_view kFormatGuid("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71",
                                        14);

absl::Status RefuseWav(absl::string_view what) { return absl::InvalidArgumentError(what); }

template <typename T>
T WavNumber(absl::string_view bytes, size_t at) {
  T number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

// A chunk's name as people may read it.
std::string PrintableName(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

class WavReader {
 public:
  WavReader(std::FILE* file, int64_t size) : file_(file), size_(size) {}

  absl::StatusOr<WavHead> Read() {
    if (size_ == 0) return RefuseWav("is empty");
    BASEBAND_ASSIGN_OR_RETURN(const std::string riff, Take(12));
    const std::string form = riff.substr(0, 4);
    is_64_ = form == "RF64" || form == "BW64";
    if ((!is_64_ && form != "RIFF") || riff.substr(8) != "WAVE") {
      return RefuseWav("is no WAV file: it does not begin with RIFF, RF64 or BW64, and WAVE");
    }
    int chunks = 0;
    while (size_ - place_ >= 8) {
      if (++chunks > kMaxChunks) {
        return RefuseWav(absl::StrCat("has more than ", kMaxChunks, " chunks"));
      }
      BASEBAND_RETURN_IF_ERROR(ReadChunk());
    }
    if (!has_format_ || head_.begin == 0) {
      return RefuseWav(absl::StrCat("ends without a chunk '", has_format_ ? "data" : "fmt ", "'"));
    }
    return Finish();
  }

 private:
  absl::StatusOr<std::string> Take(size_t size) {
    std::string bytes(size, '\0');
    if (std::fread(&bytes[0], 1, size, file_) != size) {
      return RefuseWav("ends within its head");
    }
    place_ += static_cast<int64_t>(size);
    return bytes;
  }

  // How long chunk `name` is that says `size`; held against the file.
  absl::StatusOr<int64_t> SizeOf(const std::string& name, uint32_t size) {
    const auto left = static_cast<uint64_t>(size_ - place_);
    uint64_t is = size;
    if (size == kUnknownSize && is_64_) {
      const auto found = sizes_.find(name);
      if (found == sizes_.end()) {
        return RefuseWav(absl::StrCat("has a chunk '", PrintableName(name),
                                      "' whose size does not stand in 'ds64' before it"));
      }
      is = found->second;
    } else if (size == kUnknownSize && name == "data") {
      is = left;
      is_open_ = true;
    }
    if (is > left) {
      return RefuseWav(absl::StrCat("has a chunk '", PrintableName(name), "' that says ", is,
                                    " bytes, but ", left, " follow"));
    }
    return static_cast<int64_t>(is);
  }

  absl::Status ReadChunk() {
    BASEBAND_ASSIGN_OR_RETURN(const std::string start, Take(8));
    const std::string name = start.substr(0, 4);
    BASEBAND_ASSIGN_OR_RETURN(const int64_t size, SizeOf(name, WavNumber<uint32_t>(start, 4)));
    const int64_t end = place_ + size;
    if (name == "data") {
      if (head_.begin != 0) {
        return RefuseWav("has two chunks 'data'");
      }
      head_.begin = place_;
      data_bytes_ = size;
    } else if (name == "fmt " || name == "ds64" || name == "auxi") {
      BASEBAND_ASSIGN_OR_RETURN(const std::string bytes,
                                Take(std::min(static_cast<size_t>(size), kMaxRead)));
      BASEBAND_RETURN_IF_ERROR(name == "fmt "   ? ReadFormat(bytes)
                               : name == "ds64" ? ReadSizes(bytes)
                                                : ReadAuxiliary(bytes));
    }
    place_ = end + (size & 1);  // chunks begin at even places
    return place_ >= size_ || fseeko(file_, place_, SEEK_SET) == 0
               ? absl::OkStatus()
               : RefuseWav("cannot be read to its end");
  }

  // Sizes of 64 bits: of the file, of 'data', of samples; then of other chunks by their names.
  absl::Status ReadSizes(absl::string_view bytes) {
    if (bytes.size() < 28) {
      return RefuseWav(
          absl::StrCat("has a chunk 'ds64' of ", bytes.size(), " bytes, not 28 or more"));
    }
    sizes_.clear();
    sizes_["data"] = WavNumber<uint64_t>(bytes, 8);
    for (size_t at = 28; at + 12 <= bytes.size(); at += 12) {
      sizes_[std::string(bytes.substr(at, 4))] = WavNumber<uint64_t>(bytes, at + 4);
    }
    return absl::OkStatus();
  }

  absl::Status ReadFormat(absl::string_view bytes) {
    if (bytes.size() < 16) {
      return RefuseWav(
          absl::StrCat("has a chunk 'fmt ' of ", bytes.size(), " bytes, not 16 or more"));
    }
    int format = WavNumber<uint16_t>(bytes, 0);
    const int channels = WavNumber<uint16_t>(bytes, 2);
    const int sample_bytes = WavNumber<uint16_t>(bytes, 12);
    const int bits = WavNumber<uint16_t>(bytes, 14);
    if (format == kExtensible && bytes.size() >= 40 && bytes.substr(26, 14) == kFormatGuid) {
      format = WavNumber<uint16_t>(bytes, 24);
    }
    if (channels != 1 && channels != 2) {
      return RefuseWav(absl::StrCat("has ", channels, " channels, not 1 (real) or 2 (I and Q)"));
    }
    const auto encoding = EncodingOf(format, bits);
    if (!encoding.has_value()) {
      return RefuseWav(
          absl::StrCat("has samples of format ", format, " and ", bits,
                       " bits, not PCM (1) of 8, 16, 24 or 32 or float (3) of 32 or 64"));
    }
    head_.samples = {*encoding, channels == 2, kZeroOfWav};
    head_.sample_rate_hz = WavNumber<uint32_t>(bytes, 4);
    if (sample_bytes != head_.samples.bytes()) {
      return RefuseWav(absl::StrCat("says ", sample_bytes, " bytes of a sample, but ", channels,
                                    " channels of ", bits, " bits have ", head_.samples.bytes()));
    }
    has_format_ = true;
    return absl::OkStatus();
  }

  static absl::optional<Encoding> EncodingOf(int format, int bits) {
    if (format == kFloat) {
      return bits == 32   ? absl::make_optional(Encoding::kFloat32)
             : bits == 64 ? absl::make_optional(Encoding::kFloat64)
                          : absl::nullopt;
    }
    if (format != kPcm) {
      return absl::nullopt;
    }
    switch (bits) {
      case 8:
        return Encoding::kUnsigned8;
      case 16:
        return Encoding::kSigned16;
      case 24:
        return Encoding::kSigned24;
      case 32:
        return Encoding::kSigned32;
      default:
        return absl::nullopt;
    }
  }

  absl::Status ReadAuxiliary(absl::string_view bytes) {
    // Some write XML of 8 or 16 bits there, which says nothing to us.
    const bool is_text = absl::StartsWith(bytes, "<");
    if (!is_text && bytes.size() >= kCentre + sizeof(uint32_t)) {
      if (const auto centre = WavNumber<uint32_t>(bytes, kCentre); centre != 0) {
        head_.centre_hz = centre;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<WavHead> Finish() {
    const int64_t size = head_.samples.bytes();
    if (is_open_) {
      data_bytes_ -= data_bytes_ % size;
    }
    if (data_bytes_ == 0) {
      return RefuseWav("is empty: its chunk 'data' has no bytes");
    }
    if (data_bytes_ % size != 0) {
      return RefuseWav(absl::StrCat("has ", data_bytes_,
                                    " bytes of samples, not a multiple of the ", size,
                                    " of a sample (", head_.samples.name(), ")"));
    }
    head_.count = data_bytes_ / size;
    return head_;
  }

  std::FILE* const file_;
  const int64_t size_;  // of the file
  int64_t place_ = 0;
  bool is_64_ = false;
  bool has_format_ = false;
  bool is_open_ = false;                   // 'data' is all that follows
  std::map<std::string, uint64_t> sizes_;  // of 'ds64', by chunk
  int64_t data_bytes_ = 0;
  WavHead head_;
};

}  // namespace

bool IsWavName(absl::string_view path) {
  return absl::EndsWithIgnoreCase(path, ".wav") || absl::EndsWithIgnoreCase(path, ".wave") ||
         absl::EndsWithIgnoreCase(path, ".rf64") || absl::EndsWithIgnoreCase(path, ".bw64");
}

absl::StatusOr<WavHead> ReadWavHead(std::FILE* file) {
  struct stat info = {};
  if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
    return RefuseWav("is no regular file: a WAV is not read from a pipe or a device");
  }
  return WavReader(file, info.st_size).Read();
}

}  // namespace baseband::ctl
