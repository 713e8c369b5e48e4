// The report of `load --find-cells`, for people and for machines.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/load/load_cells.h"
#include "client/ctl/load/load_report.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using load::Outcome;

std::string Percent(double share) { return absl::StrFormat("%.7g %%", 100 * share); }

std::string InTimeText(const load::Outcomes& slots) {
  return slots.due() == 0 ? "-" : Percent(1 - slots.MissShare());
}

// "carried", or what the others came to: "too many: 3 late, 1 refused".
std::string VerdictText(const load::Outcomes& slots, const CellCriterion& criterion) {
  std::vector<std::string> others;
  for (int i = 0; i < load::kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (outcome == Outcome::kGood || slots[outcome] == 0) continue;
    others.push_back(absl::StrCat(slots[outcome], " ", load::kOutcomeNames[i]));
  }
  if (slots.due() == 0) others.emplace_back("no slot was due");
  return absl::StrCat(criterion.IsMet(slots) ? "carried" : "too many", others.empty() ? "" : ": ",
                      absl::StrJoin(others, ", "));
}

// "deadline of 3 slots, 1.5ms: 2 cells are carried, 3 are not".
std::string Sentence(const CellsFound& found, const CellCriterion& criterion) {
  const auto& [carried, too_many] = found.bracket;
  const absl::Duration slot = found.tries.front().spec.pace.slot;
  std::string text = absl::StrCat("deadline of ", Plural(found.deadline, "slot"), ", ",
                                  absl::FormatDuration(found.deadline * slot), ": ");
  if (carried == 0) return absl::StrCat(text, "not even one cell is carried");
  absl::StrAppend(&text, Plural(carried, "cell"), carried == 1 ? " is" : " are", " carried, ",
                  too_many == 0 ? "and more were not tried"
                                : absl::StrCat(too_many, too_many == 1 ? " is not" : " are not"));
  const int64_t slots = found.Try(carried)->totals.All().outcomes.due();
  if (slots < criterion.LeastSlots()) {
    absl::StrAppend(&text, "; but ", slots, " slots are too few to tell ",
                    Percent(criterion.in_time), ", which takes ", criterion.LeastSlots());
  }
  return text;
}

}  // namespace

std::string ToText(const CellsReport& report) {
  const load::LoadResult& last = report.found.back().tries.back();
  const load::Pace& pace = last.spec.pace;
  std::string text = absl::StrCat(
      absl::StrJoin(last.workloads, ", "), last.workloads.empty() ? "" : ": ",
      "a call each slot of ", absl::FormatDuration(pace.slot), ", up to ",
      absl::FormatDuration(pace.jitter), " late, of which ", Percent(report.criterion.in_time),
      " are to be answered in time; ", ConnectionsText(last), "\n\n");
  TextTable table(
      {{"deadline"}, {"cells"}, {"slots"}, {"missed"}, {"in time"}, {"p50"}, {"p99"}, {"", false}});
  for (const CellsFound& found : report.found) {
    for (const load::LoadResult& result : found.tries) {
      const load::Tally all = result.totals.All();
      table.Add({Plural(found.deadline, "slot"), absl::StrCat(result.spec.pace.cells),
                 absl::StrCat(all.outcomes.due()), absl::StrCat(all.outcomes.missed()),
                 InTimeText(all.outcomes), QuantileText(all.latency, 0.5),
                 QuantileText(all.latency, 0.99), VerdictText(all.outcomes, report.criterion)});
    }
  }
  absl::StrAppend(&text, table.ToText(), "\n");
  for (const CellsFound& found : report.found) {
    absl::StrAppend(&text, Wrap(Sentence(found, report.criterion), 98, 2), "\n");
  }
  // What the fewest that are too many failed by may be the tester's doing.
  for (const CellsFound& found : report.found) {
    const load::LoadResult* const failed = found.Try(found.bracket.too_many);
    if (failed == nullptr) continue;
    std::vector<std::string> remarks = failed->Warnings();
    for (const auto& [cause, count] : failed->totals.refusals) {
      remarks.push_back(absl::StrCat(count, " refused: ", cause));
    }
    for (const std::string& remark : remarks) {
      const std::string where = absl::StrCat(Plural(failed->spec.pace.cells, "cell"), ", ",
                                             Plural(found.deadline, "slot"));
      absl::StrAppend(&text, Bad("! "), Wrap(absl::StrCat(where, ": ", remark), 98, 2), "\n");
    }
  }
  if (const load::WrongAnswers wrong = report.AllWrongAnswers(); wrong.count > 0) {
    absl::StrAppend(
        &text, Bad("! "),
        Wrap(absl::StrCat(Plural(wrong.count, "wrong answer"), ", such as: ", wrong.example), 98,
             2),
        "\n");
  }
  return text;
}

nlohmann::ordered_json ToJson(const CellsReport& report) {
  const load::LoadResult& last = report.found.back().tries.back();
  const load::LoadSpec& spec = last.spec;
  nlohmann::ordered_json json = {{"target", spec.client.target},
                                 {"server_version", report.server},
                                 {"connections", spec.client.connections},
                                 {"transport", TransportOf(spec)},
                                 {"slot_s", absl::ToDoubleSeconds(spec.pace.slot)},
                                 {"jitter_s", absl::ToDoubleSeconds(spec.pace.jitter)},
                                 {"in_time", report.criterion.in_time},
                                 {"least_slots", report.criterion.LeastSlots()}};
  for (size_t i = 0; i < last.workloads.size(); ++i) {
    json["workloads"].push_back(
        {{"name", last.workloads[i]}, {"settings", ToJson(last.settings[i])}});
  }
  for (const CellsFound& found : report.found) {
    nlohmann::ordered_json one = {
        {"deadline_slots", found.deadline},
        {"deadline_s", absl::ToDoubleSeconds(found.deadline * spec.pace.slot)},
        {"carried", found.bracket.carried},
        {"too_many", nullptr}};
    if (found.bracket.too_many > 0) one["too_many"] = found.bracket.too_many;
    for (const load::LoadResult& result : found.tries) {
      const load::Tally all = result.totals.All();
      one["tries"].push_back({{"cells", result.spec.pace.cells},
                              {"seconds", absl::ToDoubleSeconds(result.measured)},
                              {"carried", report.criterion.IsMet(all.outcomes)},
                              {"is_enough", all.outcomes.due() >= report.criterion.LeastSlots()},
                              {"outcomes", ToJson(all.outcomes)},
                              {"latency", ToJson(all.latency)},
                              {"warnings", result.Warnings()},
                              {"refusals", result.totals.refusals}});
    }
    json["cells"].push_back(std::move(one));
  }
  const load::WrongAnswers wrong = report.AllWrongAnswers();
  json["wrong_answers"] = {{"count", wrong.count}, {"example", wrong.example}};
  return json;
}

}  // namespace baseband::ctl
