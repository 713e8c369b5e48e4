// The real server as its clients and its operators see it: health, reflection, capabilities, the
// coding itself, the metrics page, the ways to start it wrongly.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/code_shape.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/support/matchers.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using HealthResponse = grpc::health::v1::HealthCheckResponse;

class ServiceTest : public ServerTest {
 protected:
  static grpc::Status Health(const std::string& service, HealthResponse* response) {
    const auto stub = grpc::health::v1::Health::NewStub(
        grpc::CreateChannel(server_->target(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    return stub->Check(&context, request, response);
  }
};

TEST_F(ServiceTest, HealthKnowsTheServerAndTheService) {
  HealthResponse response;
  for (const char* service : {"", "baseband.v1.Baseband"}) {
    EXPECT_TRUE(Health(service, &response).ok());
    EXPECT_EQ(response.status(), HealthResponse::SERVING);
  }
  EXPECT_EQ(Health("nobody", &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, CapabilitiesSayWhatTheServerCanDo) {
  grpc::ClientContext context;
  v1::GetCapabilitiesResponse response;
  ASSERT_TRUE(stub_->GetCapabilities(&context, {}, &response).ok());

  EXPECT_THAT(response.version(), Not(""));
  ASSERT_EQ(response.devices_size(), 1);
  EXPECT_EQ(response.devices(0).kind(), "cpu");
  EXPECT_TRUE(response.devices(0).healthy());
  EXPECT_EQ(response.max_request_bytes(), 64 << 20);
  EXPECT_EQ(response.max_blocks_per_request(), 65536);
  EXPECT_EQ(response.queue_capacity_requests(), 4096);
  EXPECT_EQ(response.queue_capacity_bytes(), 256 << 20);
  EXPECT_EQ(response.ldpc().nr_lifting_sizes_size(), 51);
  EXPECT_THAT(response.ldpc().wifi_n(), ElementsAre(648, 1296, 1944));
  EXPECT_EQ(response.ldpc().wimax_n_size(), 19);
  EXPECT_EQ(response.ldpc().max_iterations(), 100);
  EXPECT_EQ(response.ldpc().recommended_llr_scale(), 4);
}

TEST_F(ServiceTest, EveryFamilyComesBackAsItWasSent) {
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(RoundTrip(*stub_, &random), "");
}

TEST_F(ServiceTest, OutputsAreParityCodewordOrFullCodeword) {
  v1::EncodeRequest request = EncodeOf(NrCode(1, 64), 1);
  v1::EncodeResponse parity, sent, full;
  request.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_UNSPECIFIED);
  ASSERT_TRUE(Call(*stub_, request, &parity).ok());
  request.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  ASSERT_TRUE(Call(*stub_, request, &sent).ok());
  request.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_FULL_CODEWORD);
  ASSERT_TRUE(Call(*stub_, request, &full).ok());

  EXPECT_EQ(full.payload(), request.payload() + parity.payload());
  EXPECT_EQ(sent.payload(), full.payload().substr(2 * 64 / 8));
}

TEST_F(ServiceTest, SoftOutputCoversPuncturedColumnsToo) {
  v1::DecodeRequest request = DecodeOfZeros(NrCode(2, 16), 2);
  request.mutable_groups(0)->set_soft_output(true);
  v1::DecodeResponse response;
  ASSERT_TRUE(Call(*stub_, request, &response).ok());

  EXPECT_EQ(response.soft().size(), 2 * 52 * 16);
  for (const char llr : response.soft()) EXPECT_GT(llr, 0);
  EXPECT_THAT(response.parity_ok(), ElementsAre(true, true));
}

TEST_F(ServiceTest, ABlockThatDoesNotDecodeIsAResult) {
  v1::DecodeRequest request = DecodeOfZeros(WifiCode(v1::WifiCode::RATE_1_2, 648), 1);
  std::mt19937 random(3);
  for (char& llr : *request.mutable_payload()) llr = random() % 2 == 0 ? 40 : -40;
  request.mutable_groups(0)->set_max_iterations(7);
  v1::DecodeResponse response;
  ASSERT_TRUE(Call(*stub_, request, &response).ok());

  EXPECT_THAT(response.parity_ok(), ElementsAre(false));
  EXPECT_THAT(response.iterations(), ElementsAre(7));
}

TEST_F(ServiceTest, EveryAlgorithmAndScheduleDecodes) {
  for (const auto algorithm :
       {v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM, v1::DECODE_ALGORITHM_SUM_PRODUCT,
        v1::DECODE_ALGORITHM_BIT_FLIPPING}) {
    for (const auto schedule : {v1::DECODE_SCHEDULE_LAYERED, v1::DECODE_SCHEDULE_FLOODING}) {
      v1::DecodeRequest request = DecodeOfZeros(WimaxCode(v1::WimaxCode::RATE_1_2, 576), 1);
      for (size_t i = 0; i < 5; ++i) (*request.mutable_payload())[i * 100] = -40;
      request.mutable_groups(0)->set_algorithm(algorithm);
      request.mutable_groups(0)->set_schedule(schedule);
      request.mutable_groups(0)->set_max_iterations(50);
      v1::DecodeResponse response;
      ASSERT_TRUE(Call(*stub_, request, &response).ok());
      EXPECT_THAT(response.parity_ok(), ElementsAre(true)) << algorithm << " " << schedule;
      EXPECT_EQ(response.payload(), std::string(36, '\0'));
    }
  }
}

TEST_F(ServiceTest, TimingSaysWhereTheTimeWent) {
  v1::DecodeResponse response;
  ASSERT_TRUE(Call(*stub_, DecodeOfZeros(NrCode(1, 384), 50), &response).ok());

  EXPECT_GT(response.timing().kernel_us(), 0);
  EXPECT_EQ(response.timing().batch_blocks(), 50);
  EXPECT_EQ(response.timing().batch_requests(), 1);
}

TEST_F(ServiceTest, TheMetricsPageCountsWhatHappened) {
  const auto value = [&](const char* name, const std::vector<std::string>& labels) {
    return server_->Metric(name, labels);
  };
  // A request is counted once gRPC has sent its answer, which may be after the client has it.
  ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  const std::string decode = "rpc=\"Decode\"";
  const double requests = value("baseband_requests_total", {decode, "code=\"OK\""});
  const double blocks = value("baseband_code_blocks_total", {decode, "family=\"nr\""});
  const double bytes = value("baseband_information_bytes_total", {decode});
  const double decoded = value("baseband_decode_iterations_count", {});
  const double kernels =
      value("baseband_stage_duration_seconds_count", {decode, "stage=\"kernel\""});

  v1::DecodeRequest request = DecodeOfZeros(NrCode(2, 384), 5);
  request.mutable_groups(0)->set_n_filler(40);
  v1::DecodeResponse response;
  ASSERT_TRUE(Call(*stub_, request, &response).ok());

  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_EQ(value("baseband_requests_total", {decode, "code=\"OK\""}), requests + 1);
  EXPECT_EQ(value("baseband_code_blocks_total", {decode, "family=\"nr\""}), blocks + 5);
  EXPECT_EQ(value("baseband_information_bytes_total", {decode}), bytes + 5 * (3840 - 40) / 8.0);
  EXPECT_EQ(value("baseband_decode_iterations_count", {}), decoded + 5);
  // Of the blocks of a request that do not all decode, those that do bring information.
  const double failures = value("baseband_decode_parity_failures_total", {});
  std::mt19937 random(3);
  std::string& llrs = *request.mutable_payload();
  for (size_t i = 0; i < 2 * llrs.size() / 5; ++i) llrs[i] = random() % 2 == 0 ? 40 : -40;
  ASSERT_TRUE(Call(*stub_, request, &response).ok());
  EXPECT_THAT(response.parity_ok(), ElementsAre(false, false, true, true, true));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_EQ(value("baseband_information_bytes_total", {decode}), bytes + 8 * (3840 - 40) / 8.0);
  EXPECT_EQ(value("baseband_code_blocks_total", {decode, "family=\"nr\""}), blocks + 10);
  EXPECT_EQ(value("baseband_decode_parity_failures_total", {}), failures + 2);

  EXPECT_EQ(value("baseband_stage_duration_seconds_count", {decode, "stage=\"kernel\""}),
            kernels + 2);
  EXPECT_EQ(value("baseband_device_healthy", {"device=\"cpu\""}), 1);
  EXPECT_EQ(value("baseband_device_info", {"kind=\"cpu\""}), 1);
  EXPECT_EQ(value("baseband_queue_requests", {}), 0);
  EXPECT_EQ(value("baseband_queue_capacity_requests", {}), 4096);
  EXPECT_EQ(value("baseband_build_info", {}), 1);
  EXPECT_GT(value("baseband_lane_busy_seconds_total", {}), 0);
  EXPECT_GT(value("baseband_pool_capacity_bytes", {"pool=\"staging\""}), 0);
  EXPECT_GT(value("process_resident_memory_bytes", {}), 0);
}

TEST_F(ServiceTest, ASecondServerOnTheSamePortFailsLoudly) {
  ChildProcess same_port(ProgramPath("basebandd"),
                         {"--device=cpu", "--listen=" + server_->target(), "--metrics-listen=off"});
  EXPECT_EQ(same_port.Wait(absl::Seconds(60)), 2);
  EXPECT_THAT(same_port.Output(), HasSubstr("cannot listen at " + server_->target()));

  ChildProcess same_metrics(
      ProgramPath("basebandd"),
      {"--device=cpu", "--listen=127.0.0.1:0", "--metrics-listen=" + server_->metrics_address()});
  EXPECT_EQ(same_metrics.Wait(absl::Seconds(60)), 2);
  EXPECT_THAT(same_metrics.Output(), HasSubstr("metrics_listen " + server_->metrics_address()));
}

TEST_F(ServiceTest, AnAddressThatCannotBeHadIsToldOfBeforeAnybodyIsServed) {
  for (const std::string& address : {server_->target(), std::string("unix:/nonexistent/sock")}) {
    ChildProcess server(ProgramPath("basebandd"),
                        {"--device=cpu", "--listen=127.0.0.1:0", "--metrics-listen=off",
                         "--admin-listen=" + address});
    EXPECT_EQ(server.Wait(absl::Seconds(60)), 2);
    EXPECT_THAT(server.Output(), HasSubstr("cannot listen at " + address));
    EXPECT_THAT(server.Output(), Not(HasSubstr("serving at")));
  }
}

TEST(CommandLineTest, WrongSettingsEndTheProcessBeforeItServes) {
  for (const auto& [flag, message] :
       {std::pair<const char*, const char*>{"--lane=4",
                                            "unknown flag --lane; did you mean --lanes?"},
        {"--lanes=0", "--lanes 0 is not in [1, 32]"},
        {"--listen=0.0.0.0:1", "allow_plaintext_network"},
        {"--cpus=8191", "cpus 8191: this process may not use 8191, only "},
        {"--config=/nonexistent", "config /nonexistent cannot be read"}}) {
    ChildProcess server(ProgramPath("basebandd"), {flag});
    EXPECT_EQ(server.Wait(absl::Seconds(120)), 1);
    EXPECT_THAT(server.Output(), HasSubstr(message));
  }
}

TEST(CommandLineTest, ItsThreadsRunOnTheCoresItIsGiven) {
  const std::string core = std::to_string(sched_getcpu());
  const auto server = ServerProcess::Start({"--cpus=" + core, "--cpu-threads=0"});
  ASSERT_THAT(server, IsOk());
  const std::string tasks = absl::StrCat("/proc/", (*server)->process().pid(), "/task");
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream file(task.path() / "status");
    std::stringstream status;
    status << file.rdbuf();
    if (status.str().empty()) continue;  // the thread has ended meanwhile
    EXPECT_THAT(status.str(), HasSubstr("Cpus_allowed_list:\t" + core + "\n"));
  }
}

TEST(CommandLineTest, CheckConfigAndHelpPrintAndEnd) {
  ChildProcess check(ProgramPath("basebandd"), {"--check-config", "--lanes=3"});
  EXPECT_EQ(check.Wait(absl::Seconds(120)), 0);
  EXPECT_THAT(check.Output(), HasSubstr("lanes = 3"));
  ChildProcess elsewhere(ProgramPath("basebandd"), {"--check-config", "--cpus=8191"});
  EXPECT_EQ(elsewhere.Wait(absl::Seconds(120)), 1);
  EXPECT_THAT(elsewhere.Output(), HasSubstr("cpus = \"8191\""));
  EXPECT_THAT(elsewhere.Output(), HasSubstr("cpus 8191: this process may not use 8191, only "));
  ChildProcess help(ProgramPath("basebandd"), {"--help"});
  EXPECT_EQ(help.Wait(absl::Seconds(120)), 0);
  EXPECT_THAT(help.Output(), HasSubstr("--device=auto|cpu|cuda[:i,j]"));
}

TEST(CommandLineTest, ResidentKernelsWithoutAGpuAreToldAtTheStart) {
  const char* warning = "--completion=resident has no effect on the CPU device";
  const auto resident = ServerProcess::Start({"--completion=resident"});
  ASSERT_TRUE(resident.ok()) << resident.status();
  EXPECT_THAT((*resident)->process().OutputWith(warning), HasSubstr(warning));
  const auto spin = ServerProcess::Start({"--completion=spin"});
  ASSERT_TRUE(spin.ok()) << spin.status();
  EXPECT_EQ((*spin)->Terminate(), 0);
  EXPECT_THAT((*spin)->process().Output(), Not(HasSubstr("has no effect")));
}

TEST(UnixSocketTest, ServesThere) {
  const std::string address = absl::StrCat("unix:/tmp/baseband_test_", getpid(), ".sock");
  const auto server = ServerProcess::Start({"--listen=" + address});
  ASSERT_TRUE(server.ok()) << server.status();

  v1::EncodeResponse response;
  EXPECT_TRUE(Call(*Connect(address), EncodeOf(NrCode(2, 16), 1), &response).ok());
  EXPECT_EQ((*server)->Terminate(), 0);
}

}  // namespace
}  // namespace baseband::testing
