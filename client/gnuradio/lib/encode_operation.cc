#include "client/gnuradio/lib/encode_operation.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/gnuradio/lib/bits.h"

namespace gr::baseband_offload {

namespace v1 = ::baseband::v1;

EncodeOperation::EncodeOperation(const ldpc_code& code, const encode_options& options)
    : code_(code), options_(options), bits_(code.k() - options.n_filler) {
  CheckRange("n_filler", options.n_filler, 0, code.k() - 1);
  v1::EncodeGroup* group = empty_.add_groups();
  group->mutable_code()->ParseFromString(code.message());
  group->set_n_filler(static_cast<uint32_t>(options.n_filler));
  group->set_output(v1::ENCODE_OUTPUT_CODEWORD);
}

void EncodeOperation::Append(const void* in, int frames, Request* request) const {
  std::string* payload = request->mutable_payload();
  const int bytes = PackedBytes(bits_);
  const auto* from = static_cast<const uint8_t*>(in);
  if (options_.packed_input) {
    payload->append(static_cast<const char*>(in),
                    static_cast<size_t>(frames) * static_cast<size_t>(bytes));
    return;
  }
  const size_t begin = payload->size();
  payload->resize(begin + static_cast<size_t>(frames) * static_cast<size_t>(bytes));
  auto* to = reinterpret_cast<uint8_t*>(&(*payload)[begin]);
  for (int i = 0; i < frames; ++i) Pack(from + int64_t{i} * bits_, bits_, to + int64_t{i} * bytes);
}

absl::Status EncodeOperation::Check(int frames, const Response& response) const {
  const int64_t bytes = int64_t{frames} * PackedBytes(code_.n());
  if (static_cast<int64_t>(response.payload().size()) == bytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the answer to ", frames, " frames has ",
                                          response.payload().size(), " bytes, not ", bytes));
}

void EncodeOperation::Write(const Response& response, int first, int frames, void* out) const {
  PutFrames(response.payload(), code_.n(), first, frames, options_.packed, out);
}

ldpc_encoder::sptr ldpc_encoder::make(const ldpc_code& code, const encode_options& options,
                                      const connection& server) {
  return gnuradio::make_block_sptr<FrameBlock<ldpc_encoder, EncodeOperation>>(
      "ldpc_encoder", EncodeOperation(code, options), server, "");
}

}  // namespace gr::baseband_offload
