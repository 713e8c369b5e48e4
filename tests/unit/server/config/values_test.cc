// Which values the server's settings take, alone and together, and the words of a refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/matchers.h"
#include "tests/unit/server/config/parse_config.h"

namespace baseband::server {
namespace {

TEST(ConfigTest, DeviceNamesTheCpuOrSomeGpus) {
  EXPECT_EQ(Parse({"--device=auto"})->config.device.kind, DeviceSelection::Kind::kAuto);
  EXPECT_EQ(Parse({"--device=cpu"})->config.device.kind, DeviceSelection::Kind::kCpu);
  EXPECT_EQ(Parse({"--device=cuda"})->config.device.kind, DeviceSelection::Kind::kCuda);
  EXPECT_THAT(Parse({"--device=cuda"})->config.device.cuda_ordinals, IsEmpty());
  EXPECT_THAT(Parse({"--device=cuda:2,0"})->config.device.cuda_ordinals, ElementsAre(2, 0));
}

TEST(ConfigTest, WrongDevicesAreRefused) {
  EXPECT_THAT(Refusal({"--device=gpu"}), HasSubstr("--device gpu is not one of auto, cpu, cuda"));
  EXPECT_THAT(Refusal({"--device=cudax"}), HasSubstr("--device cudax is not one of"));
  EXPECT_THAT(Refusal({"--device=cuda:"}), HasSubstr("GPU '' is not in [0, 255]"));
  EXPECT_THAT(Refusal({"--device=cuda:0,-1"}), HasSubstr("GPU '-1' is not in [0, 255]"));
  EXPECT_THAT(Refusal({"--device=cuda:1,1"}), HasSubstr("names GPU 1 twice"));
}

TEST(ConfigTest, CpusAreAListOrAll) {
  EXPECT_THAT(Parse({})->config.cpus, IsEmpty());
  EXPECT_THAT(Parse({"--cpus=all"})->config.cpus, IsEmpty());
  EXPECT_THAT(Parse({"--cpus=8,0-2"})->config.cpus, ElementsAre(0, 1, 2, 8));
  const TemporaryFile file("cpus = \"0-1,4\"\n");
  EXPECT_THAT(Parse({file.flag()})->config.cpus, ElementsAre(0, 1, 4));
  EXPECT_THAT(Parse({}, {"BASEBANDD_CPUS=2,4"})->config.cpus, ElementsAre(2, 4));
  EXPECT_THAT(
      Refusal({"--cpus=3-1"}),
      HasSubstr("--cpus 3-1: '3-1' is no core, nor a range FIRST-LAST of cores, in [0, 8191]"));
  EXPECT_THAT(Refusal({"--cpus=0,"}), HasSubstr("--cpus 0,: ''"));
}

TEST(ConfigTest, MetricsCanBeSwitchedOff) {
  for (const char* flag : {"--metrics-listen=", "--metrics-listen=off"}) {
    const auto command = Parse({flag, "--lanes=2"});
    ASSERT_TRUE(command.ok()) << command.status();
    EXPECT_EQ(command->config.metrics_listen, "");
    EXPECT_EQ(command->config.lanes, 2);
  }
  EXPECT_EQ(Parse({}, {"BASEBANDD_METRICS_LISTEN="})->config.metrics_listen, "");
  EXPECT_THAT(Refusal({"--metrics-listen=unix:/x"}), HasSubstr("expected HOST:PORT"));
}

TEST(ConfigTest, SwitchesStandAloneOrTakeTrueAndFalse) {
  EXPECT_TRUE(Parse({"--allow-plaintext-network"})->config.allow_plaintext_network);
  EXPECT_TRUE(Parse({"--allow-plaintext-network=true"})->config.allow_plaintext_network);
  EXPECT_FALSE(Parse({"--allow-plaintext-network=false"})->config.allow_plaintext_network);
  EXPECT_THAT(Refusal({"--allow-plaintext-network=maybe"}),
              HasSubstr("--allow-plaintext-network maybe is not one of true, false"));
}

TEST(ConfigTest, AWordThatIsNoneOfAListIsRefusedWithTheListAndTheNearest) {
  EXPECT_EQ(Refusal({"--completion=blok"}),
            "--completion blok is not one of spin, block, resident; did you mean block?");
  EXPECT_EQ(Refusal({}, {"BASEBANDD_LOG_FORMAT="}),
            "BASEBANDD_LOG_FORMAT '' is not one of text, json");
  EXPECT_EQ(Refusal({"--allow=root=*"}),
            "--allow root=* is refused: role 'root' is not one of user, admin, metrics");
}

TEST(ConfigTest, AFlagWithoutItsValueIsToldWhatItTakesAndNoOtherFlagIsTakenForIt) {
  for (const Setting& setting : Settings()) {
    if (setting.is_switch) continue;
    const std::string flag = FlagOf(setting);
    const std::string told = flag + " needs a value, " + setting.value;
    EXPECT_EQ(Refusal({flag.c_str()}), told);
    EXPECT_EQ(Refusal({"--slow=2s", flag.c_str(), "--help"}), told);
    if (setting.name == "metrics_listen") continue;  // nothing means off
    EXPECT_EQ(Refusal({(flag + "=").c_str()}), told);
  }
  EXPECT_EQ(Refusal({"--config"}), "--config needs a value, FILE");
  EXPECT_EQ(Refusal({"--memory-mib", "-3"}), "--memory-mib -3 is not in [0, 16777216]");
  EXPECT_EQ(Refusal({"--check-config=3"}), "--check-config takes no value, and has 3");
  EXPECT_EQ(Refusal({"--help=lanes"}), "--help takes no value, and has lanes");
}

TEST(ConfigTest, NumbersOutsideTheirRangeAreRefusedByPlaceValueAndRange) {
  const TemporaryFile file("lanes = 99\n");

  EXPECT_EQ(Refusal({"--lanes=0"}), "--lanes 0 is not in [1, 32]");
  EXPECT_EQ(Refusal({"--lanes", "33"}), "--lanes 33 is not in [1, 32]");
  EXPECT_EQ(Refusal({"--lanes=four"}), "--lanes four is not in [1, 32]: it takes a whole number");
  EXPECT_EQ(Refusal({"--lanes=4.5"}), "--lanes 4.5 is not in [1, 32]: it takes a whole number");
  EXPECT_EQ(Refusal({"--lanes=99999999999999999999"}),
            "--lanes 99999999999999999999 is not in [1, 32]");
  EXPECT_EQ(Refusal({}, {"BASEBANDD_LANES=-1"}), "BASEBANDD_LANES -1 is not in [1, 32]");
  EXPECT_EQ(Refusal({file.flag()}), file.path() + ": lanes 99 is not in [1, 32]");
  EXPECT_EQ(Refusal({"--queue-requests=2M"}), "--queue-requests 2M is not in [1, 1048576]");
}

TEST(ConfigTest, NumbersTakeSuffixes) {
  EXPECT_EQ(Parse({"--queue-requests=4k"})->config.queue_requests, 4000);
  EXPECT_EQ(Parse({"--queue-requests=1Mi"})->config.queue_requests, 1 << 20);
  EXPECT_EQ(Parse({}, {"BASEBANDD_CLIENT_SHARE=a=1k"})->config.client_share.at("a"), 1000);
}

TEST(ConfigTest, DurationsHaveAUnit) {
  EXPECT_EQ(Parse({"--drain=1min"})->config.drain_timeout, absl::Seconds(60));
  EXPECT_EQ(Parse({"--drain=1m30s"})->config.drain_timeout, absl::Seconds(90));
  EXPECT_EQ(Parse({"--watchdog=2000ms"})->config.watchdog, absl::Seconds(2));
  EXPECT_EQ(Parse({"--slow=0.5s"})->config.slow, absl::Milliseconds(500));
  EXPECT_EQ(Parse({}, {"BASEBANDD_MAX_QUEUE_DELAY=2ms"})->config.max_queue_delay,
            absl::Milliseconds(2));
  for (const char* const text : {"slow = 5s\n", "slow = \"5s\"\n"}) {
    const TemporaryFile file(text);
    EXPECT_EQ(Parse({file.flag()})->config.slow, absl::Seconds(5));
  }

  const TemporaryFile file("slow = 5\n");
  EXPECT_EQ(Refusal({file.flag()}),
            file.path() + ": slow 5: a duration needs a unit, as 5s or 5ms");
  EXPECT_EQ(Refusal({"--watchdog=0"}), "--watchdog 0: a duration needs a unit, as 0s or 0ms");
  EXPECT_EQ(Refusal({"--drain=soon"}), "--drain 'soon' is not a duration, such as 500us or 1.5s");
  EXPECT_EQ(Refusal({}, {"BASEBANDD_DRAIN=-1s"}),
            "BASEBANDD_DRAIN '-1s' is not a duration, such as 500us or 1.5s");
  EXPECT_EQ(Refusal({"--max-queue-delay=1000001us"}),
            "--max-queue-delay 1000001us is not in [0s, 1s]");
  EXPECT_EQ(Refusal({"--watchdog=1500ms"}),
            "--watchdog 1500ms is not in [0s, 24h]: it takes whole multiples of 1s");
}

// A suffix would be a second unit.
TEST(ConfigTest, MebibytesAreCountedWithoutASuffix) {
  EXPECT_EQ(Refusal({"--staging-mib=50k"}),
            "--staging-mib 50k is not in [1, 65536]: it takes whole MiB, without a unit");
  EXPECT_EQ(Refusal({}, {"BASEBANDD_QUEUE_MIB="}),
            "BASEBANDD_QUEUE_MIB '' is not in [1, 65536]: it takes whole MiB, without a unit");
}

TEST(ConfigTest, EveryNumberRefusesTheValuesBesideItsRange) {
  int durations = 0;
  for (const Setting& setting : Settings()) {
    const size_t dots = setting.value.find("..");
    if (dots == std::string::npos) continue;
    const std::string low = setting.value.substr(0, dots);
    const std::string high = setting.value.substr(dots + 2);
    const auto refusal = [&](const std::string& value) {
      return Refusal({(FlagOf(setting) + "=" + value).c_str()});
    };
    absl::Duration most;
    if (setting.is_text && absl::ParseDuration(high, &most)) {
      ++durations;
      const std::string value = absl::FormatDuration(most + absl::Seconds(1));
      EXPECT_EQ(refusal(value),
                FlagOf(setting) + " " + value + " is not in [" + low + ", " + high + "]");
      EXPECT_EQ(refusal(low), "accepted");
      continue;
    }
    for (const int64_t value : {std::stoll(low) - 1, std::stoll(high) + 1}) {
      EXPECT_EQ(refusal(std::to_string(value)), FlagOf(setting) + " " + std::to_string(value) +
                                                    " is not in [" + low + ", " + high + "]");
    }
  }
  EXPECT_EQ(durations, 11);
}

TEST(ConfigTest, PlainTcpOutsideTheHostNeedsAnExplicitWord) {
  for (const char* flag : {"--listen=0.0.0.0:1", "--listen=[::]:1", "--listen=192.0.2.1:1",
                           "--listen=gpu-host:1", "--listen=128.0.0.1:1"}) {
    EXPECT_THAT(Refusal({flag}), HasSubstr("allow_plaintext_network")) << flag;
    EXPECT_EQ(Refusal({flag, "--allow-plaintext-network"}), "accepted") << flag;
  }
  for (const char* flag : {"--listen=127.0.0.1:1", "--listen=127.1.2.3:1", "--listen=localhost:1",
                           "--listen=[::1]:1", "--listen=unix:/x", "--listen=unix:///x"}) {
    EXPECT_EQ(Refusal({flag}), "accepted") << flag;
  }
}

TEST(ConfigTest, WithACertificateTcpMayLeaveTheHost) {
  EXPECT_EQ(Refusal({"--listen=0.0.0.0:1", "--tls-cert=c", "--tls-key=k"}), "accepted");
  EXPECT_THAT(Refusal({"--tls-cert=c"}), HasSubstr("tls_cert needs tls_key"));
  EXPECT_THAT(Refusal({"--tls-key=k"}), HasSubstr("tls_key needs tls_cert"));
  EXPECT_THAT(Refusal({"--tls-client-ca=a", "--allow=user=*"}),
              HasSubstr("tls_client_ca needs tls_cert"));
}

TEST(ConfigTest, RulesThatNobodyCouldMeetAreRefused) {
  EXPECT_THAT(Refusal({"--tls-cert=c", "--tls-key=k", "--tls-client-ca=a"}),
              HasSubstr("tls_client_ca needs allow"));
  EXPECT_THAT(Refusal({"--allow=user=a.example"}), HasSubstr("it needs tls_client_ca"));
  EXPECT_EQ(Refusal({"--allow=user=uid:1000", "--allow=admin=gid:0"}), "accepted");
  EXPECT_THAT(Refusal({"--allow=user"}), HasSubstr("--allow user has no subject"));
  EXPECT_EQ(Refusal({}, {"BASEBANDD_ALLOW=user=uid:1,user=uid:2"}), "accepted");
  EXPECT_EQ(Refusal({"--allow=none"}), "accepted");
}

TEST(ConfigTest, TokensDoNotCrossANetworkInClearText) {
  const char* const tokens = "--tokens-file=t";
  EXPECT_EQ(Refusal({tokens}), "accepted");
  EXPECT_EQ(Refusal({tokens, "--listen=unix:/x"}), "accepted");
  EXPECT_THAT(Refusal({tokens, "--listen=0.0.0.0:1", "--allow-plaintext-network"}),
              HasSubstr("in clear text"));
  EXPECT_EQ(Refusal({tokens, "--listen=0.0.0.0:1", "--tls-cert=c", "--tls-key=k"}), "accepted");
}

TEST(ConfigTest, AdministrationLeavesTheHostWithClientCertificatesOnly) {
  const char* const far = "--admin-listen=0.0.0.0:1";
  EXPECT_EQ(Refusal({"--admin-listen=unix:/x"}), "accepted");
  EXPECT_EQ(Refusal({"--admin-listen=127.0.0.1:1"}), "accepted");
  EXPECT_THAT(Refusal({far, "--allow-plaintext-network"}), HasSubstr("needs tls_cert and"));
  EXPECT_THAT(Refusal({far, "--tls-cert=c", "--tls-key=k"}), HasSubstr("needs tls_cert and"));
  EXPECT_EQ(Refusal({far, "--tls-cert=c", "--tls-key=k", "--tls-client-ca=a", "--allow=admin=*"}),
            "accepted");
  EXPECT_THAT(Refusal({"--admin-listen=127.0.0.1:50151"}), HasSubstr("is taken"));
}

TEST(ConfigTest, ModesOfSocketsAreOctalAndTheOwners) {
  EXPECT_EQ(Parse({"--socket-mode=0660"})->config.socket_mode, 0660);
  EXPECT_EQ(Parse({"--socket-mode=600"})->config.socket_mode, 0600);
  for (const char* flag :
       {"--socket-mode=0888", "--socket-mode=0060", "--socket-mode=1777", "--socket-mode=rw"}) {
    EXPECT_THAT(Refusal({flag}), HasSubstr("octal mode in [0600, 0777]")) << flag;
  }
}

TEST(ConfigTest, WrongAddressesAreRefused) {
  EXPECT_THAT(Refusal({"--listen=localhost"}), HasSubstr("has no port"));
  EXPECT_THAT(Refusal({"--listen=localhost:65536"}), HasSubstr("not in [0, 65535]"));
  EXPECT_THAT(Refusal({"--listen=:1"}), HasSubstr("has no host"));
  EXPECT_THAT(Refusal({"--listen=::1:1"}), HasSubstr("[ADDRESS]:PORT"));
  EXPECT_THAT(Refusal({"--listen=unix:"}), HasSubstr("1 to 107 bytes"));
  EXPECT_THAT(Refusal({"--listen=unix-abstract:x"}), HasSubstr("no file permissions"));
  EXPECT_THAT(Refusal({"--listen=127.0.0.1:5", "--listen=127.0.0.1:5"}), HasSubstr("is taken"));
  EXPECT_THAT(Refusal({"--listen=127.0.0.1:9151"}), HasSubstr("is taken"));
}

TEST(ConfigTest, ClientShareGivesWeights) {
  const auto command = Parse({"--client-share=bbu-7=4", "--client-share=CN=cell=1000"});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_THAT(command->config.client_share, ElementsAre(Pair("CN=cell", 1000), Pair("bbu-7", 4)));
  EXPECT_EQ(Refusal({"--client-share=bbu-7=0"}),
            "--client-share bbu-7=0: weight 0 is not in [1, 1000]");
  EXPECT_EQ(Refusal({"--client-share=bbu-7"}), "--client-share bbu-7: expected CLIENT=WEIGHT");
}

TEST(ConfigTest, LimitsHaveToFitIntoEachOther) {
  EXPECT_THAT(Refusal({"--max-request-mib=65"}),
              HasSubstr("max_request_mib 65 is larger than lane_input_mib 64"));
  EXPECT_THAT(Refusal({"--queue-mib=63"}),
              HasSubstr("max_request_mib 64 is larger than queue_mib 63"));
  EXPECT_THAT(Refusal({"--staging-mib=63"}),
              HasSubstr("max_request_mib 64 is larger than staging_mib 63"));
  EXPECT_THAT(Refusal({"--staging-mib=64", "--lane-input-mib=128"}),
              HasSubstr("lane_input_mib 128 is larger than staging_mib 64"));
  EXPECT_THAT(Refusal({"--reply-mib=63"}),
              HasSubstr("lane_output_mib 64 is larger than reply_mib 63"));
  EXPECT_THAT(Refusal({"--grpc-mib=63"}),
              HasSubstr("max_request_mib 64 is larger than grpc_mib 63"));
}

}  // namespace
}  // namespace baseband::server
