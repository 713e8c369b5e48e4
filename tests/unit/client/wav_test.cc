// WAV, RF64 and BW64 files, made byte by byte: what is read, and what is refused.
#include "client/ctl/common/wav.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/carrier/symbol_files.h"
#include "client/ctl/common/wideband_file.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::FileOfTest;
using ::baseband::testing::PathOfTest;
using ::testing::_;

constexpr uint32_t kUnknown = 0xffffffff;

std::string Little(uint64_t number, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&number), bytes);
}

// `size`: what it says of itself, if that is not what it is.
std::string Chunk(const std::string& name, const std::string& body,
                  absl::optional<uint32_t> size = absl::nullopt) {
  return name + Little(size.value_or(body.size()), 4) + body + std::string(body.size() % 2, '\0');
}

std::string Format(int format, int channels, int bits, int rate = 48000) {
  const int bytes = channels * bits / 8;
  return Little(format, 2) + Little(channels, 2) + Little(rate, 4) + Little(rate * bytes, 4) +
         Little(bytes, 2) + Little(bits, 2);
}

std::string Riff(const std::string& chunks, const std::string& form = "RIFF") {
  return form + Little(form == "RIFF" ? chunks.size() + 4 : kUnknown, 4) + "WAVE" + chunks;
}

std::string Ds64(uint64_t data_bytes, const std::string& others = "") {
  return Chunk("ds64", Little(0, 8) + Little(data_bytes, 8) + Little(0, 8) +
                           Little(others.size() / 12, 4) + others);
}

// A new file each time: some file systems write one to the disk that is truncated.
absl::StatusOr<WidebandFile> Open(const std::string& bytes) {
  std::remove(PathOfTest("x.wav").c_str());
  return WidebandFile::Open(FileOfTest("x.wav", bytes), "");
}

std::vector<Complex> SamplesIn(const std::string& bytes) {
  auto file = Open(bytes);
  EXPECT_THAT(file, IsOk());
  return file.ok() ? WidebandToComplex(file->Read(1000)->bytes, file->wire_format())
                   : std::vector<Complex>();
}

::testing::Matcher<absl::StatusOr<WidebandFile>> Refuses(const std::string& what) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  AllOf(HasSubstr(PathOfTest("x.wav")), HasSubstr(what)));
}

TEST(WavTest, AFileIsReadByteByByte) {
  const char kBytes[] =
      "RIFF\x30\x00\x00\x00WAVE"
      "fmt \x10\x00\x00\x00\x01\x00\x02\x00\x80\xbb\x00\x00\x00\xee\x02\x00\x04\x00\x10\x00"
      "data\x0c\x00\x00\x00\x00\x40\x00\xe0\xff\x7f\x00\x80\x01\x00\xff\xff";
  auto file = Open(std::string(kBytes, sizeof(kBytes) - 1));
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->samples().name(), "ci16");
  EXPECT_EQ(file->sample_rate_hz(), 48000);
  EXPECT_EQ(file->num_samples(), 3);
  EXPECT_EQ(file->centre_hz(), absl::nullopt);
  EXPECT_EQ(file->Read(2)->bytes, std::string("\x00\x40\x00\xe0\xff\x7f\x00\x80", 8));
  const auto rest = file->Read(2);
  EXPECT_EQ(rest->index, 2);
  EXPECT_EQ(rest->bytes, std::string("\x01\x00\xff\xff", 4));
  EXPECT_EQ(file->Read(2)->bytes, "");
}

TEST(WavTest, AllEncodingsHaveTheSameFullScale) {
  const float half = 0.5F;
  const double minus_half = -0.5;
  std::string floats(4, '\0');
  std::memcpy(&floats[0], &half, 4);
  std::string doubles(8, '\0');
  std::memcpy(&doubles[0], &minus_half, 8);
  const Complex kHalf(0.5F, 0);
  const Complex kMinusHalf(-0.5F, 0);
  const std::tuple<int, int, std::string, Complex> kCases[] = {
      {1, 8, "\xc0", kHalf},
      {1, 8, "\x40", kMinusHalf},
      {1, 16, Little(0xc000, 2), kMinusHalf},
      {1, 24, Little(0x400000, 3), kHalf},
      {1, 24, Little(0xc00000, 3), kMinusHalf},
      {1, 24, Little(1, 3), Complex(1.0F / 8388608, 0)},
      {1, 32, Little(0xc0000000, 4), kMinusHalf},
      {3, 32, floats, kHalf},
      {3, 64, doubles, kMinusHalf}};
  for (const auto& [format, bits, sample, expected] : kCases) {
    EXPECT_THAT(
        SamplesIn(Riff(Chunk("fmt ", Format(format, 1, bits)) + Chunk("data", sample + sample))),
        ElementsAre(expected, expected))
        << format << " " << bits;
  }
}

TEST(WavTest, WhatLiesAroundTheSamplesIsPassedOver) {
  const std::string auxi = std::string(32, '\1') + Little(433920000, 4) + std::string(100, '\2');
  auto file = Open(Riff(Chunk("LIST", "odd") + Chunk("fmt ", Format(1, 2, 16) + Little(0, 2)) +
                        Chunk("data", "aabb") + Chunk("auxi", auxi) + Chunk("LIST", "end")) +
                   "rest");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->centre_hz(), 433.92e6);
  EXPECT_EQ(file->Read(100)->bytes, "aabb");
  EXPECT_EQ(file->Read(100)->bytes, "");
  // One that is XML says nothing.
  EXPECT_EQ(Open(Riff(Chunk("auxi", "<?xml" + auxi) + Chunk("fmt ", Format(1, 2, 16)) +
                      Chunk("data", "aabb")))
                ->centre_hz(),
            absl::nullopt);
}

TEST(WavTest, SizesOf64BitsStandInDs64) {
  for (const char* form : {"RF64", "BW64"}) {
    const std::string big = std::string("JUNK") + Little(6, 8);
    EXPECT_THAT(
        SamplesIn(Riff(
            Ds64(8, big) + Chunk("JUNK", "abcdef", kUnknown) + Chunk("fmt ", Format(1, 2, 16)) +
                Chunk("data", Little(0xe0004000, 4) + "abcd", kUnknown) + Chunk("LIST", "xx"),
            form)),
        ElementsAre(Complex(0.5F, -0.25F), _))
        << form;
  }
}

TEST(WavTest, ExtensibleIsWhatItsSubformatSays) {
  const std::string guid("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71", 14);
  const auto wav = [&](int format) {
    return Riff(Chunk("fmt ", Format(0xfffe, 1, 32) + Little(22, 2) + Little(32, 2) + Little(0, 4) +
                                  Little(format, 2) + guid) +
                Chunk("data", Little(0x3f000000, 4)));
  };
  EXPECT_THAT(SamplesIn(wav(3)), ElementsAre(Complex(0.5F, 0)));
  EXPECT_THAT(SamplesIn(wav(1)), ElementsAre(Complex(0x3f000000 / 2147483648.0F, 0)));
  EXPECT_THAT(Open(wav(6)), Refuses("has samples of format 6 and 32 bits"));
}

// Who writes to a pipe cannot know it.
TEST(WavTest, AnUnknownSizeIsAllThatFollows) {
  auto file = Open(Riff(Chunk("fmt ", Format(1, 2, 16)) + Chunk("data", "aabbccddee", kUnknown)));
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->Read(100)->bytes, "aabbccdd");
}

TEST(WavTest, WhatIsWrongIsNamed) {
  const std::string format = Chunk("fmt ", Format(1, 2, 16));
  const std::string data = Chunk("data", "aabb");
  const std::pair<std::string, const char*> kWrong[] = {
      {"", "is empty"},
      {"RIFF", "ends within its head"},
      {"RIFFxxxxAVI xxxx", "is no WAV file"},
      {Riff(format), "ends without a chunk 'data'"},
      {Riff(data), "ends without a chunk 'fmt '"},
      {Riff(format + Chunk("data", "")), "is empty"},
      {Riff(format + Chunk("data", "aabbc")), "has 5 bytes of samples, not a multiple of the 4"},
      {Riff(format + data + data), "has two chunks 'data'"},
      {Riff(format + Chunk("data", "aabb", 1000)), "'data' that says 1000 bytes, but 4 follow"},
      {Riff(Chunk("LI\1T", "", 0x7fffffff)), "'LI?T' that says 2147483647 bytes, but 0 follow"},
      {Riff(format + Chunk("LIST", "", kUnknown) + data), "'LIST' that says 4294967295 bytes"},
      {Riff(format + Chunk("data", "aabb", kUnknown), "RF64"),
       "'data' whose size does not stand in 'ds64' before it"},
      {Riff(Ds64(uint64_t{1} << 63) + format + Chunk("data", "aabb", kUnknown), "RF64"),
       "says 9223372036854775808 bytes, but 4 follow"},
      {Riff(Chunk("ds64", "short") + format + data, "RF64"), "'ds64' of 5 bytes, not 28 or more"},
      {Riff(Chunk("fmt ", "short") + data), "'fmt ' of 5 bytes, not 16 or more"},
      {Riff(Chunk("fmt ", Format(1, 6, 16)) + data), "has 6 channels"},
      {Riff(Chunk("fmt ", Format(1, 0, 16)) + data), "has 0 channels"},
      {Riff(Chunk("fmt ", Format(7, 2, 8)) + data), "has samples of format 7 and 8 bits"},
      {Riff(Chunk("fmt ", Format(1, 2, 12)) + data), "has samples of format 1 and 12 bits"},
      {Riff(Chunk("fmt ", Format(1, 2, 16).replace(12, 1, "\x08")) + data),
       "says 8 bytes of a sample, but 2 channels of 16 bits have 4"}};
  for (const auto& [bytes, why] : kWrong) {
    EXPECT_THAT(Open(bytes), Refuses(why));
  }
  std::string chunks;
  for (int i = 0; i < 10001; ++i) {
    chunks += Chunk("JUNK", "");
  }
  EXPECT_THAT(Open(Riff(chunks + format + data)), Refuses("more than 10000 chunks"));
  EXPECT_THAT(WidebandFile::Open(FileOfTest("x.wav", Riff(format + data)), "cf32"),
              Refuses("which says ci16"));
}

// Whatever is cut off or changed: a refusal, or samples that are all in the file.
TEST(WavTest, NoBytesMakeMoreSamplesThanThereAre) {
  const std::string wholes[] = {
      Riff(Chunk("LIST", "odd") + Chunk("fmt ", Format(1, 2, 16)) +
           Chunk("auxi", std::string(40, '\1')) + Chunk("data", std::string(24, 'x'))),
      Riff(Ds64(24, std::string("JUNK") + Little(6, 8)) + Chunk("JUNK", "abcdef", kUnknown) +
               Chunk("fmt ", Format(3, 1, 64)) + Chunk("data", std::string(24, 'x'), kUnknown),
           "RF64")};
  int taken = 0;
  const auto check = [&](const std::string& bytes) {
    auto file = Open(bytes);
    if (!file.ok()) {
      return;
    }
    ++taken;
    int64_t samples = 0;
    for (std::string piece = "x"; !piece.empty();) {
      piece = file->Read(5)->bytes;
      samples += static_cast<int64_t>(piece.size()) / file->wire_format().bytes;
    }
    EXPECT_EQ(samples, file->num_samples());
    EXPECT_LE(samples * file->samples().bytes(), static_cast<int64_t>(bytes.size()));
  };
  for (const std::string& whole : wholes) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(Open(whole.substr(0, size)).ok()) << size;
    }
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const char value : {'\0', '\1', '\7', '\x7f', '\x80', '\xff'}) {
        std::string changed = whole;
        changed[at] = value;
        check(changed);
      }
    }
  }
  EXPECT_GT(taken, 100);  // in which it does not matter
}

TEST(WavTest, SymbolsAreTheirTwoChannels) {
  const std::string data = Little(0xe0004000, 4);
  auto symbols = ReadSymbols(
      FileOfTest("x.wav", Riff(Chunk("fmt ", Format(1, 2, 16, 9600)) + Chunk("data", data))), "");
  ASSERT_THAT(symbols, IsOk());
  EXPECT_EQ(symbols->format, v1::SAMPLE_FORMAT_INT16);
  EXPECT_EQ(symbols->bytes, data);
  EXPECT_EQ(symbols->sample_rate_hz, 9600);
  symbols = ReadSymbols(
      FileOfTest("x.wav", Riff(Chunk("fmt ", Format(1, 2, 8)) + Chunk("data", "\xc0\x60"))), "");
  EXPECT_EQ(symbols->bytes, data);
  symbols = ReadSymbols(
      FileOfTest("x.wav", Riff(Chunk("fmt ", Format(1, 2, 24)) +
                               Chunk("data", Little(0x400000, 3) + Little(0xe00000, 3)))),
      "f32");
  ASSERT_THAT(symbols, IsOk());
  EXPECT_THAT(ToComplex(symbols->bytes, symbols->format, 1), ElementsAre(Complex(0.5F, -0.25F)));
  EXPECT_THAT(
      ReadSymbols(FileOfTest("x.wav", Riff(Chunk("fmt ", Format(1, 1, 16)) + Chunk("data", data))),
                  ""),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has one channel")));
}

}  // namespace
}  // namespace baseband::ctl
