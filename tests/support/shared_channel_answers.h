// Requests of shared channels on the CPU device, from their messages to the answers': as many as
// are given share a batch.
#ifndef BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_ANSWERS_H_
#define BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_ANSWERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/convert_request.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::testing {

// A payload of `bytes`.
inline std::string PayloadOf(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// The operation of a request's message.
template <typename Request>
server::Operation& SharedChannelOperation() {
  constexpr bool kEncodes = std::is_same_v<Request, v1::EncodeSharedChannelRequest>;
  return server::TestOperation(kEncodes ? "EncodeSharedChannel" : "DecodeSharedChannel");
}
template <typename Request>
using SharedChannelAnswer =
    std::conditional_t<std::is_same_v<Request, v1::EncodeSharedChannelRequest>,
                       v1::EncodeSharedChannelResponse, v1::DecodeSharedChannelResponse>;

// `job` with its payload in place and a reply full of garbage.
inline server::JobPtr WithPayload(server::JobPtr job, const server::Payload& payload) {
  static const auto& pool =
      *new std::shared_ptr<server::HostPool>(*server::HostPool::CreatePageable(int64_t{64} << 20));
  server::HostLease input = *pool->Lease(job->input_bytes());
  payload.CopyTo(job->WritePrefix(input.data()));
  job->SetInput(std::move(input));
  job->reply = *pool->Lease(job->reply_bytes);
  std::fill(job->reply.span().begin(), job->reply.span().end(), uint8_t{0xa5});
  return job;
}

// A job of `request`, which is right.
template <typename Request>
server::JobPtr SharedChannelJob(const Request& request) {
  const server::Request wire = server::RequestOf(request);
  auto job = server::ConvertRequest(SharedChannelOperation<Request>(), wire);
  EXPECT_THAT(job, IsOk()) << request.ShortDebugString().substr(0, 500);
  if (!job.ok()) return nullptr;
  return WithPayload(*std::move(job), wire.payload);
}

// Runs a batch of them, its last piece first.
inline std::vector<server::JobPtr> RunSharedChannels(std::vector<server::JobPtr> jobs) {
  const std::unique_ptr<server::Batch> batch = server::MakeBatch(std::move(jobs));
  for (int piece = batch->num_pieces() - 1; piece >= 0; --piece) batch->RunPiece(piece);
  EXPECT_THAT(batch->Finish(), IsOk());
  return batch->TakeJobs();
}

// The message of a reply whose bulk lies in `memory`, without its timing.
template <typename Answer>
Answer AnswerIn(const server::Reply& reply, const uint8_t* memory) {
  Answer answer;
  EXPECT_TRUE(answer.ParseFromString(reply.header));
  for (const server::BulkField& field : reply.fields) {
    if (field.bytes == 0) continue;
    answer.GetReflection()->SetString(
        &answer, answer.GetDescriptor()->FindFieldByNumber(field.number),
        std::string(reinterpret_cast<const char*>(memory) + field.offset,
                    static_cast<size_t>(field.bytes)));
  }
  answer.clear_timing();
  return answer;
}
template <typename Answer>
Answer AnswerOf(const server::Reply& reply) {
  return AnswerIn<Answer>(reply, reply.memory.data());
}

// The answers to all of `requests`, which are right.
template <typename Request>
std::vector<SharedChannelAnswer<Request>> AnswersTo(const std::vector<Request>& requests) {
  std::vector<server::JobPtr> jobs;
  for (const Request& request : requests) jobs.push_back(SharedChannelJob(request));
  std::vector<SharedChannelAnswer<Request>> answers;
  for (const server::JobPtr& job : RunSharedChannels(std::move(jobs))) {
    auto reply = SharedChannelOperation<Request>().ToReply(*job);
    EXPECT_THAT(reply, IsOk());
    answers.push_back(AnswerOf<SharedChannelAnswer<Request>>(*reply));
  }
  return answers;
}
template <typename Request>
SharedChannelAnswer<Request> AnswerTo(const Request& request) {
  return AnswersTo<Request>({request}).front();
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_ANSWERS_H_
