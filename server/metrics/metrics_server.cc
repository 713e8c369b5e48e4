#include "server/metrics/metrics_server.h"

#include <spdlog/spdlog.h>
#include <zlib.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/config/address.h"
#include "server/config/log_limit.h"

namespace baseband::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMaxHeadBytes = 8 << 10;  // of a request
// Without descriptors there is nothing to do but wait.
constexpr auto kPause = std::chrono::milliseconds(100);

constexpr int kGzipWindow = 15 + 16;  // the largest, with gzip's header
constexpr int kGzipMemory = 8;        // zlib's default

constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";

using HttpRequest = http::request<http::empty_body>;
using HttpResponse = http::response<http::string_body>;

absl::string_view View(boost::string_view text) { return {text.data(), text.size()}; }

absl::optional<std::string> PasswordOf(const HttpRequest& request) {
  absl::string_view credentials = View(request[http::field::authorization]);
  std::string pair;
  if (!absl::ConsumePrefix(&credentials, "Basic ") || !absl::Base64Unescape(credentials, &pair)) {
    return absl::nullopt;
  }
  const size_t colon = pair.find(':');
  if (colon == std::string::npos) return absl::nullopt;
  return pair.substr(colon + 1);
}

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

// A page as it was at one moment.
struct Page {
  std::string text;
  std::string packed;  // empty: nobody takes it so
};

HttpResponse MakeAnswer(http::status status, std::string body, const char* type = kText) {
  HttpResponse response(status, 11, std::move(body));
  if (!response.body().empty()) response.set(http::field::content_type, type);
  return response;
}

HttpResponse AnswerOf(const std::string& why_not) {
  return why_not.empty() ? MakeAnswer(http::status::ok, "ok\n")
                         : MakeAnswer(http::status::service_unavailable, why_not + "\n");
}

// Whether somebody spoke, but not HTTP, or too much of it.
bool IsMalformed(error_code error) {
  return error.category() == http::make_error_code(http::error::bad_target).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

// A connection: its request is read, answered, and that is all. Used on the thread that answers.
class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket socket) : stream_(std::move(socket)), buffer_(kMaxHeadBytes) {
    parser_.header_limit(kMaxHeadBytes);
  }

  // `on_request` is called if there is one. Until Close, or `on_end`, it is there.
  void Start(std::function<void()> on_request, std::function<void()> on_end) {
    on_end_ = std::move(on_end);
    SetTime();
    http::async_read_header(
        stream_, buffer_, parser_,
        [self = shared_from_this(), call = std::move(on_request)](error_code error, size_t) {
          if (!error) return call();
          if (IsMalformed(error)) {
            return self->Reply(MakeAnswer(http::status::bad_request, "this is no HTTP request\n"));
          }
          self->Close();
        });
  }

  const HttpRequest& request() const { return parser_.get(); }
  bool takes_gzip() const {
    return absl::StrContains(View(request()[http::field::accept_encoding]), "gzip");
  }

  void Reply(HttpResponse response) {
    response.set(http::field::cache_control, "no-store");
    response.keep_alive(false);
    response.content_length(response.body().size());
    if (request().method() == http::verb::head) response.body().clear();
    response_ = std::move(response);
    SetTime();
    http::async_write(stream_, response_, [self = shared_from_this()](error_code error, size_t) {
      error_code ignored;
      if (!error) self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
      error ? self->Close() : self->AwaitEnd();
    });
  }

  void Close() {
    stream_.close();
    if (on_end_ != nullptr) std::exchange(on_end_, nullptr)();
  }

 private:
  void SetTime() { stream_.expires_after(absl::ToChronoMilliseconds(MetricsServer::kPatience)); }

  // A connection that is closed while something is still to be read is reset, and its answer lost.
  void AwaitEnd() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kMaxHeadBytes),
                            [self = shared_from_this()](error_code error, size_t) {
                              error ? self->Close() : self->AwaitEnd();
                            });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  HttpResponse response_;
  std::function<void()> on_end_;
};
using SessionPtr = std::shared_ptr<Session>;

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

  absl::Status Listen(const Address& address) {
    error_code error;
    tcp::resolver resolver(io_);
    const auto found =
        resolver.resolve(address.host, absl::StrCat(address.port), tcp::resolver::passive, error);
    if (error) return absl::UnavailableError(error.message());
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    return error ? absl::UnavailableError(error.message()) : absl::OkStatus();
  }

  void Start() {
    Accept();
    answers_ = std::thread([this] { io_.run(); });
    renders_ = std::thread([this] { Render(); });
  }

  int port() const {
    error_code error;
    return acceptor_.local_endpoint(error).port();
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) {
        Serve(std::move(socket));
        return Accept();
      }
      pause_.expires_after(kPause);
      pause_.async_wait([this](error_code) { Accept(); });
    });
  }

  void Serve(tcp::socket socket) {
    const auto session = std::make_shared<Session>(std::move(socket));
    const auto place = sessions_.insert(sessions_.end(), session);
    session->Start([this, session] { Answer(session); }, [this, place] { sessions_.erase(place); });
    if (sessions_.size() <= kMaxConnections) return;
    SessionPtr(sessions_.front())->Close();
    if (const auto others = too_many_.Pass(SteadyNow()); others.has_value()) {
      spdlog::warn("metrics_listen: closed the oldest of more than {} connections ({} more before)",
                   kMaxConnections, *others);
    }
  }

  void Answer(const SessionPtr& session) {
    const HttpRequest& request = session->request();
    const absl::string_view target = View(request.target());
    const absl::string_view path = target.substr(0, target.find('?'));
    const Probe* const probe = path == "/livez"    ? &probes_.live
                               : path == "/readyz" ? &probes_.ready
                                                   : nullptr;
    if (probe == nullptr && path != "/metrics") {
      return session->Reply(
          MakeAnswer(http::status::not_found, "/metrics, /livez and /readyz are here\n"));
    }
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      HttpResponse response = MakeAnswer(http::status::method_not_allowed, "");
      response.set(http::field::allow, "GET, HEAD");
      return session->Reply(std::move(response));
    }
    if (probe != nullptr) return session->Reply(AnswerOf(*probe == nullptr ? "" : (*probe)()));
    if (admit_ != nullptr) {
      const absl::optional<std::string> password = PasswordOf(request);
      if (!password.has_value() || !admit_(*password)) {
        HttpResponse response = MakeAnswer(http::status::unauthorized, "");
        response.set(http::field::www_authenticate, "Basic realm=\"basebandd\"");
        return session->Reply(std::move(response));
      }
    }
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(session);
  }

  // Makes pages while there is somebody who wants one.
  void Render() {
    for (;;) {
      std::vector<SessionPtr> sessions;
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
      Page page;
      page.text = metrics_.Render();
      for (const SessionPtr& session : sessions) {
        if (session->takes_gzip() && page.packed.empty()) page.packed = Gzip(page.text);
      }
      asio::post(io_, [sessions = std::move(sessions), page = std::move(page)] {
        for (const SessionPtr& session : sessions) {
          const bool packed = session->takes_gzip() && !page.packed.empty();
          HttpResponse response =
              MakeAnswer(http::status::ok, packed ? page.packed : page.text, kMetricsText);
          if (packed) response.set(http::field::content_encoding, "gzip");
          session->Reply(std::move(response));
        }
      });
    }
  }

  const Metrics& metrics_;
  const Admit admit_;
  const Probes probes_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  std::list<SessionPtr> sessions_;  // the oldest first
  asio::steady_timer pause_{io_};
  LogLimit too_many_;

  absl::Mutex mutex_;
  std::vector<SessionPtr> waiting_ ABSL_GUARDED_BY(mutex_);  // for the page
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
