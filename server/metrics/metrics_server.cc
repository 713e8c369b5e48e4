#include "server/metrics/metrics_server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <zlib.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <list>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/config/address.h"
#include "server/config/log_limit.h"
#include "server/metrics/http_session.h"

namespace baseband::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// Without descriptors there is nothing to do but wait.
constexpr auto kPause = std::chrono::milliseconds(100);

constexpr int kGzipWindow = 15 + 16;  // the largest, with gzip's header
constexpr int kGzipMemory = 8;        // zlib's default

constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";

// Empty if zlib has no memory for it.
std::string Gzip(absl::string_view text) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kGzipMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(whole ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

HttpAnswer ProbeAnswer(const std::string& why_not) {
  return why_not.empty() ? TextAnswer(http::status::ok, "ok\n")
                         : TextAnswer(http::status::service_unavailable, why_not + "\n");
}

using SessionPtr = std::shared_ptr<HttpSession>;

// Nobody who execs has a use for our sockets. Asio sets no such flag.
void CloseOnExec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

}  // namespace

class MetricsServer::Impl {
 public:
  Impl(const Metrics& metrics, Admit admit, Probes probes)
      : metrics_(metrics), admit_(std::move(admit)), probes_(std::move(probes)) {}
  ~Impl() {
    io_.stop();
    {
      absl::MutexLock lock(&mutex_);
      stops_ = true;
    }
    for (std::thread* const thread : {&answers_, &renders_}) {
      if (thread->joinable()) thread->join();
    }
  }

  // At all that the address means: a name may have one of each family.
  absl::Status Listen(const Address& address) {
    error_code error;
    tcp::resolver resolver(io_);
    const auto found =
        resolver.resolve(address.host, absl::StrCat(address.port), tcp::resolver::passive, error);
    if (error) return absl::UnavailableError(error.message());
    auto port = static_cast<uint16_t>(address.port);
    for (const auto& entry : found) {
      error = ListenAt({entry.endpoint().address(), port});
      const bool has_no_such_family =
          error == asio::error::address_family_not_supported || error.value() == EADDRNOTAVAIL;
      if (error && has_no_such_family && found.size() > 1) continue;
      if (error) return absl::UnavailableError(error.message());
      port = acceptors_.back().local_endpoint(error).port();
    }
    return acceptors_.empty() ? absl::UnavailableError(error.message()) : absl::OkStatus();
  }

  void Start() {
    for (tcp::acceptor& acceptor : acceptors_) Accept(acceptor);
    answers_ = std::thread([this] { io_.run(); });
    renders_ = std::thread([this] { Render(); });
  }

  int port() const {
    error_code error;
    return acceptors_.front().local_endpoint(error).port();
  }

 private:
  error_code ListenAt(const tcp::endpoint& endpoint) {
    error_code error;
    tcp::acceptor acceptor(io_);
    acceptor.open(endpoint.protocol(), error);
    if (error) return error;
    CloseOnExec(acceptor.native_handle());
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) acceptors_.push_back(std::move(acceptor));
    return error;
  }

  void Accept(tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](error_code error, tcp::socket socket) {
      if (!error) {
        Serve(std::move(socket));
        return Accept(acceptor);
      }
      if (const auto others = cannot_accept_.Pass(SteadyNow()); others.has_value()) {
        spdlog::warn(
            "metrics_listen: cannot accept connections, they wait: {} ({} times more"
            " before)",
            error.message(), *others);
      }
      const auto pause = std::make_shared<asio::steady_timer>(io_, kPause);
      pause->async_wait([this, &acceptor, pause](error_code) { Accept(acceptor); });
    });
  }

  void Serve(tcp::socket socket) {
    CloseOnExec(socket.native_handle());
    const auto session = std::make_shared<HttpSession>(std::move(socket), kPatience);
    const auto place = sessions_.insert(sessions_.end(), session);
    session->Start([this, session] { AnswerTo(session); }, [this, place] { Forget(place); });
    if (sessions_.size() <= kMaxConnections) return;
    Slowest()->Close();
    if (const auto others = too_many_.Pass(SteadyNow()); others.has_value()) {
      spdlog::warn(
          "metrics_listen: closed the slowest of more than {} connections ({} more before)",
          kMaxConnections, *others);
    }
  }

  void Forget(std::list<SessionPtr>::iterator place) {
    {
      absl::MutexLock lock(&mutex_);
      waiting_.remove(*place);
    }
    sessions_.erase(place);
  }

  // The oldest of those that are over, else of those who ask or of those who are answered,
  // whichever are more: neither who says nothing nor who reads nothing drives out who does.
  SessionPtr Slowest() const {
    using State = HttpSession::State;
    const auto count = [this](State state) {
      return std::count_if(sessions_.begin(), sessions_.end(), [state](const SessionPtr& session) {
        return session->state() == state;
      });
    };
    const State state = count(State::kIsOver) > 0                         ? State::kIsOver
                        : count(State::kAsks) > count(State::kIsAnswered) ? State::kAsks
                                                                          : State::kIsAnswered;
    return *std::find_if(sessions_.begin(), sessions_.end(),
                         [state](const SessionPtr& session) { return session->state() == state; });
  }

  void AnswerTo(const SessionPtr& session) {
    const absl::string_view path = session->path();
    const Probe* const probe = path == "/livez"    ? &probes_.live
                               : path == "/readyz" ? &probes_.ready
                                                   : nullptr;
    if (probe == nullptr && path != "/metrics") {
      return session->Reply(
          TextAnswer(http::status::not_found, "/metrics, /livez and /readyz are here\n"));
    }
    if (session->method() != http::verb::get && session->method() != http::verb::head) {
      return session->Reply(TextAnswer(http::status::method_not_allowed, ""));
    }
    if (probe != nullptr) return session->Reply(ProbeAnswer(*probe == nullptr ? "" : (*probe)()));
    if (admit_ != nullptr) {
      const absl::optional<std::string> password = session->password();
      if (!password.has_value() || !admit_(*password)) {
        return session->Reply(TextAnswer(http::status::unauthorized, ""));
      }
    }
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(session);
  }

  // Makes pages while there is somebody who wants one.
  void Render() {
    for (;;) {
      std::list<SessionPtr> sessions;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(
            +[](Impl* impl) ABSL_EXCLUSIVE_LOCKS_REQUIRED(impl->mutex_) {
              return impl->stops_ || !impl->waiting_.empty();
            },
            this));
        if (stops_) return;
        sessions.swap(waiting_);
      }
      HttpAnswer plain = TextAnswer(http::status::ok, metrics_.Render());
      plain.type = kMetricsText;
      HttpAnswer packed = plain;
      if (std::any_of(sessions.begin(), sessions.end(),
                      [](const SessionPtr& session) { return session->takes_gzip(); })) {
        std::string bytes = Gzip(*plain.body);
        packed.is_packed = !bytes.empty();
        if (packed.is_packed) packed.body = std::make_shared<const std::string>(std::move(bytes));
      }
      asio::post(io_, [=, sessions = std::move(sessions)] {
        for (const SessionPtr& session : sessions) {
          session->Reply(session->takes_gzip() ? packed : plain);
        }
      });
    }
  }

  const Metrics& metrics_;
  const Admit admit_;
  const Probes probes_;
  asio::io_context io_{1};
  std::list<tcp::acceptor> acceptors_;
  std::list<SessionPtr> sessions_;  // the oldest first
  LogLimit cannot_accept_;
  LogLimit too_many_;

  absl::Mutex mutex_;
  std::list<SessionPtr> waiting_ ABSL_GUARDED_BY(mutex_);  // for the page, none of them closed
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread answers_;
  std::thread renders_;
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address,
                                                                    const Metrics& metrics,
                                                                    Admit admit, Probes probes) {
  BASEBAND_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  auto impl = std::make_unique<Impl>(metrics, std::move(admit), std::move(probes));
  if (const absl::Status status = impl->Listen(parsed); !status.ok()) {
    return absl::UnavailableError(
        absl::StrCat("metrics_listen ", address, " cannot be had: ", status.message()));
  }
  impl->Start();
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

int MetricsServer::port() const { return impl_->port(); }

}  // namespace baseband::server
