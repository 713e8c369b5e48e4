// How a request of groups becomes a job: all sizes are held against the bytes that came, all groups
// are read, all are planned, then one after the other is made, and where something takes long the
// rest of the work waits for the slow path.
#ifndef BASEBAND_SERVER_CONVERTERS_GROUP_CONVERSION_H_
#define BASEBAND_SERVER_CONVERTERS_GROUP_CONVERSION_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {

// What a group says of its size.
struct GroupSize {
  int64_t count = 0;        // of blocks or frames, at least 1
  int64_t block_bytes = 0;  // of the payload, for each
  int64_t blocks = 0;       // what counts against the limit of blocks; 0: `count`
};

// `Traits` is moved along, and what it points to outlives it:
//   using Message, Group;              the request's message, what a group becomes
//   static constexpr char kName[], kBlocks[];            "DecodeRequest", "code blocks"
//   absl::StatusOr<GroupSize> SizeOf(int index, group message, limits)
//                                      of one group after the other; cheap, whatever it claims
//   absl::Status ReadGroup(int index, group message)
//                                      of one group after the other, all sizes being right: refuses
//                                      what can be without anything that takes long, so that no
//                                      group's mistake is found after another's work
//   static constexpr int kPlanRounds, and
//   absl::StatusOr<bool> PlanGroup(int round, int index, group message, const ContinueCheck*)
//                                      of one group after the other, in each round, all being read:
//                                      refuses what can be with a small part of the work that all
//                                      groups are. False: it takes long, and there is no check to
//                                      ask; it is asked again. Traits may have none
//   absl::StatusOr<absl::optional<Group>> MakeGroup(int index, group message, const ContinueCheck*)
//                                      nothing: it takes long, and there is no check to ask
//   JobPtr MakeJob(const Message&, std::vector<Group>)             or absl::StatusOr of one
template <typename Traits>
class GroupConversion final : public Preparation {
 public:
  static absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits,
                                            Traits traits) {
    GroupConversion conversion(std::move(traits));
    BASEBAND_ASSIGN_OR_RETURN(conversion.message_,
                              ParseHeader<typename Traits::Message>(request, Traits::kName));
    BASEBAND_RETURN_IF_ERROR(conversion.CheckSizes(request, limits));
    BASEBAND_RETURN_IF_ERROR(conversion.ReadGroups());
    BASEBAND_ASSIGN_OR_RETURN(const bool is_done, conversion.PlanAndMakeGroups(nullptr));
    Conversion result;
    if (is_done) {
      BASEBAND_ASSIGN_OR_RETURN(result.job, conversion.MakeJob());
    } else {
      result.preparation = std::make_unique<GroupConversion>(std::move(conversion));
    }
    return result;
  }

  absl::StatusOr<JobPtr> Finish(const ContinueCheck& may_continue) override {
    BASEBAND_RETURN_IF_ERROR(PlanAndMakeGroups(&may_continue).status());
    return MakeJob();
  }

  GroupConversion(GroupConversion&&) = default;

 private:
  explicit GroupConversion(Traits traits) : traits_(std::move(traits)) {}

  absl::Status CheckSizes(const Request& request, const RequestLimits& limits) {
    BASEBAND_RETURN_IF_ERROR(CheckNumGroups(message_.groups_size()));
    int64_t blocks = 0;
    int64_t bytes = 0;
    for (int i = 0; i < message_.groups_size(); ++i) {
      const absl::StatusOr<GroupSize> size = traits_.SizeOf(i, message_.groups(i), limits);
      if (!size.ok()) return InGroup(i, size.status());
      blocks += size->blocks != 0 ? size->blocks : size->count;
      bytes += size->count * size->block_bytes;
    }
    return CheckTotals(Traits::kBlocks, blocks, bytes, request, limits);
  }

  absl::Status ReadGroups() {
    for (int i = 0; i < message_.groups_size(); ++i) {
      const absl::Status status = traits_.ReadGroup(i, message_.groups(i));
      if (!status.ok()) return InGroup(i, status);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<JobPtr> MakeJob() { return traits_.MakeJob(message_, std::move(groups_)); }

  // Whether all are made.
  absl::StatusOr<bool> PlanAndMakeGroups(const ContinueCheck* may_continue) {
    BASEBAND_ASSIGN_OR_RETURN(const bool are_planned, PlanGroups(may_continue, 0));
    if (!are_planned) return false;
    return MakeGroups(may_continue);
  }

  // Whether all are planned. Of two, the first that there is.
  template <typename T = Traits, int kRounds = T::kPlanRounds>
  absl::StatusOr<bool> PlanGroups(const ContinueCheck* may_continue, int /*preferred*/) {
    for (; planned_ < kRounds * message_.groups_size(); ++planned_) {
      const int round = planned_ / message_.groups_size();
      const int i = planned_ % message_.groups_size();
      const absl::StatusOr<bool> is_planned =
          traits_.PlanGroup(round, i, message_.groups(i), may_continue);
      if (!is_planned.ok()) return InGroup(i, is_planned.status());
      if (!*is_planned) return false;
    }
    return true;
  }
  static absl::StatusOr<bool> PlanGroups(const ContinueCheck*, int64_t) { return true; }

  absl::StatusOr<bool> MakeGroups(const ContinueCheck* may_continue) {
    for (auto i = static_cast<int>(groups_.size()); i < message_.groups_size(); ++i) {
      absl::StatusOr<absl::optional<typename Traits::Group>> group =
          traits_.MakeGroup(i, message_.groups(i), may_continue);
      if (!group.ok()) return InGroup(i, group.status());
      if (!group->has_value()) return false;
      groups_.push_back(**std::move(group));
    }
    return true;
  }

  Traits traits_;
  typename Traits::Message message_;
  int planned_ = 0;  // groups, in all rounds
  std::vector<typename Traits::Group> groups_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_GROUP_CONVERSION_H_
