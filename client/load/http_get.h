// GET, for pages of metrics and of health.
#ifndef BASEBAND_CLIENT_LOAD_HTTP_GET_H_
#define BASEBAND_CLIENT_LOAD_HTTP_GET_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace baseband::load {

// InvalidArgument if `url` has not the form "http://HOST:PORT/PATH".
absl::Status CheckUrl(const std::string& url);

struct HttpAnswer {
  int status = 0;  // 200 if all is well
  std::string body;
};

// GET of "http://HOST:PORT/PATH"; /metrics if there is no path. With `password`, if it is not
// empty, by HTTP's basic authentication. No TLS, no redirects, no proxy. InvalidArgument for
// another form of address; Unavailable if the whole answer is not there within `timeout`, if it
// has more than 64 MiB, or if what answers does not speak HTTP/1, which it says: a gRPC port.
// Thread-safe.
absl::StatusOr<HttpAnswer> HttpGet(const std::string& url, absl::Duration timeout,
                                   const std::string& password = "");

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_HTTP_GET_H_
