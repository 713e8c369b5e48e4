#include "client/ctl/operate/top_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"

namespace baseband::ctl {
namespace {

constexpr size_t kMaxClients = 8;

struct Column {
  std::string head;
  bool right;
  int rank;  // where there is no room, the columns of the highest rank go first; 0: stays
};
struct Row {
  std::vector<std::string> cells;
  LineStyle style = LineStyle::kPlain;
  std::string note;  // after the last cell
};

// The lines of a table that is no wider than `width`, if leaving columns out can do that.
std::vector<Line> Fit(std::vector<Column> columns, std::vector<Row> rows, int width) {
  while (true) {
    std::vector<TextTable::Column> heads;
    for (const Column& column : columns) {
      heads.push_back({column.head, column.right});
    }
    TextTable table(std::move(heads));
    for (const Row& row : rows) {
      table.Add(row.cells);
    }
    const std::vector<std::string> texts =
        absl::StrSplit(table.ToText(), '\n', absl::SkipWhitespace());
    size_t widest = 0;
    for (const std::string& text : texts) {
      widest = std::max(widest, text.size() + 1);
    }
    const auto victim =
        std::max_element(columns.begin(), columns.end(),
                         [](const Column& a, const Column& b) { return a.rank < b.rank; });
    if (static_cast<int>(widest) > width && victim->rank > 0) {
      const auto at = victim - columns.begin();
      columns.erase(victim);
      for (Row& row : rows) {
        row.cells.erase(row.cells.begin() + at);
      }
      continue;
    }
    std::vector<Line> lines = {{absl::StrCat(" ", texts[0]), LineStyle::kHead}};
    for (size_t i = 0; i < rows.size(); ++i) {
      lines.push_back({absl::StrCat(" ", texts[i + 1], rows[i].note), rows[i].style});
    }
    return lines;
  }
}

template <typename Format>
std::string Show(const Figure& figure, Format format) {
  return figure.has_value() ? std::string(format(*figure)) : "";
}
std::string Count(const Figure& figure) {
  return Show(figure, [](double value) {
    return value < 10 ? absl::StrFormat("%.*f", value == std::floor(value) ? 0 : 1, value)
                      : HumanCount(std::round(value));
  });
}
std::string Time(const Figure& figure) {
  return Show(figure, [](double s) { return HumanDuration(absl::Seconds(s)); });
}
std::string Bytes(const Figure& figure) { return Show(figure, HumanBytes); }
std::string Percent(const Figure& figure) {
  return Show(figure, [](double ratio) { return absl::StrFormat("%.0f %%", 100 * ratio); });
}
std::string Bler(const Figure& figure) {
  return Show(figure, [](double ratio) { return absl::StrFormat("%.2g", ratio); });
}
std::string Of(const std::string& part, const std::string& whole) {
  return part.empty() || whole.empty() ? part : absl::StrCat(part, " of ", whole);
}
std::string Because(const std::string& count, const std::string& cause) {
  return cause.empty() ? count : absl::StrCat(count, " ", cause);
}
std::string Bar(const Figure& figure) {
  return Show(figure, [](double ratio) {
    constexpr int kWidth = 12;
    const int full = static_cast<int>(std::lround(std::clamp(ratio, 0.0, 1.0) * kWidth));
    return absl::StrFormat("[%s%s] %3.0f %%", std::string(static_cast<size_t>(full), '#'),
                           std::string(static_cast<size_t>(kWidth - full), '.'), 100 * ratio);
  });
}

// "3 d 4 h", "12 min 5 s".
std::string LongTime(const Figure& figure) {
  return Show(figure, [](double value) {
    const auto seconds = static_cast<int64_t>(value);
    return seconds < 60      ? absl::StrFormat("%d s", seconds)
           : seconds < 3600  ? absl::StrFormat("%d min %d s", seconds / 60, seconds % 60)
           : seconds < 86400 ? absl::StrFormat("%d h %d min", seconds / 3600, seconds / 60 % 60)
                             : absl::StrFormat("%d d %d h", seconds / 86400, seconds / 3600 % 24);
  });
}

const std::vector<Column>& ServerColumns() {
  static const auto& columns = *new std::vector<Column>{
      {"server", false, 0},  {"state", false, 0},  {"up", true, 6},         {"version", true, 9},
      {"req/s", true, 0},    {"goodput", true, 1}, {"BLER", true, 3},       {"p50", true, 3},
      {"p99", true, 0},      {"late/s", true, 2},  {"unserved/s", true, 0}, {"queue", true, 0},
      {"oldest", true, 4},   {"batch", true, 7},   {"lanes", true, 5},      {"conn", true, 8},
      {"staging", true, 10}, {"reply", true, 11},  {"memory", true, 12}};
  return columns;
}

Row ServerRow(const std::string& name, const std::string& state, const Figure& uptime,
              const std::string& version, const PageRates& rates) {
  const ServerFigures figures = ToServerFigures(rates);
  const auto pool = [&](const std::string& wanted) {
    for (const NamedFigure& used : figures.pools) {
      if (used.name == wanted) {
        return Percent(used.value);
      }
    }
    return std::string();
  };
  Row row;
  row.cells = {name,
               state,
               LongTime(uptime),
               version,
               Count(figures.requests),
               Show(figures.information_bits, HumanRate),
               Bler(figures.bler),
               Time(figures.p50),
               Time(figures.p99),
               Count(figures.deadlines_missed),
               Because(Count(figures.unserved), figures.unserved_reason),
               Count(figures.queue_requests),
               Time(figures.oldest_age),
               Count(figures.batch_requests),
               Of(Count(figures.lanes_busy), Count(figures.lanes)),
               Count(figures.connections),
               pool("staging"),
               pool("reply"),
               Bytes(figures.memory_bytes)};
  if (figures.deadlines_missed.value_or(0) > 0 || figures.unserved.value_or(0) > 0) {
    row.style = LineStyle::kWarning;
  }
  return row;
}

std::vector<Line> ServerLines(const TopModel& model, const TopView& view) {
  std::vector<Row> rows;
  for (const TopServer& server : model.servers()) {
    const ServerState state = server.last.state;
    Row row = ServerRow(server.name, NameOf(state), UptimeSeconds(server.last.page, view.now),
                        VersionOf(server.last.page), server.rates);
    if (state == ServerState::kStarting || state == ServerState::kDraining) {
      row.style = LineStyle::kWarning;
    } else if (state == ServerState::kNoDevice || state == ServerState::kUnreachable) {
      row.style = LineStyle::kBad;
    }
    if (state == ServerState::kUnreachable) {
      row.note =
          absl::StrCat(" for ", LongTime(absl::ToDoubleSeconds(view.steady - server.state_since)),
                       ": ", server.last.why);
    }
    if (static_cast<int>(rows.size()) == view.selected) {
      row.style = LineStyle::kSelected;
    }
    rows.push_back(std::move(row));
  }
  if (rows.size() > 1) {
    rows.push_back(ServerRow("all", absl::StrCat(model.CountServing(), " serving"), absl::nullopt,
                             "", model.Everything()));
    rows.back().style = LineStyle::kHead;
  }
  return Fit(ServerColumns(), std::move(rows), view.columns);
}

std::vector<Line> DeviceLines(const TopModel& model, const TopView& view) {
  std::vector<Row> rows;
  for (const TopServer& server : model.servers()) {
    for (const DeviceFigures& device : ToDeviceFigures(server.rates)) {
      Row row;
      row.cells = {
          device.device,
          server.name,
          device.name,
          device.healthy ? "healthy" : "lost",
          Bar(device.lanes_busy),
          Percent(device.utilization),
          Of(Bytes(device.memory_used), Bytes(device.memory_total)),
          Show(device.celsius, [](double c) { return absl::StrFormat("%.0f C", c); }),
          Of(Show(device.watts, [](double w) { return absl::StrFormat("%.0f", w); }),
             Show(device.watts_limit, [](double w) { return absl::StrFormat("%.0f W", w); })),
          device.throttled};
      row.style = !device.healthy             ? LineStyle::kBad
                  : !device.throttled.empty() ? LineStyle::kWarning
                                              : LineStyle::kPlain;
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) {
    return {};
  }
  return Fit({{"device", false, 0},
              {"server", false, 0},
              {"name", false, 4},
              {"health", false, 0},
              {"lanes busy", false, 2},
              {"GPU busy", true, 1},
              {"GPU memory", true, 3},
              {"temp", true, 0},
              {"power", true, 0},
              {"throttled by", false, 0}},
             std::move(rows), view.columns);
}

// Rings have no count of their submissions: those are requests among the others.
std::vector<Line> SharedMemoryLines(const PageRates& rates) {
  const ServerFigures figures = ToServerFigures(rates);
  if (figures.shared_regions.value_or(0) <= 0 && figures.rings.value_or(0) <= 0) {
    return {};
  }
  std::string text = absl::StrCat(
      " shared memory   ", Plural(std::llround(figures.shared_regions.value_or(0)), "region"), ", ",
      Plural(std::llround(figures.rings.value_or(0)), "ring"));
  if (figures.shared_in.has_value() && figures.shared_out.has_value()) {
    absl::StrAppend(&text, "   in ", Bytes(figures.shared_in), "/s, out ",
                    Bytes(figures.shared_out), "/s");
  }
  return {{std::move(text), LineStyle::kPlain}};
}

std::vector<Line> RpcLines(const PageRates& rates, const TopView& view) {
  std::vector<Row> rows;
  for (const RpcFigures& rpc : ToRpcFigures(rates)) {
    Row row;
    const std::string work =
        rpc.unit == "b/s" ? Show(rpc.work, HumanRate) : Show(rpc.work, [&](double value) {
          return absl::StrCat(HumanCount(std::round(value)), " ", rpc.unit);
        });
    row.cells = {rpc.rpc,
                 Count(rpc.requests),
                 work,
                 Bler(rpc.bler),
                 Bler(rpc.harq_lost),
                 Time(rpc.p50),
                 Time(rpc.p99),
                 Count(rpc.batch_requests),
                 Count(rpc.in_flight),
                 Because(Count(rpc.unserved), rpc.unserved_reason)};
    row.style = rpc.unserved.value_or(0) > 0 ? LineStyle::kWarning : LineStyle::kPlain;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return {{rates.has_rates ? " no requests" : "", LineStyle::kFaint}};
  }
  return Fit({{"rpc", false, 0},
              {"req/s", true, 0},
              {"work", true, 0},
              {"BLER", true, 2},
              {"HARQ lost", true, 3},
              {"p50", true, 1},
              {"p99", true, 0},
              {"batch", true, 2},
              {"in flight", true, 3},
              {"unserved/s", false, 0}},
             std::move(rows), view.columns);
}

std::vector<Line> ClientLines(const PageRates& rates, const TopView& view) {
  std::vector<NamedFigure> clients = ToClientFigures(rates);
  double all = 0;
  for (const NamedFigure& client : clients) {
    all += client.value;
  }
  if (clients.empty()) {
    return {};
  }
  clients.resize(std::min(clients.size(), kMaxClients));
  std::vector<Row> rows;
  for (const NamedFigure& client : clients) {
    rows.push_back({{client.name, absl::StrCat(HumanDuration(absl::Seconds(client.value)), "/s"),
                     Bar(client.value / all)},
                    LineStyle::kPlain,
                    ""});
  }
  return Fit({{"client", false, 0}, {"device time", true, 0}, {"share", false, 1}}, std::move(rows),
             view.columns);
}

void Append(std::vector<Line> more, std::vector<Line>* lines) {
  if (!more.empty()) {
    lines->push_back({});
    lines->insert(lines->end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  }
}

}  // namespace

std::vector<Line> ToLines(const TopModel& model, const TopView& view) {
  const auto count = static_cast<int>(model.servers().size());
  const std::string left = absl::StrFormat(" basebandctl top   %s, %d serving",
                                           Plural(count, "server"), model.CountServing());
  const std::string right =
      absl::StrCat("every ", absl::FormatDuration(view.interval), "   ",
                   absl::FormatTime("%H:%M:%S", view.now, absl::LocalTimeZone()), " ");
  const int gap = view.columns - static_cast<int>(left.size() + right.size());
  std::vector<Line> lines = {
      {absl::StrCat(left, std::string(static_cast<size_t>(std::max(gap, 3)), ' '), right),
       LineStyle::kBar}};
  Append(ServerLines(model, view), &lines);
  Append(DeviceLines(model, view), &lines);
  const bool one = view.selected >= 0 && view.selected < count;
  const PageRates rates =
      one ? model.servers()[static_cast<size_t>(view.selected)].rates : model.Everything();
  if (one) {
    Append({{absl::StrCat(" of ", model.servers()[static_cast<size_t>(view.selected)].name),
             LineStyle::kFaint}},
           &lines);
  }
  Append(SharedMemoryLines(rates), &lines);
  Append(RpcLines(rates, view), &lines);
  Append(ClientLines(rates, view), &lines);
  return lines;
}

}  // namespace baseband::ctl
