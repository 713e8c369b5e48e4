// A server that searches, and requests for it. For the tests of this folder.
#ifndef BASEBAND_TESTS_INTEGRATION_SEARCHING_SERVER_H_
#define BASEBAND_TESTS_INTEGRATION_SEARCHING_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/server_test.h"

namespace baseband::testing {

class MinimizeTest : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    StartServer({"--max-search=1h", "--max-searches=8", "--search-memory-mib=32"});
  }

  struct Outcome {
    grpc::Status status;
    v1::MinimizeAnswer answer;
    int answers = 0;
    std::vector<v1::MinimizeProgress> progress;
  };
  static Outcome Run(const v1::MinimizeRequest& request, grpc::ClientContext* context) {
    Outcome outcome;
    const auto reader = stub_->Minimize(context, request);
    for (v1::MinimizeResponse response; reader->Read(&response);) {
      if (response.has_answer()) {
        ++outcome.answers;
        outcome.answer = response.answer();
      } else {
        outcome.progress.push_back(response.progress());
      }
    }
    outcome.status = reader->Finish();
    return outcome;
  }
  static Outcome Run(const v1::MinimizeRequest& request) {
    grpc::ClientContext context;
    return Run(request, &context);
  }
  // Until so many searches are open in the server.
  static bool AwaitSearches(int count) {
    return server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Minimize\""}, count);
  }
  static std::string Refusal(const v1::MinimizeRequest& request) {
    const Outcome outcome = Run(request);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(outcome.answers, 0);
    return outcome.status.error_message();
  }
};

inline void AddAxis(double begin, double step, uint64_t count, v1::MinimizeRequest* request) {
  v1::GridAxis& axis = *request->add_axes();
  axis.set_begin(begin);
  axis.set_step(step);
  axis.set_count(count);
}

inline v1::MinimizeRequest Formula(const std::string& text, double begin, double step,
                                   uint64_t count) {
  v1::MinimizeRequest request;
  request.mutable_expression()->set_text(text);
  AddAxis(begin, step, count, &request);
  return request;
}

inline void Append(const std::vector<double>& numbers, std::string* payload) {
  payload->append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_INTEGRATION_SEARCHING_SERVER_H_
