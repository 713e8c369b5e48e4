#include "client/ctl/operate/top_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/strip.h"

namespace baseband::ctl {
namespace {

Json OrNull(const Figure& figure) { return figure.has_value() ? Json(*figure) : Json(); }

Json ToJson(const std::vector<NamedFigure>& figures) {
  Json json = Json::object();
  for (const NamedFigure& figure : figures) {
    json[figure.name] = figure.value;
  }
  return json;
}

Json ToJson(const RpcFigures& rpc) {
  return {{"rpc", rpc.rpc},
          {"requests_per_s", OrNull(rpc.requests)},
          {"unserved_per_s", OrNull(rpc.unserved)},
          {"unserved_reason", rpc.unserved_reason},
          {"p50_s", OrNull(rpc.p50)},
          {"p99_s", OrNull(rpc.p99)},
          {"batch_requests", OrNull(rpc.batch_requests)},
          {"in_flight", OrNull(rpc.in_flight)},
          {"bler", OrNull(rpc.bler)},
          {"harq_lost", OrNull(rpc.harq_lost)},
          {"work", OrNull(rpc.work)},
          {"work_unit", rpc.unit}};
}

Json ToJson(const DeviceFigures& device) {
  return {{"device", device.device},
          {"name", device.name},
          {"healthy", device.healthy},
          {"lanes_busy_ratio", OrNull(device.lanes_busy)},
          {"utilization_ratio", OrNull(device.utilization)},
          {"memory_used_bytes", OrNull(device.memory_used)},
          {"memory_total_bytes", OrNull(device.memory_total)},
          {"temperature_celsius", OrNull(device.celsius)},
          {"power_watts", OrNull(device.watts)},
          {"power_limit_watts", OrNull(device.watts_limit)},
          {"throttled", device.throttled}};
}

// Adds what servers and their total have in common.
void AddFigures(const PageRates& rates, Json* json) {
  const ServerFigures figures = ToServerFigures(rates);
  Json& to = *json;
  to["requests_per_s"] = OrNull(figures.requests);
  to["information_bits_per_s"] = OrNull(figures.information_bits);
  to["bler"] = OrNull(figures.bler);
  to["p50_s"] = OrNull(figures.p50);
  to["p99_s"] = OrNull(figures.p99);
  to["deadlines_missed_per_s"] = OrNull(figures.deadlines_missed);
  to["unserved_per_s"] = OrNull(figures.unserved);
  to["unserved_reason"] = figures.unserved_reason;
  to["queue_requests"] = OrNull(figures.queue_requests);
  to["queue_oldest_age_s"] = OrNull(figures.oldest_age);
  to["batch_requests"] = OrNull(figures.batch_requests);
  to["lanes_busy"] = OrNull(figures.lanes_busy);
  to["lanes"] = OrNull(figures.lanes);
  to["connections"] = OrNull(figures.connections);
  to["rings"] = OrNull(figures.rings);
  to["shared_memory_regions"] = OrNull(figures.shared_regions);
  to["shared_memory_in_bytes_per_s"] = OrNull(figures.shared_in);
  to["shared_memory_out_bytes_per_s"] = OrNull(figures.shared_out);
  to["memory_bytes"] = OrNull(figures.memory_bytes);
  to["pools_used_ratio"] = ToJson(figures.pools);
  to["rpcs"] = Json::array();
  for (const RpcFigures& rpc : ToRpcFigures(rates)) {
    to["rpcs"].push_back(ToJson(rpc));
  }
  to["client_device_seconds_per_s"] = ToJson(ToClientFigures(rates));
}

}  // namespace

TopModel::TopModel(const std::vector<std::string>& urls) {
  for (const std::string& url : urls) {
    absl::string_view name = url;
    absl::ConsumePrefix(&name, "http://");
    absl::ConsumeSuffix(&name, "/metrics");
    TopServer server;
    server.name = std::string(name);
    server.last.time = server.state_since = absl::InfinitePast();
    servers_.push_back(std::move(server));
  }
}

void TopModel::Add(std::vector<Sample> samples) {
  for (size_t i = 0; i < servers_.size(); ++i) {
    TopServer& server = servers_[i];
    Sample& sample = samples[i];
    if (sample.time <= server.last.time) {
      continue;
    }
    const bool had_page = !server.last.page.empty();
    server.rates = RatesBetween(had_page ? &server.last.page : nullptr, sample.page,
                                sample.time - server.last.time);
    if (sample.state != server.last.state) {
      server.state_since = sample.time;
    }
    server.last = std::move(sample);
  }
}

PageRates TopModel::Everything() const {
  std::vector<const PageRates*> rates;
  for (const TopServer& server : servers_) {
    rates.push_back(&server.rates);
  }
  return Together(rates);
}

int TopModel::CountServing() const {
  return static_cast<int>(std::count_if(
      servers_.begin(), servers_.end(),
      [](const TopServer& server) { return server.last.state == ServerState::kServing; }));
}

Json ToJson(const TopModel& model, absl::Time now) {
  Json json;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", now, absl::UTCTimeZone());
  json["servers"] = Json::array();
  for (const TopServer& server : model.servers()) {
    Json one;
    one["name"] = server.name;
    one["state"] = NameOf(server.last.state);
    one["why"] = server.last.why;
    one["version"] = VersionOf(server.last.page);
    one["uptime_s"] = OrNull(UptimeSeconds(server.last.page, now));
    AddFigures(server.rates, &one);
    one["devices"] = Json::array();
    for (const DeviceFigures& device : ToDeviceFigures(server.rates)) {
      one["devices"].push_back(ToJson(device));
    }
    json["servers"].push_back(std::move(one));
  }
  AddFigures(model.Everything(), &json["total"]);
  return json;
}

}  // namespace baseband::ctl
