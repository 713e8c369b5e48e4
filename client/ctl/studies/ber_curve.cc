#include "client/ctl/studies/ber_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/random.h"
#include "client/ctl/common/step_range.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/studies/in_order.h"
#include "common/numbers/numbers.h"

namespace baseband::ctl {
namespace {

using client::PackedBytes;

int LlrCount(const v1::DecodeGroup& decode, const client::CodeShape& shape) {
  return decode.llr_count() != 0 ? static_cast<int>(decode.llr_count()) : shape.sent();
}

// What one request adds to the counts.
struct Batch {
  int64_t channel_errors = 0;
  std::vector<int64_t> bit_errors;  // per frame, like the others
  std::vector<uint32_t> iterations;
  std::vector<bool> parity_ok;
};

// Makes batches; one object serves all threads.
class Simulator {
 public:
  Simulator(client::Client* client, const GlobalFlags& flags, const PointSpec& spec,
            const client::CodeShape& shape)
      : client_(client),
        flags_(flags),
        spec_(spec),
        info_bits_(shape.k() - static_cast<int>(spec.decode.n_filler())),
        sent_bits_(shape.sent()),
        llr_count_(LlrCount(spec.decode, shape)),
        channel_(NoiseVariance(spec.ebn0_db, CodeRate(spec.decode, shape)),
                 spec.decode.llr_scale()) {}

  absl::StatusOr<Batch> Run(int64_t number) const {
    const int64_t frames =
        std::min(spec_.frames_per_request, spec_.max_frames - number * spec_.frames_per_request);
    if (frames <= 0) {
      return Batch();
    }
    Random random(spec_.seed, static_cast<uint64_t>(number) * 1000003u +
                                  static_cast<uint64_t>(std::llround(spec_.ebn0_db * 1000)));
    const std::string info = RandomInfo(frames, &random);

    v1::EncodeRequest encode;
    v1::EncodeGroup* group = encode.add_groups();
    *group->mutable_code() = spec_.decode.code();
    group->set_count(static_cast<uint32_t>(frames));
    group->set_n_filler(spec_.decode.n_filler());
    group->set_output(v1::ENCODE_OUTPUT_CODEWORD);
    encode.set_payload(info);
    const auto encoded = client_->Encode(std::move(encode), flags_.call());
    if (!encoded.ok()) {
      return encoded.status();
    }
    if (static_cast<int64_t>(encoded->payload().size()) != frames * PackedBytes(sent_bits_)) {
      return absl::InternalError("the server's code words have the wrong size");
    }
    Batch batch;
    v1::DecodeRequest decode;
    *decode.add_groups() = spec_.decode;
    decode.mutable_groups(0)->set_count(static_cast<uint32_t>(frames));
    decode.set_payload(Transmit(encoded->payload(), frames, &random, &batch));
    const auto decoded = client_->Decode(std::move(decode), flags_.call());
    if (!decoded.ok()) {
      return decoded.status();
    }
    if (decoded->payload().size() != info.size() || decoded->iterations_size() != frames ||
        decoded->parity_ok_size() != frames) {
      return absl::InternalError("the server's decoded blocks have the wrong size");
    }
    const int64_t bytes = PackedBytes(info_bits_);
    for (int64_t i = 0; i < frames; ++i) {
      const absl::string_view got(decoded->payload());
      batch.bit_errors.push_back(
          CountBitDifferences(absl::string_view(info).substr(i * bytes, bytes),
                              got.substr(i * bytes, bytes), info_bits_));
    }
    batch.iterations.assign(decoded->iterations().begin(), decoded->iterations().end());
    batch.parity_ok.assign(decoded->parity_ok().begin(), decoded->parity_ok().end());
    return batch;
  }

 private:
  // Packed, with zeros after the bits of each frame.
  std::string RandomInfo(int64_t frames, Random* random) const {
    const int64_t bytes = PackedBytes(info_bits_);
    std::string info = random->Bytes(frames * bytes);
    const uint8_t mask = static_cast<uint8_t>(0xff << (8 * bytes - info_bits_));
    for (int64_t last = bytes - 1; last < frames * bytes; last += bytes) {
      info[last] = static_cast<char>(info[last] & mask);
    }
    return info;
  }

  std::string Transmit(const std::string& codewords, int64_t frames, Random* random,
                       Batch* batch) const {
    std::string llr(frames * llr_count_, '\0');
    const int64_t bytes = PackedBytes(sent_bits_);
    for (int64_t i = 0; i < frames; ++i) {
      batch->channel_errors +=
          channel_.Transmit(absl::string_view(codewords).substr(i * bytes, bytes), llr_count_,
                            random, reinterpret_cast<int8_t*>(&llr[i * llr_count_]));
    }
    return llr;
  }

  client::Client* const client_;
  const GlobalFlags& flags_;
  const PointSpec& spec_;
  const int info_bits_;
  const int sent_bits_;
  const int llr_count_;
  const AwgnChannel channel_;
};

}  // namespace

double CodeRate(const v1::DecodeGroup& decode, const client::CodeShape& shape) {
  const int filler = static_cast<int>(decode.n_filler());
  return static_cast<double>(shape.k() - filler) / std::max(1, LlrCount(decode, shape) - filler);
}

absl::StatusOr<ErrorRate> MeasurePoint(client::Client* client, const GlobalFlags& flags,
                                       const PointSpec& spec,
                                       const std::function<void(const ErrorRate&)>& progress) {
  const absl::StatusOr<client::CodeShape> shape = client::ShapeOf(spec.decode.code());
  if (!shape.ok()) {
    return shape.status();
  }
  const Simulator simulator(client, flags, spec, *shape);
  const int info_bits = shape->k() - static_cast<int>(spec.decode.n_filler());
  const int llr_count = LlrCount(spec.decode, *shape);
  ErrorRate total;
  const auto count = [&](const Batch& batch) {
    const int64_t frames = static_cast<int64_t>(batch.bit_errors.size());
    total.AddChannel(frames * llr_count, batch.channel_errors);
    for (int64_t i = 0; i < frames; ++i) {
      total.AddFrame(info_bits, batch.bit_errors[i], batch.iterations[i], batch.parity_ok[i]);
    }
    if (progress) {
      progress(total);
    }
    return total.frame_errors() >= spec.min_frame_errors || total.frames() >= spec.max_frames;
  };
  const absl::Status status = InOrder<Batch>(count).Run(
      flags.in_flight, [&](int64_t number) { return simulator.Run(number); });
  return status.ok() ? absl::StatusOr<ErrorRate>(total) : status;
}

absl::StatusOr<std::vector<double>> ParseDecibels(absl::string_view flag, absl::string_view text,
                                                  std::vector<std::string>* notes) {
  constexpr size_t kMaxPoints = 1000;
  std::vector<double> values;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    std::vector<double> range;
    for (const absl::string_view part : absl::StrSplit(item, ':')) {
      const double value = ParseNumber(part).value_or(NAN);
      if (!(std::abs(value) <= 100)) {
        return absl::InvalidArgumentError(
            absl::StrCat(flag, ": '", part, "' is not a number of dB in [-100, 100]"));
      }
      range.push_back(value);
    }
    if (range.size() == 1) {
      values.push_back(range[0]);
      continue;
    }
    if (range.size() != 3 || range[1] <= 0 || range[2] < range[0] ||
        (range[2] - range[0]) / range[1] > kMaxPoints) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": '", item, "' is not BEGIN:STEP:END with a step above zero"));
    }
    const absl::StatusOr<StepRange> points = ToStepRange(range[0], range[1], range[2]);
    if (!points.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": '", item, "': ", points.status().message()));
    }
    if (notes != nullptr && !points->reaches_end) {
      notes->push_back(absl::StrCat(flag, " ", item, " ", points->Note()));
    }
    for (int i = 0; i < static_cast<int>(points->count); ++i) {
      values.push_back(std::round((range[0] + i * range[1]) * 1e6) / 1e6);
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > kMaxPoints) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " names ", values.size(), " points, more than ", kMaxPoints));
  }
  return values;
}

}  // namespace baseband::ctl
