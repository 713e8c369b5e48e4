#include "client/gnuradio/lib/decode_operation.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/gnuradio/lib/bits.h"

namespace gr::baseband_offload {
namespace {

namespace v1 = ::baseband::v1;

// The server's LLRs are this times ln(P(0) / P(1)).
constexpr float kServersScale = 4;

v1::DecodeAlgorithm ToProto(decode_algorithm algorithm) {
  switch (algorithm) {
    case decode_algorithm::sum_product:
      return v1::DECODE_ALGORITHM_SUM_PRODUCT;
    case decode_algorithm::bit_flipping:
      return v1::DECODE_ALGORITHM_BIT_FLIPPING;
    default:
      return v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM;
  }
}

}  // namespace

DecodeOperation::DecodeOperation(const ldpc_code& code, const decode_options& options)
    : code_(code), options_(options), bits_(code.k() - options.n_filler) {
  CheckRange("max_iterations", options.max_iterations, 1, 100);
  CheckRange("n_filler", options.n_filler, 0, code.k() - 1);
  const auto scale = static_cast<float>(options.llr_scale) * kServersScale;
  if (!std::isfinite(scale) || scale == 0) {
    throw std::invalid_argument("llr_scale " + std::to_string(options.llr_scale) +
                                " is 0 or not finite");
  }
  v1::DecodeGroup* group = empty_.add_groups();
  group->mutable_code()->ParseFromString(code.message());
  group->set_n_filler(static_cast<uint32_t>(options.n_filler));
  group->set_max_iterations(static_cast<uint32_t>(options.max_iterations));
  group->set_fixed_iterations(options.fixed_iterations);
  group->set_algorithm(ToProto(options.algorithm));
}

int DecodeOperation::output_items() const { return options_.packed ? PackedBytes(bits_) : bits_; }

void DecodeOperation::Append(const void* in, int frames, Request* request) const {
  std::string* payload = request->mutable_payload();
  const size_t begin = payload->size();
  const int64_t count = int64_t{frames} * code_.n();
  payload->resize(begin + static_cast<size_t>(count));
  // The server's positive means 0, the flow graph's 1.
  ToLlrs(static_cast<const float*>(in), count,
         -kServersScale * static_cast<float>(options_.llr_scale),
         reinterpret_cast<int8_t*>(&(*payload)[begin]));
}

absl::Status DecodeOperation::Check(int frames, const Response& response) const {
  const int64_t bytes = int64_t{frames} * PackedBytes(bits_);
  if (response.iterations_size() == frames && response.parity_ok_size() == frames &&
      static_cast<int64_t>(response.payload().size()) == bytes) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "the answer to ", frames, " frames has iterations of ", response.iterations_size(),
      ", parity_ok of ", response.parity_ok_size(), " and ", response.payload().size(), " bytes"));
}

void DecodeOperation::Write(const Response& response, int first, int frames, void* out) const {
  PutFrames(response.payload(), bits_, first, frames, options_.packed, out);
}

FrameResults DecodeOperation::Results(const Response& response, int frame) const {
  static const pmt::pmt_t kIterations = pmt::mp("iterations");
  static const pmt::pmt_t kParityOk = pmt::mp("parity_ok");
  return {{kIterations, pmt::from_long(static_cast<long>(response.iterations(frame)))},
          {kParityOk, pmt::from_bool(response.parity_ok(frame))}};
}

ldpc_decoder::sptr ldpc_decoder::make(const ldpc_code& code, const decode_options& options,
                                      const connection& server) {
  return gnuradio::make_block_sptr<FrameBlock<ldpc_decoder, DecodeOperation>>(
      "ldpc_decoder", DecodeOperation(code, options), server, "");
}

}  // namespace gr::baseband_offload
