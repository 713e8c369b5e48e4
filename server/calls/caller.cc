#include "server/calls/caller.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {
namespace {

absl::StatusOr<Priority> PriorityOf(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find("baseband-priority");
  if (found == context.client_metadata().end()) return Priority::kNormal;
  const absl::string_view word(found->second.data(), found->second.size());
  const auto* const name = std::find(kPriorityNames.begin(), kPriorityNames.end(), word);
  if (name == kPriorityNames.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata baseband-priority ", word.substr(0, 32), " is not one of high, normal, low"));
  }
  return static_cast<Priority>(name - kPriorityNames.begin());
}

}  // namespace

absl::StatusOr<Caller> CallerOf(const grpc::ServerContext& context, const Access& access) {
  BASEBAND_ASSIGN_OR_RETURN(const Priority priority, PriorityOf(context));
  return Caller{access.ClientOf(context), priority};
}

}  // namespace baseband::server
