#include "server/metrics/http_session.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace baseband::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMaxHeadBytes = 8 << 10;  // of a request
constexpr size_t kMaxDrained = 64 << 10;   // of what comes after it

absl::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// Whether somebody spoke, but not HTTP, or too much of it.
bool IsMalformed(error_code error) {
  return error.category() == http::make_error_code(http::error::bad_target).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

}  // namespace

HttpAnswer TextAnswer(http::status status, std::string body) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::make_shared<const std::string>(std::move(body));
  return answer;
}

HttpSession::HttpSession(tcp::socket socket, absl::Duration patience)
    : patience_(patience), stream_(std::move(socket)), buffer_(kMaxHeadBytes) {
  parser_.header_limit(kMaxHeadBytes);
  parser_.body_limit(std::numeric_limits<uint64_t>::max());  // nothing of it is read
}

void HttpSession::Start(std::function<void()> on_request, std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  SetTime();
  http::async_read_header(
      stream_, buffer_, parser_,
      [self = shared_from_this(), call = std::move(on_request)](error_code error, size_t) {
        self->state_ = State::kIsAnswered;
        if (!error) return call();
        if (IsMalformed(error)) {
          return self->Reply(TextAnswer(http::status::bad_request, "this is no HTTP request\n"));
        }
        self->Close();
      });
}

void HttpSession::Reply(HttpAnswer answer) {
  if (on_end_ == nullptr) return;
  body_ = std::move(answer.body);
  response_.result(answer.status);
  if (!body_->empty()) response_.set(http::field::content_type, answer.type);
  if (answer.is_packed) response_.set(http::field::content_encoding, "gzip");
  if (answer.status == http::status::method_not_allowed) {
    response_.set(http::field::allow, "GET, HEAD");
  }
  if (answer.status == http::status::unauthorized) {
    response_.set(http::field::www_authenticate, "Basic realm=\"basebandd\"");
  }
  response_.set(http::field::cache_control, "no-store");
  response_.keep_alive(false);
  response_.content_length(body_->size());
  if (method() != http::verb::head) response_.body() = {body_->data(), body_->size()};
  SetTime();
  http::async_write(stream_, response_, [self = shared_from_this()](error_code error, size_t) {
    if (error) return self->Close();
    self->state_ = State::kIsOver;
    error_code ignored;
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    self->AwaitEnd();
  });
}

void HttpSession::Close() {
  stream_.close();
  if (on_end_ != nullptr) std::exchange(on_end_, nullptr)();
}

absl::string_view HttpSession::path() const {
  const absl::string_view target = View(parser_.get().target());
  return target.substr(0, target.find('?'));
}

absl::optional<std::string> HttpSession::password() const {
  constexpr absl::string_view kScheme = "Basic ";
  const absl::string_view credentials = View(parser_.get()[http::field::authorization]);
  std::string pair;
  if (!absl::StartsWithIgnoreCase(credentials, kScheme) ||
      !absl::Base64Unescape(credentials.substr(kScheme.size()), &pair)) {
    return absl::nullopt;
  }
  const size_t colon = pair.find(':');
  if (colon == std::string::npos) return absl::nullopt;
  return pair.substr(colon + 1);
}

bool HttpSession::takes_gzip() const {
  const auto fields = parser_.get().equal_range(http::field::accept_encoding);
  for (auto field = fields.first; field != fields.second; ++field) {
    for (const auto& [coding, parameters] : http::ext_list(field->value())) {
      if (!beast::iequals(coding, "gzip")) continue;
      double weight = 1.0;
      for (const auto& [name, value] : parameters) {
        if (beast::iequals(name, "q") && !absl::SimpleAtod(View(value), &weight)) weight = 0.0;
      }
      return weight > 0.0;
    }
  }
  return false;
}

void HttpSession::SetTime() { stream_.expires_after(absl::ToChronoMilliseconds(patience_)); }

// A connection that is closed while something is still to be read is reset, and its answer lost.
// Who never stops sending has no right to it: the time alone would not end that, for a read that
// always finds something never waits.
void HttpSession::AwaitEnd() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kMaxHeadBytes),
                          [self = shared_from_this()](error_code error, size_t size) {
                            self->drained_ += size;
                            const bool ends = error || self->drained_ > kMaxDrained;
                            ends ? self->Close() : self->AwaitEnd();
                          });
}

}  // namespace baseband::server
