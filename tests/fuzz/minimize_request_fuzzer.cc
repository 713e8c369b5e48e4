// Any bytes as a MinimizeRequest: as request_fuzzer.cc, for the RPC whose requests become searches.
// What is accepted, and small, is searched on the CPU device, whole and in pieces, and answered.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/minimize/minimize_cpu.h"
#include "server/grpc/wire.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/fuzz/in_pieces.h"
#include "tests/fuzz/run_alone.h"

namespace baseband::server {
namespace {

constexpr int kPayloadField = v1::MinimizeRequest::kPayloadFieldNumber;

std::string AnswerOf(const minimize::ProblemPtr& problem, double operations_per_piece) {
  minimize::PieceLimits limits;
  limits.operations = operations_per_piece;
  absl::StatusOr<minimize::Search> search = minimize::Search::Create(problem, limits);
  Check(search.ok());
  const int64_t max_bytes = minimize::Search::MaxOutputBytes(*problem, limits);
  minimize::CpuWorkspace* const workspace = &minimize::CpuWorkspace::OfThisThread();
  while (!search->done()) {
    const auto piece = search->Next();
    Check(piece.has_value());
    const int64_t bytes = minimize::OutputBytes(*problem, *piece);
    Check(piece->excluded != nullptr || bytes <= max_bytes);
    std::vector<uint64_t> output(static_cast<size_t>(bytes) / sizeof(uint64_t));
    auto* const data = reinterpret_cast<uint8_t*>(output.data());
    minimize::EvaluatePieceOnCpu(*problem, *piece, workspace, data);
    search->Add(*piece, data);
  }
  Check(ProgressToProto(*problem, search->progress(), absl::ZeroDuration()).has_progress());
  const absl::StatusOr<minimize::Answer> answer = search->Finish();
  if (!answer.ok()) {
    Check(absl::IsOutOfRange(answer.status()));
    return std::string(answer.status().message());
  }
  v1::MinimizeResponse response = AnswerToProto(*problem, *answer, absl::ZeroDuration());
  Check(response.has_answer());
  return response.SerializeAsString();
}

// Some milliseconds' worth.
bool IsQuick(const minimize::Problem& problem) {
  constexpr double kMaxOperations = 2e5;
  constexpr double kMaxRefinement = 500;  // a point; a refinement takes some thousand points
  return problem.cost() < kMaxOperations && minimize::Search::HostBytes(problem) < (1 << 16) &&
         (problem.settings().refinement == minimize::Refinement::kNone ||
          problem.cost_per_point() < kMaxRefinement);
}

// What SinusoidsFunctional and its tables cost is bounded by the service, at seconds.
bool IsSlowToPrepare(const v1::MinimizeRequest& message) {
  constexpr uint64_t kMaxPoints = 1000;
  uint64_t points = 0;
  for (const v1::GridAxis& axis : message.axes()) points += std::min(axis.count(), kMaxPoints);
  return message.has_sinusoids() && message.axes_size() > 1 && points >= kMaxPoints;
}

absl::StatusOr<SearchRequest> SearchOf(const Request& request) {
  const absl::StatusOr<ParsedSearch> parsed = ParseSearch(request);
  if (!parsed.ok()) return parsed.status();
  return MakeSearch(*parsed, request.payload);
}

void Try(const uint8_t* data, size_t size) {
  const absl::StatusOr<Request> request = ReadRequest(testing::InPieces(data, size), kPayloadField);
  v1::MinimizeRequest message;
  const bool is_message = message.ParseFromArray(data, static_cast<int>(size));
  if (!request.ok()) {
    Check(!request.status().message().empty());
    return;
  }
  if (is_message && IsSlowToPrepare(message)) return;
  const absl::StatusOr<SearchRequest> search = SearchOf(*request);
  if (!search.ok()) {
    Check(absl::IsInvalidArgument(search.status()));
    Check(!search.status().message().empty());
    return;
  }
  Check(is_message);
  const minimize::Problem& problem = *search->problem;
  Check(problem.count() >= 1 && problem.cost_per_point() > 0.0);
  Check(CheckSearchTime(problem, {1e9, 1e9}, absl::InfiniteDuration(), absl::InfiniteDuration())
            .ok());
  Check(problem.functional().HostBytes() >= 0);
  if (!IsQuick(problem)) return;
  const std::string whole = AnswerOf(search->problem, 1e9);
  if (problem.settings().top_k == 1) {  // else tiles are evaluated again, which is counted
    Check(whole == AnswerOf(search->problem, problem.cost() / 3.0));
  }
}

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::server::Try(data, size);
  return 0;
}
