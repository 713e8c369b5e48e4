// The C++ client of a `connection`.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_CONNECT_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_CONNECT_H_

#include <gnuradio/baseband_offload/connection.h>

#include <memory>
#include <string>

#include "client/cpp/client.h"
#include "client/gnuradio/lib/pipeline.h"

namespace gr::baseband_offload {

// Does not connect yet. Throws std::invalid_argument, as connection::check().
std::unique_ptr<Client> Connect(const connection& server);

PipelineLimits LimitsOf(const connection& server);

// Throws std::invalid_argument: `name` `value` is not in [low, high].
void CheckRange(const std::string& name, double value, double low, double high);

// "push_back" or "drop"
const char* ToString(failure_policy policy);

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_CONNECT_H_
