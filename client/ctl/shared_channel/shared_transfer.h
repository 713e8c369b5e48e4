// Any number of equal blocks through EncodeSharedChannel and DecodeSharedChannel, as several
// requests in flight.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SHARED_TRANSFER_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SHARED_TRANSFER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/ctl/common/session.h"
#include "client/ctl/ldpc/transfer.h"

namespace baseband::ctl {

// What a block takes in a request and in its answer.
struct BlockSizes {
  int64_t in_bytes = 0;
  int64_t out_bytes = 0;
  int64_t soft_bytes = 0;  // that come back
  int64_t code_blocks = 1;
};

struct SharedDecoded {
  std::string payload;
  std::string soft;
  std::vector<uint8_t> crc_ok;      // by block, like the next two
  std::vector<int64_t> iterations;  // of all its code blocks
  std::vector<uint32_t> unusable;
  TransferTimes times;
};

// Internal where `response` is not one to `count` blocks of these sizes.
absl::Status CheckEncoded(const v1::EncodeSharedChannelResponse& response, int64_t count,
                          const BlockSizes& sizes);
absl::Status CheckDecoded(const v1::DecodeSharedChannelResponse& response, int64_t count,
                          const BlockSizes& sizes);
// Writes a response that was checked to its place in `all`, which has its sizes: that of block
// number `first` on.
void TakeDecoded(const v1::DecodeSharedChannelResponse& response, int64_t first,
                 const BlockSizes& sizes, SharedDecoded* all);
SharedDecoded MakeRoom(int64_t blocks, const BlockSizes& sizes);

// How many blocks suit one request.
int64_t MostBlocks(const RequestLimits& limits, const BlockSizes& sizes);

// All of `payload`, which holds one block or more, as `group` says; its count is ignored. Statuses:
// those of the calls, the first that fails, and Internal.
absl::StatusOr<Encoded> EncodeSharedBlocks(const Session& session,
                                           const v1::EncodeSharedChannelGroup& group,
                                           const BlockSizes& sizes, absl::string_view payload,
                                           const OnProgress& progress = {});
absl::StatusOr<SharedDecoded> DecodeSharedBlocks(const Session& session,
                                                 const v1::DecodeSharedChannelGroup& group,
                                                 const BlockSizes& sizes, absl::string_view payload,
                                                 const OnProgress& progress = {});

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_SHARED_TRANSFER_H_
