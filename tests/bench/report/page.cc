#include "tests/bench/report/page.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/bench/report/figures.h"
#include "tests/bench/report/si.h"

namespace baseband::bench {
namespace {

// A line of README's "Measured": keys of rows, and what others reach, as README says of them.
struct Headline {
  const char* name;
  const char* gpu;
  const char* gpu_peer;
  const char* cpu;
  const char* cpu_peer;
};
constexpr Headline kHeadlines[] = {
    {"decode NR BG1 Zc=384, R=1/3",
     "decode gpu code=NR BG1 Zc=384 rows=46 stop=fixed blocks=5280 [bit/s]", "cuPHY 12.5 Gb/s",
     "decode cpu code=NR BG1 Zc=384 rows=46 stop=fixed [bit/s]", "FlexRAN 62 Mb/s"},
    {"decode NR BG1 Zc=384, R=0.917",
     "decode gpu code=NR BG1 Zc=384 rows=4 stop=fixed blocks=5280 [bit/s]", "cuPHY 54.1 Gb/s",
     "decode cpu code=NR BG1 Zc=384 rows=4 stop=fixed [bit/s]", "FlexRAN 268 Mb/s"},
    {"decode 802.16e (2304,1152)",
     "decode gpu code=802.16e rate=1/2 n=2304 stop=fixed blocks=26400 [bit/s]", "",
     "decode cpu code=802.16e rate=1/2 n=2304 stop=fixed [bit/s]", "AFF3CT 91 Mb/s"},
    {"one block of the first alone", "decode gpu code=NR BG1 Zc=384 rows=46 blocks=1 [s]",
     "cuPHY 101 us", "decode cpu code=NR BG1 Zc=384 rows=46 blocks=1 [s]", ""},
    {"encode NR BG1 Zc=384, R=1/3", "encode gpu code=NR BG1 Zc=384 rows=46 blocks=65536 [bit/s]",
     "cuPHY 673 Gb/s", "encode cpu code=NR BG1 Zc=384 rows=46 [bit/s]", "FlexRAN 14.8 Gb/s"},
    {"carrier recovery, QPSK", "carrier recovery gpu constellation=QPSK method=default [symbol/s]",
     "", "carrier recovery cpu constellation=QPSK method=default [symbol/s]", "liquid-dsp 13.2 M"},
    {"carrier recovery, 256APSK",
     "carrier recovery gpu constellation=256APSK 135/180 method=default [symbol/s]", "",
     "carrier recovery cpu constellation=256APSK 135/180 method=default [symbol/s]",
     "liquid-dsp 5.9 M"},
    {"down-conversion, 64 taps /8 (int16; CPU float32)",
     "down-conversion gpu channel=1 channel, int16, 64 taps / 8 [sample/s]", "",
     "down-conversion cpu channel=complex float32, 64 taps, /8 [sample/s]", "GNU Radio 199-207 M"},
    {"Schwefel's function on a grid, float32",
     "search gpu functional=Schwefel precision=float32 [point/s]", "",
     "search cpu functional=Schwefel precision=float32 [point/s]", "muParser 32-35 M"},
};

constexpr double kMuchSpread = 0.25;  // of what runs alone, a few per cent are usual

std::string Cells(const std::vector<std::string>& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}
std::string Header(const std::vector<std::string>& cells) {
  return Cells(cells) + "|" + absl::StrJoin(std::vector<std::string>(cells.size(), "---"), "|") +
         "|\n";
}

// Of repetitions.
std::string SpreadText(double spread) {
  return spread < 0.0 ? "once" : absl::StrFormat("%.0f %%", 100.0 * spread);
}

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100.0 * share); }

std::string ValueOf(const Row& row) {
  return Si(row.value, row.unit) + (row.checked ? "" : ", unchecked");
}

std::string Changes(const char* title, const std::vector<Change>& changes) {
  if (changes.empty()) return "";
  std::string text = absl::StrCat("\n", Header({title, "before", "now", "takes", "spread"}));
  for (const Change& change : changes) {
    text += Cells({KeyOf(change.now), Si(change.before.value, change.before.unit),
                   Si(change.now.value, change.now.unit),
                   absl::StrFormat("%+.0f %%", 100.0 * change.slower),
                   SpreadText(change.before.spread) + ", " + SpreadText(change.now.spread)});
  }
  return text;
}

std::string ComparisonText(const Comparison& comparison) {
  std::string text = "\n## Compared with an earlier run\n";
  for (const std::string& difference : comparison.machine) {
    text += absl::StrCat("Another machine: ", difference, ".\n");
  }
  text += absl::StrFormat(
      "%d worse, %d better, %d alike; %d are new, %d are not measured any more. Worse and better: "
      "by more than %.0f %% and than the spread of either run, %.0f %% where that measured once. "
      "What seemed worse was measured up to three times more.\n",
      comparison.worse.size(), comparison.better.size(), comparison.alike, comparison.added,
      comparison.gone.size(), 100.0 * kLeastChange, 100.0 * kAssumedSpread);
  text += Changes("worse", comparison.worse) + Changes("better", comparison.better);
  for (const std::string& key : comparison.gone) text += absl::StrCat("\nGone: ", key, "\n");
  return text;
}

std::string Measured(const BenchRun& run) {
  std::map<std::string, const Row*> rows;
  for (const Row& row : run.rows) rows.emplace(KeyOf(row), &row);
  const auto value = [&](const char* key) {
    const auto found = rows.find(key);
    if (found == rows.end()) return std::string();
    const Row& row = *found->second;
    return row.spread > kMuchSpread ? absl::StrCat(ValueOf(row), ", spread ", Percent(row.spread))
                                    : ValueOf(row);
  };
  std::string text;
  for (const Headline& line : kHeadlines) {
    const std::string gpu = value(line.gpu);
    const std::string cpu = value(line.cpu);
    if (gpu.empty() && cpu.empty()) continue;
    text += Cells(
        {line.name, gpu, gpu.empty() ? "" : line.gpu_peer, cpu, cpu.empty() ? "" : line.cpu_peer});
  }
  if (text.empty()) return text;
  return "\n## Measured\nPeers: as published, or as measured on other machines; not in this "
         "run.\n\n" +
         Header({"", "GPU", "peer, GPU", "CPU, one core", "peer, one core"}) + text;
}

// Rows that are alike in what, device and names of parameters share a table.
std::string Tables(const BenchRun& run) {
  const Limits limits(run);
  std::vector<std::pair<std::vector<std::string>, std::string>> tables;  // columns and text
  for (const Row& row : run.rows) {
    if (!row.along.empty()) continue;
    std::vector<std::string> columns = {row.what, row.device};
    std::vector<std::string> cells;
    for (const auto& [name, value] : row.parameters) {
      columns.push_back(name);
      cells.push_back(value);
    }
    std::string* table = nullptr;
    for (auto& [of, text] : tables) table = of == columns ? &text : table;
    if (table == nullptr) {
      std::vector<std::string> header(columns.begin() + 2, columns.end());
      const std::string names = absl::StrJoin(header, ", ");
      for (const char* name : {"value", "spread", "of what is allowed"}) header.push_back(name);
      table = &tables
                   .emplace_back(columns, absl::StrCat("\n## ", row.what, ", ", row.device, ", by ",
                                                       names, "\n", Header(header)))
                   .second;
    }
    const auto bound = limits.Of(row);
    cells.push_back(ValueOf(row));
    cells.push_back(SpreadText(row.spread));
    cells.push_back(bound.has_value()
                        ? absl::StrCat(Percent(ShareOf(*bound, row)), " of ",
                                       Si(bound->value, row.unit), " (", bound->by, ")")
                        : "");
    *table += Cells(cells);
  }
  std::string text;
  for (const auto& [columns, table] : tables) text += table;
  return text;
}

std::string Numbers(const Panel& panel) {
  std::vector<std::string> header = {panel.along};
  std::map<double, std::vector<std::string>> lines;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    header.push_back(panel.series[i].label);
    for (const auto& [x, row] : panel.series[i].points) {
      std::vector<std::string>& line = lines[x];
      line.resize(panel.series.size());
      line[i] = ValueOf(row);
    }
  }
  std::string text = absl::StrCat("\n", panel.title, ":\n\n", Header(header));
  for (auto& [x, line] : lines) {
    line.insert(line.begin(), absl::StrFormat("%.9g", x));
    text += Cells(line);
  }
  return text;
}

}  // namespace

std::string MachineOf(const Head& head) {
  std::string text = absl::StrCat(head.cpu, ", ", head.cores, " cores");
  if (!head.gpu.empty()) text = absl::StrCat(head.gpu, " (driver ", head.driver, "), ", text);
  return absl::StrCat(text, "; commit ", head.commit, ", ", head.begin, ", ", head.mode);
}

std::string BusyText(const BenchRun& run) {
  int num_rows = 0;
  int num_noisy = 0;
  for (const Row& row : run.rows) {
    if (absl::EndsWith(row.device, " server")) continue;  // tails differ on quiet machines, too
    ++num_rows;
    if (row.spread > kMuchSpread) ++num_noisy;
  }
  if (num_noisy <= 0.05 * num_rows) return "";
  return absl::StrFormat(
      "This machine had other work: %d of %d measurements have a spread of more than %.0f %%. They "
      "say less than the machine can do.",
      num_noisy, num_rows, 100.0 * kMuchSpread);
}

std::string PageOf(const BenchRun& run, const absl::optional<Comparison>& comparison) {
  std::string text = absl::StrCat(
      "# Results\n", MachineOf(run.head),
      ".\n\nSpread: of a measurement's repetitions the middle half, as a share of their median.\n");
  if (!run.ended) text += "\n**Broken off**: this run did not come to its end.\n";
  if (const std::string busy = BusyText(run); !busy.empty()) {
    absl::StrAppend(&text, "\n**", busy, "**\n");
  }
  for (const std::string& failed : run.failed)
    absl::StrAppend(&text, "\n**FAILED**: ", failed, "\n");
  if (comparison.has_value()) text += ComparisonText(*comparison);
  text += Measured(run);
  if (const std::string roofline = DrawRoofline(run, ""); !roofline.empty()) {
    text += "\n![rooflines](roofline.svg)\n";
  }
  text += Tables(run);
  for (const Figure& figure : FiguresOf(run)) {
    absl::StrAppend(&text, "\n## ", figure.title, "\n![", figure.title, "](", figure.name,
                    ".svg)\n");
    for (const Panel& panel : figure.panels) text += Numbers(panel);
  }
  return text;
}

}  // namespace baseband::bench
