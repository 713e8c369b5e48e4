// The filters of channels as they come over the wire.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_FILTERS_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_FILTERS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "kernels/downconvert/filter.h"
#include "kernels/downconvert/filter_design.h"
#include "server/converters/bounded_cache.h"

namespace baseband::server {

// Designs that were left before they were done, for whoever asks for the same again. Thread-safe.
class UnfinishedDesigns {
 public:
  // Keeps those that were left last, as long as they are at most `max_designs` and take at most
  // `max_bytes`.
  UnfinishedDesigns(size_t max_designs, int64_t max_bytes)
      : max_designs_(max_designs), max_bytes_(max_bytes) {}

  // Null if there is none.
  std::unique_ptr<downconvert::FilterDesign> Take(const std::string& key);
  void Leave(const std::string& key, std::unique_ptr<downconvert::FilterDesign> design);

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<downconvert::FilterDesign> design;
    int64_t bytes = 0;
  };

  const size_t max_designs_;
  const int64_t max_bytes_;
  absl::Mutex mutex_;
  std::list<Entry> left_ ABSL_GUARDED_BY(mutex_);  // the last one first
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Turns messages into filters. Keeps those that were used last, for to design one may take seconds;
// each client has its share of what is kept (BoundedCache). Thread-safe.
class DownconvertFilters {
 public:
  // InvalidArgument names field, value and range. Null: it has to be designed, and there is no
  // `may_continue` to ask. That is asked every few milliseconds while one is; if it says no, the
  // design goes on there the next time that the filter is asked for. `own`: the filters that the
  // request has already; InvalidArgument if it alone uses more than there may be.
  absl::StatusOr<downconvert::FilterPtr> FromProto(
      const v1::ChannelFilter& message, double sample_rate_hz, const ContinueCheck* may_continue,
      absl::Span<const downconvert::FilterPtr> own = {}, absl::string_view client = "");

  // Lets go of what no request uses; designs that were left off stay.
  void DropUnused() { recent_.DropUnused(); }

 private:
  static constexpr int64_t kMaxFilterBytes = 64 << 20;
  static constexpr size_t kMaxUnfinished = 16;
  static constexpr int64_t kMaxUnfinishedBytes = 256 << 20;

  absl::StatusOr<downconvert::FilterPtr> Design(const v1::FilterMask& mask, int up, int down,
                                                double sample_rate_hz, const std::string& key,
                                                const ContinueCheck* may_continue);

  BoundedCache<downconvert::Filter> recent_{"filters", kMaxFilterBytes};
  UnfinishedDesigns unfinished_{kMaxUnfinished, kMaxUnfinishedBytes};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_FILTERS_H_
