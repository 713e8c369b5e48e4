// One request and its answer on a connection that speaks HTTP. Internal to the metrics server.
#ifndef BASEBAND_SERVER_METRICS_HTTP_SESSION_H_
#define BASEBAND_SERVER_METRICS_HTTP_SESSION_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace baseband::server {

// What is said to somebody; a page is the same bytes for all.
struct HttpAnswer {
  boost::beast::http::status status = boost::beast::http::status::ok;
  std::shared_ptr<const std::string> body;
  const char* type = "text/plain; charset=utf-8";
  bool is_packed = false;  // by gzip
};

HttpAnswer TextAnswer(boost::beast::http::status status, std::string body);

// Used on the thread of its connection's executor alone; keeps itself alive while it waits for its
// client.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  enum class State { kAsks, kIsAnswered, kIsOver };  // over: it has had its answer

  // Closes itself when the request has not come after `patience`, and when its answer has not been
  // taken after it again.
  HttpSession(boost::asio::ip::tcp::socket socket, absl::Duration patience);

  // `on_request` is called if there is one. Until Close, or `on_end`, it is there.
  void Start(std::function<void()> on_request, std::function<void()> on_end);
  // Nothing if it is closed.
  void Reply(HttpAnswer answer);
  void Close();
  State state() const { return state_; }

  // The request, from `on_request` on and on any thread.
  boost::beast::http::verb method() const { return parser_.get().method(); }
  absl::string_view path() const;  // without its query
  // That of HTTP's basic authentication.
  absl::optional<std::string> password() const;
  // Whether the client wants "gzip" and has not given it the weight 0 (RFC 9110, 12.5.3).
  bool takes_gzip() const;

 private:
  using Request = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  using Response = boost::beast::http::response<boost::beast::http::span_body<const char>>;

  void SetTime();
  void AwaitEnd();

  const absl::Duration patience_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  Request parser_;
  State state_ = State::kAsks;
  std::shared_ptr<const std::string> body_;
  Response response_;
  size_t drained_ = 0;
  std::function<void()> on_end_;  // null: closed
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_HTTP_SESSION_H_
