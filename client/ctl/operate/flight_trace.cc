#include "client/ctl/operate/flight_trace.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using Json = nlohmann::ordered_json;

enum Process { kRequests = 1, kDevices = 2 };

struct Slice {
  int64_t begin_ns;
  int64_t end_ns;
  int depth;  // 0: in no other
  Process process;
  int track;
  std::string name;
  Json args;
};

class Trace {
 public:
  explicit Trace(const v1::GetFlightRecordsResponse& records) {
    std::vector<const v1::FlightRecord*> sorted;
    for (const v1::FlightRecord& record : records.records()) sorted.push_back(&record);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
      return a->arrived_ns() < b->arrived_ns();
    });
    for (const v1::FlightRecord* record : sorted) AddRequest(*record);
    AddBatches(sorted);
    std::stable_sort(slices_.begin(), slices_.end(), [](const Slice& a, const Slice& b) {
      return std::tie(a.begin_ns, a.depth) < std::tie(b.begin_ns, b.depth);
    });
  }

  std::string ToText() const {
    Json events = Json::array();
    events.push_back(Name("process_name", kRequests, 0, "requests"));
    events.push_back(Name("process_name", kDevices, 0, "devices"));
    for (const auto& [track, name] : track_names_) {
      events.push_back(Name("thread_name", track.first, track.second, name));
    }
    int64_t zero_ns = std::numeric_limits<int64_t>::max();
    for (const Slice& slice : slices_) zero_ns = std::min(zero_ns, slice.begin_ns);
    for (const Slice& slice : slices_) {
      Json event = {{"name", slice.name},
                    {"ph", "X"},
                    {"ts", static_cast<double>(slice.begin_ns - zero_ns) / 1e3},
                    {"dur", static_cast<double>(slice.end_ns - slice.begin_ns) / 1e3},
                    {"pid", static_cast<int>(slice.process)},
                    {"tid", slice.track}};
      if (!slice.args.empty()) event["args"] = slice.args;
      events.push_back(std::move(event));
    }
    return Json{{"displayTimeUnit", "ns"},
                {"otherData", {{"zero_unix_ns", std::to_string(slices_.empty() ? 0 : zero_ns)}}},
                {"traceEvents", std::move(events)}}
        .dump(1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  static Json Name(const char* what, Process process, int track, const std::string& name) {
    return {{"name", what},
            {"ph", "M"},
            {"pid", static_cast<int>(process)},
            {"tid", track},
            {"args", {{"name", name}}}};
  }

  // The slice `name` in `parent`, from where the last one in it ended. A moment of 0 never came.
  void AddStage(const std::string& name, int64_t begin_ns, int64_t end_ns, const Slice& parent,
                int64_t* last_ns, Json args = {}) {
    if (begin_ns == 0 || end_ns == 0) return;
    begin_ns = std::clamp(begin_ns, *last_ns, parent.end_ns);
    end_ns = std::clamp(end_ns, begin_ns, parent.end_ns);
    *last_ns = end_ns;
    slices_.push_back(
        {begin_ns, end_ns, parent.depth + 1, parent.process, parent.track, name, std::move(args)});
  }

  // What the device did of `batch`.
  void AddDeviceStages(const v1::FlightRecord& record, const Slice& batch) {
    int64_t last_ns = batch.begin_ns;
    int64_t end_ns = batch.begin_ns;
    const std::pair<const char*, int64_t> stages[] = {{"copy in", record.copy_in_ns()},
                                                      {"h2d", record.h2d_ns()},
                                                      {"kernel", record.kernel_ns()},
                                                      {"d2h", record.d2h_ns()}};
    for (const auto& [name, time_ns] : stages) {
      end_ns += time_ns;
      if (time_ns > 0) AddStage(name, last_ns, end_ns, batch, &last_ns);
    }
  }

  void AddRequest(const v1::FlightRecord& record) {
    const int64_t begin_ns = record.arrived_ns();
    const int64_t end_ns = std::max(begin_ns, record.finished_ns());
    Json args = {{"client", record.client()},
                 {"priority", record.priority()},
                 {"reason", v1::FlightRecord::Reason_Name(record.reason())},
                 {"code", record.code()}};
    if (!record.message().empty()) args["message"] = record.message();
    if (!record.request_id().empty()) args["request_id"] = record.request_id();
    if (record.deadline_ns() != 0) {
      args["deadline_us"] = static_cast<double>(record.deadline_ns() - begin_ns) / 1e3;
    }
    const Slice request = {begin_ns,     end_ns,         0, kRequests, TrackFor(record, end_ns),
                           record.rpc(), std::move(args)};
    slices_.push_back(request);
    const int64_t left_ns = record.started_ns() != 0 ? record.started_ns() : record.answered_ns();
    int64_t last_ns = begin_ns;
    AddStage("receive", record.received_ns(), record.submitted_ns(), request, &last_ns);
    AddStage("queue", record.submitted_ns(), left_ns, request, &last_ns);
    if (!record.device().empty()) {
      AddStage(absl::StrCat(record.device(), " lane ", record.lane()), record.started_ns(),
               record.ended_ns(), request, &last_ns, BatchArgs(record));
      if (slices_.back().depth == 1) AddDeviceStages(record, Slice(slices_.back()));
    }
    AddStage("reply", record.answered_ns(), record.finished_ns(), request, &last_ns);
  }

  static Json BatchArgs(const v1::FlightRecord& record) {
    return {{"blocks", record.batch_blocks()}, {"requests", record.batch_requests()}};
  }

  // The first track of its client and RPC that is free from its arrival on.
  int TrackFor(const v1::FlightRecord& record, int64_t end_ns) {
    std::vector<std::pair<int, int64_t>>& rows = rows_[{record.client(), record.rpc()}];
    for (auto& [track, busy_until_ns] : rows) {
      if (busy_until_ns <= record.arrived_ns()) {
        busy_until_ns = end_ns;
        return track;
      }
    }
    const int track = ++last_track_;
    rows.emplace_back(track, end_ns);
    track_names_[{kRequests, track}] = absl::StrCat(record.client(), " ", record.rpc());
    return track;
  }

  // Of a batch several records may tell.
  void AddBatches(std::vector<const v1::FlightRecord*> records) {
    std::stable_sort(records.begin(), records.end(), [](const auto* a, const auto* b) {
      return a->started_ns() < b->started_ns();
    });
    std::set<std::tuple<std::string, uint32_t, int64_t>> seen;
    std::map<std::string, std::pair<int, int64_t>> lanes;  // track, busy until
    for (const v1::FlightRecord* record : records) {
      if (record->device().empty() || record->started_ns() == 0 || record->ended_ns() == 0 ||
          !seen.emplace(record->device(), record->lane(), record->started_ns()).second) {
        continue;
      }
      const std::string name = absl::StrCat(record->device(), " lane ", record->lane());
      auto [lane, is_new] = lanes.try_emplace(name, 0, 0);
      auto& [track, busy_until_ns] = lane->second;
      if (is_new) {
        track = ++last_track_;
        track_names_[{kDevices, track}] = name;
      }
      const int64_t begin_ns = std::max(record->started_ns(), busy_until_ns);
      busy_until_ns = std::max(begin_ns, record->ended_ns());
      const Slice batch = {begin_ns,          busy_until_ns, 0,
                           kDevices,          track,         absl::StrCat(record->rpc(), " batch"),
                           BatchArgs(*record)};
      slices_.push_back(batch);
      AddDeviceStages(*record, batch);
    }
  }

  std::vector<Slice> slices_;
  std::map<std::pair<Process, int>, std::string> track_names_;
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<int, int64_t>>> rows_;
  int last_track_ = 0;
};

}  // namespace

std::string ToTrace(const v1::GetFlightRecordsResponse& records) { return Trace(records).ToText(); }

}  // namespace baseband::ctl
