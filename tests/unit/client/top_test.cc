// What `basebandctl top` knows of servers, and the lines and the JSON that it makes of that.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/operate/top_figures.h"
#include "client/ctl/operate/top_model.h"
#include "client/ctl/operate/top_text.h"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using ::testing::Eq;
using ::testing::Field;
using ::testing::Optional;

constexpr char kBusy[] = "baseband_requests_total{code=\"OK\",rpc=\"Decode\"} ";

Sample Answer(absl::Time time, const std::string& text, ServerState state = ServerState::kServing) {
  Sample sample;
  sample.time = time;
  sample.state = state;
  sample.page = load::ParseMetrics(absl::StrCat("process_start_time_seconds 100\n", text));
  return sample;
}

Sample NoAnswer(absl::Time time) {
  Sample sample;
  sample.time = time;
  sample.state = ServerState::kUnreachable;
  sample.why = "cannot connect";
  return sample;
}

const absl::Time kStart = absl::FromUnixSeconds(1000);

std::string TextOf(const TopModel& model, int columns, int selected = -1) {
  TopView view;
  view.columns = columns;
  view.selected = selected;
  view.interval = absl::Seconds(1);
  view.now = absl::FromUnixSeconds(200);
  view.steady = kStart + absl::Seconds(60);
  std::string text;
  for (const Line& line : ToLines(model, view)) absl::StrAppend(&text, line.text, "\n");
  return text;
}

TEST(TopModelTest, AServerThatGoesAndComesBackIsShownAsThat) {
  TopModel model({"http://a:9151/metrics"});
  model.Add({Answer(kStart, absl::StrCat(kBusy, 10))});
  model.Add({Answer(kStart + absl::Seconds(2), absl::StrCat(kBusy, 30))});
  EXPECT_THAT(ToServerFigures(model.servers()[0].rates).requests, Optional(10));
  EXPECT_EQ(model.CountServing(), 1);
  model.Add({NoAnswer(kStart + absl::Seconds(4))});
  model.Add({NoAnswer(kStart + absl::Seconds(6))});
  EXPECT_THAT(ToServerFigures(model.servers()[0].rates).requests, Eq(absl::nullopt));
  EXPECT_EQ(model.servers()[0].state_since, kStart + absl::Seconds(4));
  EXPECT_EQ(model.CountServing(), 0);
  EXPECT_THAT(TextOf(model, 120),
              AllOf(HasSubstr("unreachable for 56 s: cannot connect"), Not(HasSubstr("req/s"))));
  model.Add({Answer(kStart + absl::Seconds(8), absl::StrCat(kBusy, 90))});
  EXPECT_FALSE(model.servers()[0].rates.has_rates) << "what it did meanwhile is no rate of now";
  model.Add({Answer(kStart + absl::Seconds(10), absl::StrCat(kBusy, 94))});
  EXPECT_THAT(ToServerFigures(model.servers()[0].rates).requests, Optional(2));
}

TEST(TopModelTest, ASampleThatIsKnownChangesNothing) {
  TopModel model({"http://a:9151/metrics"});
  model.Add({Answer(kStart, absl::StrCat(kBusy, 10))});
  const Sample second = Answer(kStart + absl::Seconds(2), absl::StrCat(kBusy, 30));
  model.Add({second});
  model.Add({second});
  EXPECT_THAT(ToServerFigures(model.servers()[0].rates).requests, Optional(10));
}

TEST(TopModelTest, JsonHasNullForWhatIsNotKnown) {
  TopModel model({"http://a:9151/metrics", "http://b:9151/metrics"});
  const auto answer = [](int seconds, int requests) {
    return Answer(kStart + absl::Seconds(seconds), absl::StrCat(kBusy, requests));
  };
  model.Add({answer(0, 0), NoAnswer(kStart)});
  model.Add({answer(2, 8), NoAnswer(kStart + absl::Seconds(2))});
  const Json json = ToJson(model, absl::FromUnixSeconds(160));
  EXPECT_EQ(json["time"], "1970-01-01T00:02:40.000Z");
  EXPECT_EQ(json["servers"][0]["name"], "a:9151");
  EXPECT_EQ(json["servers"][0]["uptime_s"], 60);
  EXPECT_EQ(json["servers"][0]["requests_per_s"], 4);
  EXPECT_EQ(json["servers"][0]["unserved_per_s"], nullptr);
  EXPECT_EQ(json["servers"][1]["state"], "unreachable");
  EXPECT_EQ(json["servers"][1]["requests_per_s"], nullptr);
  EXPECT_EQ(json["total"]["requests_per_s"], 4);
}

// Two servers with everything on their pages, one of them with a GPU.
TopModel FullModel() {
  const auto page = [](int n) {
    return absl::StrCat(
        kBusy, 10000 * n, "\nbaseband_information_bytes_total{rpc=\"Decode\"} ", 125000000L * n,
        "\nbaseband_code_blocks_total{rpc=\"Decode\",family=\"nr\"} ", 1000 * n,
        "\nbaseband_decode_parity_failures_total ", 125 * n,
        "\nbaseband_requests_in_flight{rpc=\"Decode\"} 7"
        "\nbaseband_request_duration_seconds_bucket{rpc=\"Decode\",le=\"0.001\"} ",
        10 * n, "\nbaseband_request_duration_seconds_bucket{rpc=\"Decode\",le=\"+Inf\"} ", 10 * n,
        "\nbaseband_deadlines_total{outcome=\"missed\",rpc=\"Decode\"} 0"
        "\nbaseband_requests_unserved_total{reason=\"backlog\",rpc=\"Decode\"} ",
        10 * n,
        "\nbaseband_queue_requests{rpc=\"Decode\"} 3"
        "\nbaseband_queue_oldest_age_seconds{priority=\"high\"} 0.002"
        "\nbaseband_batch_requests_sum{rpc=\"Decode\"} ",
        100 * n, "\nbaseband_batch_requests_count{rpc=\"Decode\"} ", 10 * n,
        "\nbaseband_lane_busy_seconds_total{device=\"cuda:0\",lane=\"0\"} ", n,
        "\nbaseband_device_info{device=\"cuda:0\",kind=\"cuda\",name=\"NVIDIA H200\"} 1"
        "\nbaseband_device_healthy{device=\"cuda:0\"} 1"
        "\nbaseband_gpu_utilization_ratio{device=\"cuda:0\"} 0.73"
        "\nbaseband_gpu_memory_used_bytes{device=\"cuda:0\"} 12e9"
        "\nbaseband_gpu_memory_capacity_bytes{device=\"cuda:0\"} 150e9"
        "\nbaseband_gpu_temperature_celsius{device=\"cuda:0\"} 61"
        "\nbaseband_gpu_power_watts{device=\"cuda:0\"} 412"
        "\nbaseband_gpu_power_limit_watts{device=\"cuda:0\"} 700"
        "\nbaseband_pool_used_bytes{pool=\"staging\"} 1\nbaseband_pool_capacity_bytes{pool="
        "\"staging\"} 4\nbaseband_open_connections 17\nprocess_resident_memory_bytes 1e9"
        "\nbaseband_build_info{version=\"0.1.0\"} 1"
        "\nbaseband_client_device_seconds_total{client=\"bbu-7.rack1.example\"} ",
        n, "\n");
  };
  TopModel model({"http://gpu1.rack1.example:9151/metrics", "http://gpu2.rack1.example:9151"});
  for (const int n : {1, 2}) {
    const absl::Time time = kStart + absl::Seconds(2 * n);
    model.Add({Answer(time, page(n)), Answer(time, page(n), ServerState::kDraining)});
  }
  return model;
}

TEST(TopTextTest, AWideFrameHasEverything) {
  const std::string text = TextOf(FullModel(), 220);
  for (const char* part : {"2 servers, 1 serving",
                           "gpu1.rack1.example:9151",
                           "draining",
                           "1 min 40 s",
                           "0.1.0",
                           "5.00 k",
                           "500 Mb/s",
                           "0.12",
                           "990 us",
                           "5 backlog",
                           "2.00 ms",
                           "0.5 of 1",
                           "25 %",
                           "cuda:0",
                           "NVIDIA H200",
                           "healthy",
                           "[######......]  50 %",
                           "73 %",
                           "11.2 GiB of 140 GiB",
                           "61 C",
                           "412 of 700 W",
                           "Decode",
                           "bbu-7.rack1.example",
                           "1.00 s/s",
                           "[############] 100 %"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(TopTextTest, ANarrowFrameLeavesColumnsOutAndKeepsWhatMatters) {
  const TopModel model = FullModel();
  for (const int columns : {80, 100, 120, 160}) {
    TopView view;
    view.columns = columns;
    view.interval = absl::Seconds(1);
    const std::vector<Line> lines = ToLines(model, view);
    EXPECT_THAT(lines, Each(Field(&Line::text, ::testing::SizeIs(::testing::Le(columns)))));
    EXPECT_THAT(lines, Contains(Field(&Line::text, AllOf(HasSubstr("req/s"), HasSubstr("p99"),
                                                         HasSubstr("unserved/s")))));
  }
}

TEST(TopTextTest, SharedMemoryAndItsRingsAreALineWhereThereIsAny) {
  TopModel model({"http://a:9151/metrics", "http://b:9151/metrics"});
  for (const int n : {0, 1}) {
    const absl::Time time = kStart + absl::Seconds(2 * n);
    model.Add({Answer(time, absl::StrCat("baseband_rings 2\nbaseband_shared_memory_regions 1\n"
                                         "baseband_shared_memory_bytes_total{direction=\"in\"} ",
                                         4096 * n,
                                         "\nbaseband_shared_memory_bytes_total{direction=\"out\"} ",
                                         2048 * n, "\n")),
               Answer(time, "baseband_rings 0\nbaseband_shared_memory_regions 0\n")});
  }
  const std::string line = " shared memory   1 region, 2 rings   in 2.00 KiB/s, out 1.00 KiB/s\n";
  EXPECT_THAT(TextOf(model, 80), HasSubstr(line));
  EXPECT_THAT(TextOf(model, 80, 0), HasSubstr(line));
  EXPECT_THAT(TextOf(model, 80, 1), Not(HasSubstr("shared memory")));
}

TEST(TopTextTest, TheSelectedServersRequestsAreShown) {
  TopModel model({"http://a:9151/metrics", "http://b:9151/metrics"});
  const std::string in_flight = "\nbaseband_requests_in_flight{rpc=\"Decode\"} 0\n";
  for (const int n : {0, 1}) {
    const absl::Time time = kStart + absl::Seconds(2 * n);
    model.Add({Answer(time, absl::StrCat(kBusy, 8 * n, in_flight)),
               Answer(time, absl::StrCat(kBusy, 0, in_flight))});
  }
  EXPECT_THAT(TextOf(model, 120), HasSubstr("Decode"));
  EXPECT_THAT(TextOf(model, 120, 0), AllOf(HasSubstr(" of a:9151"), HasSubstr("Decode")));
  EXPECT_THAT(TextOf(model, 120, 1), AllOf(HasSubstr(" of b:9151"), HasSubstr("no requests")));
}

}  // namespace
}  // namespace baseband::ctl
