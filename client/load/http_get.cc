#include "client/load/http_get.h"

#include <curl/curl.h>

#include <memory>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace baseband::load {
namespace {

constexpr size_t kMaxPageBytes = 64 << 20;

// `text` as libcurl writes it: with its scheme, and a path.
absl::StatusOr<std::string> FullUrl(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  const auto part = [&](CURLUPart which) {
    char* value = nullptr;
    curl_url_get(url.get(), which, &value, 0);
    const std::unique_ptr<char, decltype(&curl_free)> owner(value, &curl_free);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string full = absl::StrContains(text, "://") ? text : absl::StrCat("http://", text);
  if (curl_url_set(url.get(), CURLUPART_URL, full.c_str(), 0) != CURLUE_OK ||
      part(CURLUPART_SCHEME) != "http" || part(CURLUPART_HOST).empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not http://HOST:PORT/PATH"));
  }
  if (part(CURLUPART_PATH) == "/") {
    curl_url_set(url.get(), CURLUPART_PATH, "/metrics", 0);
  }
  return part(CURLUPART_URL);
}

size_t Append(const char* bytes, size_t size, size_t count, void* body) {
  std::string& all = *static_cast<std::string*>(body);
  all.append(bytes, size * count);
  return all.size() <= kMaxPageBytes ? size * count : 0;  // else it gives up
}

}  // namespace

absl::Status CheckUrl(const std::string& url) { return FullUrl(url).status(); }

absl::StatusOr<HttpAnswer> HttpGet(const std::string& url, absl::Duration timeout,
                                   const std::string& password) {
  const absl::StatusOr<std::string> full = FullUrl(url);
  if (!full.ok()) return full.status();
  static std::once_flag initialised;
  std::call_once(initialised, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> get(curl_easy_init(),
                                                                &curl_easy_cleanup);
  if (get == nullptr) return absl::UnavailableError(absl::StrCat("cannot ask ", url));
  HttpAnswer answer;
  curl_easy_setopt(get.get(), CURLOPT_URL, full->c_str());
  curl_easy_setopt(get.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(get.get(), CURLOPT_NOSIGNAL, 1L);  // threads
  curl_easy_setopt(get.get(), CURLOPT_TIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(timeout)));
  curl_easy_setopt(get.get(), CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(get.get(), CURLOPT_WRITEDATA, &answer.body);
  if (!password.empty()) {
    curl_easy_setopt(get.get(), CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(get.get(), CURLOPT_USERNAME, "");
    curl_easy_setopt(get.get(), CURLOPT_PASSWORD, password.c_str());
  }
  const CURLcode code = curl_easy_perform(get.get());
  if (code != CURLE_OK) {
    // curl takes the frames of HTTP/2, by which a gRPC server begins, for HTTP/0.9.
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY) {
      return absl::UnavailableError(absl::StrCat(
          url,
          " gave no answer of the web: what is there speaks another protocol, as gRPC at a server's"
          " --listen; its metrics are at its --metrics-listen, port 9151 as a rule"));
    }
    const bool connected = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST;
    return absl::UnavailableError(
        connected ? absl::StrCat(url, " gave no answer: ", curl_easy_strerror(code))
                  : absl::StrCat("cannot connect to ", url));
  }
  long status = 0;
  curl_easy_getinfo(get.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace baseband::load
