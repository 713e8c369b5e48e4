// Minimize between the wire and a search.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_CONVERTER_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_CONVERTER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "kernels/minimize/grid.h"
#include "kernels/minimize/search.h"
#include "server/jobs/request.h"
#include "server/operations/minimize/minimize.h"

namespace baseband::server {

// What a request asks for.
struct SearchRequest {
  minimize::ProblemPtr problem;
  absl::Duration progress_interval = absl::InfiniteDuration();
};

// A request whose header is read, and whose payload has yet to be.
struct ParsedSearch {
  v1::MinimizeRequest message;
  minimize::Grid grid;
  // Its search is made in well below a millisecond, on any thread.
  bool is_quick = false;
};
// InvalidArgument names the field, its value and its range.
absl::StatusOr<ParsedSearch> ParseSearch(const Request& request);
// InvalidArgument likewise; of an expression, the column and what was expected there. May take
// seconds if it is not quick; asks `may_continue` meanwhile, and ends with what that says other
// than OK.
absl::StatusOr<SearchRequest> MakeSearch(const ParsedSearch& parsed, const Payload& payload,
                                         const ContinueCheck& may_continue = nullptr);

// Whether the answer, too, takes but a moment to make: without refinement, of a functional that is
// cheap anywhere.
bool AnswersAtOnce(const minimize::Problem& problem);

// Whether the devices are fast enough, by the problem's estimate. DeadlineExceeded: not for a
// deadline that leaves `left`; InvalidArgument: never within `most`; ResourceExhausted: not now.
absl::Status CheckSearchTime(const minimize::Problem& problem, const SearchRates& rates,
                             absl::Duration left, absl::Duration most);

v1::MinimizeResponse ProgressToProto(const minimize::Problem& problem,
                                     const minimize::Progress& progress, absl::Duration elapsed);
v1::MinimizeResponse AnswerToProto(const minimize::Problem& problem, const minimize::Answer& answer,
                                   absl::Duration elapsed);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_CONVERTER_H_
