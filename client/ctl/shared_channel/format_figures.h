// What a transport format amounts to: sizes of a slot's transport block, of its code blocks, and of
// what is received of it.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_FORMAT_FIGURES_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_FORMAT_FIGURES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/shared_channel/transport_format.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// N: length of a code word without the punctured columns, and of a buffer that is not limited.
int CodeWordBits(const nr::TransportBlockPlan& plan);

// (how many, E): code blocks in order, those that send as many bits together; one entry or two.
std::vector<std::pair<int, int>> CodedBlocks(const nr::TransportBlockPlan& plan);

// (name of --input, bytes): what a request has of one transmission, for each that there is.
std::vector<std::pair<std::string, int64_t>> ReceivedSizes(const TransportFormat& format);

// (bits of a soft bit, bytes): what the server holds of the block for HARQ, in each size.
std::vector<std::pair<int, int64_t>> HeldSizes(const TransportFormat& format);

// A line for each figure, with its letter in 38.212 or 38.214.
std::string FiguresText(const TransportFormat& format);
// As ToJson(format), and the other figures.
nlohmann::ordered_json FiguresJson(const TransportFormat& format);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_FORMAT_FIGURES_H_
