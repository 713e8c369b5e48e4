// RequestSequence's searches: each from its request to its answer, or to where its client leaves
// it.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/operations/minimize/minimize.h"
#include "tests/fuzz/bounds.h"
#include "tests/fuzz/request_sequence.h"
#include "tests/fuzz/run_alone.h"

namespace baseband::server {

using testing::CheckBounds;
using testing::Meter;
using testing::Slices;

struct RequestSequence::Search {
  explicit Search(ByteLimit* limit) : memory(limit) {}
  Operation* operation = nullptr;
  Requester requester;
  absl::Time arrival = SteadyNow();
  Request wire;
  int64_t bytes = 0;
  ParsedSearch parsed;
  ByteHold memory;
  SearchCapacity capacity;
  std::shared_ptr<SearchPlan> plan;
  std::optional<minimize::Search> course;
};

absl::Status RequestSequence::OnSlowPath(
    const Requester& requester, int64_t bytes,
    const std::function<absl::Status(const ContinueCheck&)>& work) {
  absl::Status status;
  bool is_done = false;
  BASEBAND_RETURN_IF_ERROR(
      environment_.slow_path->Add(requester.caller.client, bytes, [&](const ContinueCheck& turn) {
        absl::Status end;
        {
          Slices slices(SlowPathCheck(requester, turn), bytes);
          end = work(slices.check());
        }
        absl::MutexLock lock(&mutex_);
        status = end;
        is_done = true;
      }));
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&is_done));
  return status;
}

absl::Status RequestSequence::PrepareSearch(Search& search, const ContinueCheck& may_continue) {
  const Meter meter;
  BASEBAND_ASSIGN_OR_RETURN(const SearchRequest wanted,
                            MakeSearch(search.parsed, search.wire.payload, may_continue));
  search.capacity = SearchCapacityOf(environment_.devices);
  BASEBAND_RETURN_IF_ERROR(
      CheckSearchTime(*wanted.problem, SearchRatesOf(search.capacity, environment_.devices),
                      search.requester.deadline - search.arrival, environment_.limits.max_search));
  const int64_t held = SearchHostBytes(*wanted.problem, search.capacity, environment_.devices);
  BASEBAND_RETURN_IF_ERROR(search.memory.Resize(held));
  search.plan = std::make_shared<SearchPlan>();
  search.plan->problem = wanted.problem;
  BASEBAND_ASSIGN_OR_RETURN(minimize::Search course,
                            minimize::Search::Create(wanted.problem, search.capacity.piece));
  search.course.emplace(std::move(course));
  // It holds what it says, and no more but small things.
  constexpr int64_t kSmall = int64_t{256} << 10;
  Check(meter.net_bytes() <= held + kSmall + 64 * search.bytes);
  return absl::OkStatus();
}

// Until there are no more pieces, or the client leaves.
absl::Status RequestSequence::Evaluate(Search& search) {
  std::deque<std::pair<absl::Status, JobPtr>> ended;  // under mutex_
  int in_flight = 0;
  int pieces_left = bytes_.ConsumeIntegralInRange(0, 200);
  absl::Status end;
  for (;;) {
    while (end.ok() && !search.course->done() && in_flight < search.capacity.pieces_in_flight) {
      if (pieces_left-- == 0) {
        search.requester.cancellation->Cancel(SteadyNow());
        end = absl::CancelledError("the client cancelled");
        break;
      }
      absl::optional<minimize::Piece> piece = search.course->Next();
      if (!piece.has_value()) break;
      JobPtr job = std::make_unique<MinimizeJob>(*search.operation, search.plan, *std::move(piece),
                                                 search.capacity.piece);
      end = SubmitJob(environment_, search.requester, SteadyNow(), Payload(), job,
                      [&](const absl::Status& status, JobPtr done) {
                        absl::MutexLock lock(&mutex_);
                        ended.emplace_back(status, std::move(done));
                      });
      if (end.ok()) ++in_flight;
    }
    if (in_flight == 0) return end;
    std::pair<absl::Status, JobPtr> piece;
    {
      absl::MutexLock lock(&mutex_);
      const auto some = [&] { return !ended.empty(); };
      mutex_.Await(absl::Condition(&some));
      piece = std::move(ended.front());
      ended.pop_front();
    }
    --in_flight;
    end.Update(piece.first);
    if (!end.ok()) continue;
    search.course->Add(static_cast<const MinimizeJob&>(*piece.second).piece(),
                       piece.second->reply.data());
  }
}

void RequestSequence::RunSearch() {
  Search search(environment_.search_memory);
  search.operation = server_.operations().Find("Minimize");
  search.requester = SomeRequester();
  search.wire = SomeRequest(*search.operation);
  search.bytes = search.wire.bytes();
  absl::StatusOr<ClientHold> hold =
      environment_.quotas->EnterStream(search.requester.caller.client);
  const absl::StatusOr<StreamPlace> place = environment_.searches->Enter();
  absl::Status status = hold.status();
  status.Update(place.status());
  status.Update(search.memory.Resize(search.bytes));
  if (status.ok()) {
    Meter meter;
    absl::StatusOr<ParsedSearch> parsed = ParseSearch(search.wire);
    status = parsed.status();
    if (parsed.ok()) {
      search.parsed = *std::move(parsed);
      if (search.parsed.is_quick) status = PrepareSearch(search, nullptr);
    }
    CheckBounds(meter, testing::kOnCallThread, search.bytes, "a search");
  }
  if (status.ok() && !search.course.has_value()) {
    status = OnSlowPath(search.requester, search.bytes, [&](const ContinueCheck& may_continue) {
      return PrepareSearch(search, may_continue);
    });
  }
  if (status.ok()) status = Evaluate(search);
  if (status.ok() && search.course->done()) {
    const auto answer = [&](const ContinueCheck& may_continue) {
      BASEBAND_ASSIGN_OR_RETURN(const minimize::Answer found, search.course->Finish(may_continue));
      Check(AnswerToProto(*search.plan->problem, found, absl::ZeroDuration()).has_answer());
      return absl::OkStatus();
    };
    if (AnswersAtOnce(*search.plan->problem)) {
      Meter meter;
      status = answer(nullptr);
      CheckBounds(meter, testing::kOnCallThread, search.bytes, "an answer");
    } else {
      status = OnSlowPath(search.requester, 0, answer);
    }
  }
  Check(status.ok() || !status.message().empty());
  Check(!absl::IsInternal(status) && !absl::IsUnknown(status));
}

}  // namespace baseband::server
