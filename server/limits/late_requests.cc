#include "server/limits/late_requests.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace baseband::server {

LateRequests::Kind LateRequests::KindOf(std::string client, size_t method, size_t size,
                                        absl::Duration timeout) {
  return {std::move(client), method, size,
          std::ilogb(std::max(absl::ToDoubleMicroseconds(timeout), 1.0))};
}

LateRequests::Lateness& LateRequests::Of(const Kind& kind) {
  if (late_.size() >= kMaxKinds && late_.count(kind) == 0) late_.clear();
  return late_[kind];
}

void LateRequests::Add(const Kind& kind, bool in_time) {
  if (in_time) {
    late_.erase(kind);
  } else {
    ++Of(kind).in_row;
  }
}

int LateRequests::InRow(const Kind& kind) const {
  const auto late = late_.find(kind);
  return late == late_.end() ? 0 : late->second.in_row;
}

bool LateRequests::Tries(const Kind& kind, absl::Time now) {
  const bool is_first = late_.count(kind) == 0;
  Lateness& lateness = Of(kind);
  if (is_first) lateness.tried = now;
  const absl::Duration since = now - lateness.tried;
  if (since < kMostBetweenTries &&
      (++lateness.refused % kPatience != 0 || since < kLeastBetweenTries)) {
    return false;
  }
  lateness.tried = now;
  return true;
}

}  // namespace baseband::server
