#include "tests/fuzz/wire/honest_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

// Between two rounds of questions.
constexpr absl::Duration kPause = absl::Milliseconds(20);

client::ClientOptions OptionsFor(const std::string& target) {
  client::ClientOptions options;
  options.target = target;
  options.connections = 1;
  options.token = kHonestToken;
  return options;
}

client::ClientOptions WithoutRetries(client::ClientOptions options) {
  options.max_attempts = 1;
  return options;
}

client::CallOptions Patiently() {
  client::CallOptions options;
  options.timeout = absl::Minutes(5);  // whether it took too long is seen by the clock
  return options;
}

}  // namespace

HonestClient::HonestClient(const std::string& target, const std::string& pages,
                           std::function<absl::Duration()> patience)
    : options_(OptionsFor(target)),
      pages_(pages),
      patience_(std::move(patience)),
      client_(*client::Client::Create(WithoutRetries(options_))) {}

std::string HonestClient::AskAll() {
  std::string fault = Time("GetCapabilities", [this] {
    const auto answer = client_->GetCapabilities(Patiently());
    if (!answer.ok()) return answer.status().ToString();
    return std::string(answer->devices().empty() ? "it names no device" : "");
  });
  if (fault.empty()) fault = Time("Encode and Decode", [this] { return EncodeAndDecode(); });
  if (fault.empty()) {
    fault = Time("/livez", [this] {
      const int status = HttpAsk(pages_, "/livez").status;
      return status == 200 ? "" : absl::StrCat("HTTP status ", status);
    });
  }
  if (fault.empty()) fault = Time("a call of a new connection", [this] { return CallAnew(); });
  return fault;
}

std::string HonestClient::EncodeAndDecode() {
  const v1::EncodeRequest request = EncodeOf(NrCode(1, 16), 3);
  const auto words = client_->Encode(request, Patiently());
  if (!words.ok()) return words.status().ToString();
  const auto decoded = client_->Decode(DecodeOf(request, *words), Patiently());
  if (!decoded.ok()) return decoded.status().ToString();
  return decoded->payload() == request.payload() ? "" : "the decoded information differs";
}

std::string HonestClient::CallAnew() {
  // It may try again: where connections are used up, one that has not called yet may be ended.
  const auto client = client::Client::Create(options_);
  const auto health = (*client)->CheckHealth("", Patiently());
  if (!health.ok()) return health.status().ToString();
  return *health == client::Health::kServing ? "" : "it is not SERVING";
}

std::string HonestClient::Time(const char* what, const std::function<std::string()>& question) {
  const absl::Time start = SteadyNow();
  {
    absl::MutexLock lock(&mutex_);
    asked_ = what;
    asked_at_ = start;
  }
  std::string wrong = question();
  const absl::Duration took = SteadyNow() - start;
  ++answers_;
  absl::MutexLock lock(&mutex_);
  asked_ = nullptr;
  longest_ = std::max(longest_, took);
  if (wrong.empty() && took > patience_()) wrong = "late";
  if (wrong.empty()) return "";
  return absl::StrCat(what, ", after ", absl::FormatDuration(took), ": ", wrong);
}

void HonestClient::Start() {
  stop_ = false;
  thread_ = std::thread([this] {
    while (!stop_) {
      std::string fault = AskAll();
      if (!fault.empty()) {
        absl::MutexLock lock(&mutex_);
        fault_ = std::move(fault);
        return;
      }
      absl::SleepFor(kPause);
    }
  });
}

void HonestClient::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

std::string HonestClient::Fault() const {
  absl::MutexLock lock(&mutex_);
  if (!fault_.empty() || asked_ == nullptr) return fault_;
  const absl::Duration waits = SteadyNow() - asked_at_;
  return waits > patience_() ? absl::StrCat(asked_, ": no answer for ", absl::FormatDuration(waits))
                             : "";
}

absl::Duration HonestClient::TakeLongest() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(longest_, absl::ZeroDuration());
}

}  // namespace baseband::testing
