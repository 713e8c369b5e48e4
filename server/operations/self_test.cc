#include "server/operations/self_test.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/ldpc/code.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/sinusoids.h"
#include "server/operations/decode.h"
#include "server/operations/downconvert.h"
#include "server/operations/encode.h"
#include "server/operations/minimize.h"
#include "server/operations/recover_carrier.h"

namespace baseband::server {
namespace {

// TS 38.212, base graph 2, Zc = 10: case 119 of the known answers in tests/vectors/ldpc. Neither
// its information nor its parity ends on a byte.
constexpr int kZc = 10;
constexpr char kInfo[] = "8365455671e1f63cb9eeb4cc50";
constexpr char kCodeword[] =
    "8365455671e1f63cb9eeb4cc50e0ae308b90f61592af061e3b86f87fce5ac779adee0ed6118d5e1ec07e699a768f6b"
    "618a73a86ed99aeed0832c7baa476daa7e1e";
// Enough that a launch has more than one pair of blocks, and an odd one.
constexpr int kCount = 5;

// The received values of the word's sent bits, sure but for every 16th, which is wrong.
std::string NoisyLlr(const std::string& codeword, const ldpc::Code& code) {
  std::string llr;
  for (int bit = code.n() - code.num_sent(); bit < code.n(); ++bit) {
    const bool one = codeword[static_cast<size_t>(bit / 8)] >> (7 - bit % 8) & 1;
    const bool wrong = bit % 16 == 5;
    llr.push_back(static_cast<char>(one == wrong ? 12 : -12));
  }
  return llr;
}

std::string Repeat(const std::string& text) {
  std::string result;
  for (int i = 0; i < kCount; ++i) {
    result += text;
  }
  return result;
}

// Runs `job` alone on `lane` with `payload`, and returns it when it is done.
absl::StatusOr<JobPtr> Run(Lane& lane, JobPtr job, const std::string& payload, HostPool& staging,
                           HostPool& reply) {
  BASEBAND_ASSIGN_OR_RETURN(job->input, staging.Lease(job->payload_bytes));
  BASEBAND_ASSIGN_OR_RETURN(job->reply, reply.Lease(job->reply_bytes));
  std::copy(payload.begin(), payload.end(), job->input.data());
  std::vector<JobPtr> jobs;
  jobs.push_back(std::move(job));
  const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
  absl::Notification ended;
  absl::Status result;
  lane.Start(batch.get(), [&](absl::Status status, const StageTimes&) {
    result = std::move(status);
    ended.Notify();
  });
  ended.WaitForNotification();
  BASEBAND_RETURN_IF_ERROR(result);
  BASEBAND_RETURN_IF_ERROR(batch->Finish());
  return std::move(batch->TakeJobs().front());
}

absl::Status CheckReply(const Job& job, const std::string& expected, absl::string_view operation) {
  const absl::Span<const uint8_t> reply = job.reply.span();
  if (!std::equal(expected.begin(), expected.end(), reply.begin(), reply.end(),
                  [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; })) {
    return absl::InternalError(absl::StrCat("self-test: ", operation, " gave a wrong answer"));
  }
  return absl::OkStatus();
}

// QPSK without noise, kCount frames alike, whose frequency no FFT bin has.
absl::Status TestCarrier(Lane& lane, HostPool& staging, HostPool& reply) {
  constexpr int kSymbols = 300;
  constexpr double kFrequency = 0.0123;
  constexpr double kTolerance = 1e-6;
  BASEBAND_ASSIGN_OR_RETURN(carrier::ConstellationPtr qpsk,
                            carrier::Constellation::FromName("QPSK"));
  RecoverCarrierGroup group;
  BASEBAND_ASSIGN_OR_RETURN(
      group.model,
      carrier::Model::Create(std::move(qpsk), carrier::Amplitude::kWeighted, /*power=*/0, 0.0));
  group.count = kCount;
  group.frame_symbols = kSymbols;
  std::vector<carrier::Iq> symbols;
  for (int n = 0; n < kSymbols; ++n) {
    const carrier::Iq sent = group.model->constellation().points()[n * n / 3 % 4];
    const std::complex<double> received =
        std::polar(1.0, 2.0 * M_PI * kFrequency * n) * std::complex<double>(sent.i, sent.q);
    symbols.push_back({static_cast<float>(received.real()), static_cast<float>(received.imag())});
  }
  const std::string payload = Repeat(std::string(reinterpret_cast<const char*>(symbols.data()),
                                                 symbols.size() * sizeof(carrier::Iq)));
  BASEBAND_ASSIGN_OR_RETURN(
      const JobPtr job,
      Run(lane, std::make_unique<RecoverCarrierJob>(std::vector<RecoverCarrierGroup>{group}),
          payload, staging, reply));
  for (const carrier::Result& result : static_cast<const RecoverCarrierJob&>(*job).results) {
    if (result.lock != carrier::Lock::kLocked ||
        !(std::abs(result.frequency - kFrequency) < kTolerance)) {
      return absl::InternalError(absl::StrCat("self-test: RecoverCarrier found ", result.frequency,
                                              " instead of ", kFrequency));
    }
  }
  return absl::OkStatus();
}

// A tone among kCount channels of one filter, the first of which has it at 0 Hz. What is expected
// is summed up in double precision, from phases that are whole multiples of 1 / kDen turns.
absl::Status TestDownconvert(Lane& lane, HostPool& staging, HostPool& reply) {
  constexpr int kSamples = 1000;
  constexpr int kDown = 3;
  constexpr int kTone = 123;  // of kDen cycles per sample
  constexpr int kDen = 1000;
  constexpr double kTolerance = 1e-5;
  const auto turned = [](int64_t num, int64_t n) {
    return std::polar(1.0, 2.0 * M_PI * static_cast<double>(num * n % kDen) / kDen);
  };
  const auto num_of = [](int channel) { return kTone - 150 * channel; };
  std::vector<float> taps;
  for (int k = 0; k < 24; ++k) {
    taps.push_back(static_cast<float>(std::min(k + 1, 26 - k)) /
                   256.0F);  // no mirror image of itself
  }
  BASEBAND_ASSIGN_OR_RETURN(const downconvert::FilterPtr filter,
                            downconvert::Filter::FromTaps(taps, /*up=*/1, kDown));
  auto channels = std::make_shared<std::vector<downconvert::Channel>>(kCount);
  for (int c = 0; c < kCount; ++c) {
    downconvert::Channel& channel = (*channels)[static_cast<size_t>(c)];
    BASEBAND_ASSIGN_OR_RETURN(const downconvert::Frequency frequency,
                              downconvert::Frequency::FromFraction(num_of(c), kDen));
    BASEBAND_ASSIGN_OR_RETURN(channel.phase, downconvert::PhaseTrack::Create(frequency, 0.0, {}));
    channel.filter = filter;
  }
  downconvert::Block block;
  block.format = downconvert::InputFormat::kFloat32;
  block.num_samples = kSamples;
  std::string payload;
  for (int n = 0; n < kSamples; ++n) {
    const std::complex<double> tone = turned(kTone, n);
    const float sample[] = {static_cast<float>(tone.real()), static_cast<float>(tone.imag())};
    payload.append(reinterpret_cast<const char*>(sample), sizeof(sample));
  }
  BASEBAND_ASSIGN_OR_RETURN(
      const JobPtr done,
      Run(lane, std::make_unique<DownconvertJob>(channels, block, std::vector<uint8_t>()), payload,
          staging, reply));
  const auto& job = static_cast<const DownconvertJob&>(*done);
  for (int c = 0; c < kCount; ++c) {
    const auto at = static_cast<size_t>(c);
    const uint8_t* const output = job.reply.data() + job.reply_offsets()[at];
    for (int64_t m = 0; m < job.ranges()[at].count; ++m) {
      std::complex<double> expected = 0.0;
      for (int64_t k = 0; k < static_cast<int64_t>(taps.size()) && k <= m * kDown; ++k) {
        expected += static_cast<double>(taps[static_cast<size_t>(k)]) *
                    turned(kTone - num_of(c), m * kDown - k);
      }
      float found[2];
      std::memcpy(found, output + m * static_cast<int64_t>(sizeof(found)), sizeof(found));
      if (!(std::abs(std::complex<double>(found[0], found[1]) - expected) <= kTolerance)) {
        return absl::InternalError(absl::StrCat(
            "self-test: Downconvert's channel ", c, " has ", found[0], " + ", found[1],
            "j as output ", m, " instead of ", expected.real(), " + ", expected.imag(), "j"));
      }
    }
  }
  return absl::OkStatus();
}

// Runs the whole grid as one piece and compares the lowest point.
absl::Status TestSearch(Lane& lane, const char* name, minimize::FunctionalPtr functional,
                        const minimize::Axis& axis, int64_t expected, HostPool& staging,
                        HostPool& reply) {
  Device* const device = &lane.device();
  const auto devices = absl::MakeConstSpan(&device, 1);
  minimize::Settings settings;
  settings.functional = std::move(functional);
  BASEBAND_ASSIGN_OR_RETURN(settings.grid, minimize::Grid::Create(absl::MakeConstSpan(&axis, 1)));
  const auto plan = std::make_shared<SearchPlan>();
  BASEBAND_ASSIGN_OR_RETURN(plan->problem, minimize::Problem::Create(std::move(settings)));
  const absl::Status added = AddProgram(device, plan.get());
  if (absl::IsUnavailable(added)) return absl::OkStatus();  // requests are told so; all else works
  BASEBAND_RETURN_IF_ERROR(added);
  BASEBAND_ASSIGN_OR_RETURN(plan->image, staging.Lease(SearchImageBytes(*plan->problem, devices)));
  if (plan->image.size() > 0) WriteSearchImage(*plan->problem, plan->image.data());
  const minimize::PieceLimits limits = SearchCapacityOf(devices).piece;
  BASEBAND_ASSIGN_OR_RETURN(minimize::Search search,
                            minimize::Search::Create(plan->problem, limits));
  while (!search.done()) {
    const minimize::Piece piece = *search.Next();
    BASEBAND_ASSIGN_OR_RETURN(
        const JobPtr job,
        Run(lane, std::make_unique<MinimizeJob>(plan, piece, limits), "", staging, reply));
    search.Add(piece, job->reply.data());
  }
  if (search.progress().index != expected) {
    return absl::InternalError(absl::StrCat("self-test: Minimize, ", name, ", found point ",
                                            search.progress().index, " instead of ", expected));
  }
  return absl::OkStatus();
}

// (x - a[1])^2 at its zero, and the frequency of a sinusoid beside a constant.
absl::Status TestMinimize(Lane& lane, HostPool& staging, HostPool& reply) {
  constexpr int64_t kPoints = 1000;
  constexpr int64_t kBest = 61;
  minimize::Names names;
  names.variables = {"x"};
  names.arrays = {{"a", 2}};
  BASEBAND_ASSIGN_OR_RETURN(auto parsed, minimize::Expression::Parse("(x - a[1])^2", names));
  BASEBAND_ASSIGN_OR_RETURN(auto expression, minimize::ExpressionFunctional::Create(
                                                 std::move(parsed), {}, {{0.0, kBest * 0.5}}));
  BASEBAND_RETURN_IF_ERROR(TestSearch(lane, "an expression", std::move(expression),
                                      {0.0, 0.5, kPoints}, kBest, staging, reply));
  constexpr double kStep = 0.4 / kPoints;  // cycles per sample
  minimize::Observation observation;
  observation.columns.emplace_back();
  for (int n = 0; n < 100; ++n) {
    observation.columns[0].push_back(1.0);
    observation.signal.push_back(0.25 + std::cos(2.0 * M_PI * kStep * kBest * n + 0.5));
  }
  BASEBAND_ASSIGN_OR_RETURN(auto sinusoids, minimize::MakeSinusoids(std::move(observation)));
  return TestSearch(lane, "a sinusoid", std::move(sinusoids), {0.0, kStep, kPoints}, kBest, staging,
                    reply);
}

absl::Status TestLane(Lane& lane, HostPool& staging, HostPool& reply) {
  BASEBAND_ASSIGN_OR_RETURN(const ldpc::CodePtr code, ldpc::NrCode(2, kZc));
  const std::string info = absl::HexStringToBytes(kInfo);
  const std::string codeword = absl::HexStringToBytes(kCodeword);

  EncodeGroup encode;
  encode.code = code;
  encode.count = kCount;
  encode.output = EncodeOutput::kFullCodeword;
  BASEBAND_ASSIGN_OR_RETURN(JobPtr encoded,
                            Run(lane, std::make_unique<EncodeJob>(std::vector<EncodeGroup>{encode}),
                                Repeat(info), staging, reply));
  BASEBAND_RETURN_IF_ERROR(CheckReply(*encoded, Repeat(codeword), "Encode"));

  DecodeGroup decode;
  decode.code = code;
  decode.count = kCount;
  decode.llr_count = code->num_sent();
  BASEBAND_ASSIGN_OR_RETURN(JobPtr decoded,
                            Run(lane, std::make_unique<DecodeJob>(std::vector<DecodeGroup>{decode}),
                                Repeat(NoisyLlr(codeword, *code)), staging, reply));
  BASEBAND_RETURN_IF_ERROR(CheckReply(*decoded, Repeat(info), "Decode"));
  BASEBAND_RETURN_IF_ERROR(TestCarrier(lane, staging, reply));
  BASEBAND_RETURN_IF_ERROR(TestDownconvert(lane, staging, reply));
  return TestMinimize(lane, staging, reply);
}

}  // namespace

absl::Status RunSelfTest(const Device& device, HostPool& staging, HostPool& reply) {
  for (const std::unique_ptr<Lane>& lane : device.lanes()) {
    if (const absl::Status status = TestLane(*lane, staging, reply); !status.ok()) {
      return absl::InternalError(
          absl::StrCat(device.id(), " lane ", lane->index(), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
