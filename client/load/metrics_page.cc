#include "client/load/metrics_page.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace baseband::load {
namespace {

constexpr size_t kMaxPageBytes = 64 << 20;

struct Url {
  std::string host;
  std::string port = "80";
  std::string path = "/metrics";
};

absl::StatusOr<Url> ParseUrl(const std::string& text) {
  Url url;
  absl::string_view rest = text;
  const bool http = absl::ConsumePrefix(&rest, "http://");
  const size_t slash = rest.find('/');
  if (slash != absl::string_view::npos && slash + 1 < rest.size()) {
    url.path = std::string(rest.substr(slash));
  }
  absl::string_view host = rest.substr(0, slash);
  const size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos && host.find(']', colon) == absl::string_view::npos) {
    url.port = std::string(host.substr(colon + 1));
    host = host.substr(0, colon);
  }
  absl::ConsumePrefix(&host, "[");
  absl::ConsumeSuffix(&host, "]");
  url.host = std::string(host);
  if (url.host.empty() || url.port.empty() || (!http && absl::StrContains(text, "://"))) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not http://HOST:PORT/PATH"));
  }
  return url;
}

// A connection that gives up after `timeout` of silence; -1 if there is none.
int Connect(const Url& url, absl::Duration timeout) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd < 0) continue;
    const timeval wait = absl::ToTimeval(timeout);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) return fd;
    close(fd);
  }
  return -1;
}

// All that the other side answers to `request`.
std::string Exchange(int fd, const std::string& request) {
  std::string answer;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    char buffer[16384];
    for (ssize_t n = 0;
         answer.size() < kMaxPageBytes && (n = read(fd, buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, static_cast<size_t>(n));
    }
  }
  return answer;
}

}  // namespace

absl::Status CheckUrl(const std::string& url) { return ParseUrl(url).status(); }

absl::StatusOr<HttpAnswer> HttpGet(const std::string& url, absl::Duration timeout,
                                   const std::string& password) {
  const absl::StatusOr<Url> parsed = ParseUrl(url);
  if (!parsed.ok()) return parsed.status();
  const int fd = Connect(*parsed, timeout);
  if (fd < 0) return absl::UnavailableError(absl::StrCat("cannot connect to ", url));
  const std::string who =
      password.empty()
          ? ""
          : absl::StrCat("Authorization: Basic ", absl::Base64Escape(":" + password), "\r\n");
  const std::string text = Exchange(
      fd,
      absl::StrCat("GET ", parsed->path, " HTTP/1.0\r\nHost: ", parsed->host, "\r\n", who, "\r\n"));
  close(fd);
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits("\r\n\r\n", 1));
  const std::vector<absl::string_view> status =
      absl::StrSplit(parts.first.substr(0, parts.first.find('\r')), absl::MaxSplits(' ', 2));
  HttpAnswer answer;
  if (status.size() < 2 || !absl::StartsWith(status[0], "HTTP/") ||
      !absl::SimpleAtoi(status[1], &answer.status)) {
    return absl::UnavailableError(absl::StrCat(url, " gave no answer"));
  }
  answer.body = std::string(parts.second);
  return answer;
}

absl::StatusOr<MetricsPage> FetchMetrics(const std::string& url, absl::Duration timeout,
                                         const std::string& password) {
  const absl::StatusOr<HttpAnswer> answer = HttpGet(url, timeout, password);
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) {
    return absl::UnavailableError(
        absl::StrCat(url, " answered with status ", answer->status, ", not with a page"));
  }
  return ParseMetrics(answer->body);
}

MetricsPage ParseMetrics(absl::string_view text) {
  MetricsPage page;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    // A label's value may hold blanks: the series ends with its brace, if it has one.
    const size_t brace = line.rfind('}');
    const size_t end = brace != absl::string_view::npos ? brace + 1 : line.find(' ');
    if (end == absl::string_view::npos) continue;
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(line.substr(end), ' ', absl::SkipEmpty());
    double value = 0;
    if (!numbers.empty() && absl::SimpleAtod(numbers[0], &value) && std::isfinite(value)) {
      page[std::string(line.substr(0, end))] = value;
    }
  }
  return page;
}

bool Counts(absl::string_view series) {
  const absl::string_view name = series.substr(0, series.find('{'));
  return absl::EndsWith(name, "_total") || absl::EndsWith(name, "_sum") ||
         absl::EndsWith(name, "_count") || absl::EndsWith(name, "_bucket");
}

MetricsPage Since(const MetricsPage& before, const MetricsPage& now) {
  MetricsPage since = now;
  for (auto& [series, value] : since) {
    const auto old = before.find(series);
    if (old != before.end() && Counts(series)) value -= old->second;
  }
  return since;
}

std::string LabelOf(absl::string_view series, absl::string_view label) {
  for (const char before : {'{', ','}) {
    const std::string start = absl::StrCat(std::string(1, before), label, "=\"");
    const size_t found = series.find(start);
    if (found == absl::string_view::npos) continue;
    const absl::string_view rest = series.substr(found + start.size());
    return std::string(rest.substr(0, rest.find('"')));
  }
  return "";
}

double Sum(const MetricsPage& page, absl::string_view name, absl::string_view label) {
  double sum = 0;
  for (auto at = page.lower_bound(std::string(name));
       at != page.end() && absl::StartsWith(at->first, name); ++at) {
    const absl::string_view labels = absl::string_view(at->first).substr(name.size());
    if ((labels.empty() || labels.front() == '{') && absl::StrContains(labels, label)) {
      sum += at->second;
    }
  }
  return sum;
}

}  // namespace baseband::load
