#include "client/ctl/shared_channel/shared_transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/ctl/ldpc/transfer_calls.h"

namespace baseband::ctl {
namespace {

using transfer_internal::BlocksPerRequest;
using transfer_internal::CopyPayload;
using transfer_internal::MakeRequest;
using transfer_internal::Transfer;
using transfer_internal::WrongSize;

int64_t LargestPart(const BlockSizes& sizes) {
  return std::max({int64_t{1}, sizes.in_bytes, sizes.out_bytes + sizes.soft_bytes});
}

int64_t Chunk(const Session& session, int64_t blocks, const BlockSizes& sizes) {
  return BlocksPerRequest(session, blocks, LargestPart(sizes),
                          std::max<int64_t>(1, session.limits().blocks / sizes.code_blocks));
}

absl::Status CheckSize(absl::string_view field, const std::string& bytes, int64_t expected) {
  return static_cast<int64_t>(bytes.size()) == expected ? absl::OkStatus()
                                                        : WrongSize(field, bytes.size(), expected);
}

}  // namespace

absl::Status CheckEncoded(const v1::EncodeSharedChannelResponse& response, int64_t count,
                          const BlockSizes& sizes) {
  return CheckSize("EncodeSharedChannel payload", response.payload(), count * sizes.out_bytes);
}

absl::Status CheckDecoded(const v1::DecodeSharedChannelResponse& response, int64_t count,
                          const BlockSizes& sizes) {
  const int64_t code_blocks = count * sizes.code_blocks;
  bool fits = response.blocks_size() == count && response.iterations_size() == code_blocks &&
              response.crc_ok_size() == code_blocks && response.parity_ok_size() == code_blocks;
  for (const v1::SharedChannelResult& block : response.blocks()) {
    fits &= block.code_blocks() == sizes.code_blocks;
  }
  if (!fits) {
    return absl::InternalError("the server's results are not one a block and code block");
  }
  absl::Status status =
      CheckSize("DecodeSharedChannel payload", response.payload(), count * sizes.out_bytes);
  status.Update(CheckSize("DecodeSharedChannel soft", response.soft(), count * sizes.soft_bytes));
  return status;
}

void TakeDecoded(const v1::DecodeSharedChannelResponse& response, int64_t first,
                 const BlockSizes& sizes, SharedDecoded* all) {
  for (int i = 0; i < response.blocks_size(); ++i) {
    const size_t block = static_cast<size_t>(first + i);
    all->crc_ok[block] = response.blocks(i).crc_ok();
    all->unusable[block] = response.blocks(i).unusable();
    const auto begin = response.iterations().begin() + i * sizes.code_blocks;
    all->iterations[block] = 0;
    std::for_each(begin, begin + sizes.code_blocks,
                  [&](uint32_t run) { all->iterations[block] += run; });
  }
  std::copy(response.payload().begin(), response.payload().end(),
            all->payload.begin() + first * sizes.out_bytes);
  std::copy(response.soft().begin(), response.soft().end(),
            all->soft.begin() + first * sizes.soft_bytes);
}

SharedDecoded MakeRoom(int64_t blocks, const BlockSizes& sizes) {
  SharedDecoded all;
  all.payload.resize(blocks * sizes.out_bytes);
  all.soft.resize(blocks * sizes.soft_bytes);
  all.crc_ok.resize(blocks);
  all.iterations.resize(blocks);
  all.unusable.resize(blocks);
  return all;
}

int64_t MostBlocks(const RequestLimits& limits, const BlockSizes& sizes) {
  return std::max<int64_t>(
      1, std::min(limits.blocks / sizes.code_blocks, limits.bytes / LargestPart(sizes)));
}

absl::StatusOr<Encoded> EncodeSharedBlocks(const Session& session,
                                           const v1::EncodeSharedChannelGroup& group,
                                           const BlockSizes& sizes, absl::string_view payload,
                                           const OnProgress& progress) {
  const int64_t blocks = static_cast<int64_t>(payload.size()) / sizes.in_bytes;
  Encoded result;
  result.payload.resize(blocks * sizes.out_bytes);
  const auto times = Transfer<v1::EncodeSharedChannelResponse>(
      session, blocks, Chunk(session, blocks, sizes),
      [&](int64_t first, int64_t count) {
        return MakeRequest<v1::EncodeSharedChannelRequest>(group, payload, sizes.in_bytes, first,
                                                           count);
      },
      [&](v1::EncodeSharedChannelRequest request, auto done) {
        session.client()->EncodeSharedChannel(std::move(request), session.flags().call(),
                                              std::move(done));
      },
      [&](int64_t first, int64_t count, v1::EncodeSharedChannelResponse* response) {
        return CopyPayload("EncodeSharedChannel", response->payload(), sizes.out_bytes, first,
                           count, &result.payload);
      },
      progress);
  result.times = times.value_or(TransferTimes());
  return times.ok() ? absl::StatusOr<Encoded>(std::move(result)) : times.status();
}

absl::StatusOr<SharedDecoded> DecodeSharedBlocks(const Session& session,
                                                 const v1::DecodeSharedChannelGroup& group,
                                                 const BlockSizes& sizes, absl::string_view payload,
                                                 const OnProgress& progress) {
  const int64_t blocks = static_cast<int64_t>(payload.size()) / sizes.in_bytes;
  SharedDecoded result = MakeRoom(blocks, sizes);
  const auto times = Transfer<v1::DecodeSharedChannelResponse>(
      session, blocks, Chunk(session, blocks, sizes),
      [&](int64_t first, int64_t count) {
        return MakeRequest<v1::DecodeSharedChannelRequest>(group, payload, sizes.in_bytes, first,
                                                           count);
      },
      [&](v1::DecodeSharedChannelRequest request, auto done) {
        session.client()->DecodeSharedChannel(std::move(request), session.flags().call(),
                                              std::move(done));
      },
      [&](int64_t first, int64_t count, v1::DecodeSharedChannelResponse* response) {
        const absl::Status status = CheckDecoded(*response, count, sizes);
        if (status.ok()) TakeDecoded(*response, first, sizes, &result);
        return status;
      },
      progress);
  result.times = times.value_or(TransferTimes());
  return times.ok() ? absl::StatusOr<SharedDecoded>(std::move(result)) : times.status();
}

}  // namespace baseband::ctl
