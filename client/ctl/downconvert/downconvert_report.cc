#include "client/ctl/downconvert/downconvert_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/frequency.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

// "3.31 us", "1.20 s": of a signal, which may be long.
std::string SignalTime(double samples, double rate_hz) {
  return HumanDuration(absl::Seconds(samples / rate_hz));
}

std::string SignedHertz(double hz) { return absl::StrCat(hz > 0 ? "+" : "", Hertz(hz)); }

// Those that the signal has come to.
int RetunesOf(const DownconvertReport& report, int channel) {
  const std::vector<v1::Retune>& retunes = report.plan.retunes;
  return static_cast<int>(
      std::count_if(retunes.begin(), retunes.end(), [&](const v1::Retune& retune) {
        return retune.channel() == static_cast<uint32_t>(channel) &&
               CheckReached({retune}, report.totals.end).ok();
      }));
}

// "3/8 of the sample rate".
std::string RateFactor(const v1::ChannelFilter& filter) {
  return absl::StrCat(std::max(1U, filter.up()), "/", std::max(1U, filter.down()));
}

// "2 stages: 23 taps, down 4; 57 taps, down 2".
std::string Stages(const v1::ChannelDescription& description) {
  std::string text = description.stage_taps_size() == 1
                         ? ""
                         : absl::StrCat(description.stage_taps_size(), " stages: ");
  for (int s = 0; s < description.stage_taps_size(); ++s) {
    absl::StrAppend(&text, s == 0 ? "" : "; ", Plural(description.stage_taps(s), "tap"));
    if (description.stage_up(s) > 1) {
      absl::StrAppend(&text, ", up ", description.stage_up(s));
    }
    if (description.stage_down(s) > 1) {
      absl::StrAppend(&text, ", down ", description.stage_down(s));
    }
  }
  return text;
}

// What was asked for is not always a fraction that the oscillator can have.
std::string Deviation(const v1::OscillatorFrequency& asked, const v1::ChannelDescription& is) {
  const double off = asked.has_hz() ? is.frequency_hz() - asked.hz() : 0;
  return off == 0 ? "" : absl::StrFormat(" (%+.2g Hz from %s)", off, Hertz(asked.hz()));
}

}  // namespace

std::string ToText(const v1::Fraction& fraction) {
  return absl::StrCat(fraction.num(), "/", fraction.den());
}

std::string DescribeChannels(const DownconvertPlan& plan,
                             const std::vector<v1::ChannelDescription>& descriptions) {
  const double rate = plan.setup.sample_rate_hz();
  std::string text;
  for (size_t c = 0; c < descriptions.size(); ++c) {
    const v1::ChannelDescription& is = descriptions[c];
    const v1::DownconvertChannel& asked = plan.setup.channels(static_cast<int>(c));
    const auto row = [&](const char* name, const std::string& value) {
      absl::StrAppendFormat(&text, "  %-11s %s\n", name, value);
    };
    absl::StrAppend(&text, c == 0 ? "" : "\n", "channel ", c, "\n");
    row("frequency", absl::StrCat(SignedHertz(is.frequency_hz()), " = ", ToText(is.frequency()),
                                  " of the sample rate", Deviation(asked.frequency(), is)));
    if (asked.nco() != v1::NCO_METHOD_EXACT) {
      row("oscillator", NameOfNcoMethod(asked.nco()));
    }
    row("output", absl::StrCat(Hertz(is.output_rate_hz()), ", ", RateFactor(asked.filter()),
                               " of the sample rate, ", NameOfFormat(asked.output())));
    row("filter", Stages(is));
    row("delay", absl::StrFormat("%.10g samples of the input, %s", is.group_delay(),
                                 SignalTime(is.group_delay(), rate)));
    row("transient",
        absl::StrCat(Plural(static_cast<int64_t>(is.transient()), "sample"), " of the input, ",
                     SignalTime(static_cast<double>(is.transient()), rate)));
    if (asked.filter().has_mask()) {
      const v1::FilterMask& mask = asked.filter().mask();
      row("pass band", absl::StrFormat("%s either side, ripple %.3g dB peak to peak",
                                       Hertz(mask.pass_edge_hz()), is.ripple_db()));
      row("stop band",
          absl::StrFormat("from %s on, %.1f dB down",
                          Hertz(mask.stop_edge_hz() != 0
                                    ? mask.stop_edge_hz()
                                    : std::min(rate, is.output_rate_hz()) - mask.pass_edge_hz()),
                          is.attenuation_db()));
    }
  }
  return text;
}

std::string ToText(const DownconvertReport& report, int max_rows) {
  const DownconvertTotals& totals = report.totals;
  const double rate = report.plan.setup.sample_rate_hz();
  TextTable table(
      {{"channel"}, {"frequency"}, {"output rate"}, {"samples"}, {"saturated"}, {"file", false}});
  const int count = static_cast<int>(totals.channels.size());
  for (int c = 0; c < std::min(count, max_rows); ++c) {
    const int retunes = RetunesOf(report, c);
    table.Add({absl::StrCat(c),
               absl::StrCat(SignedHertz(totals.descriptions[c].frequency_hz()),
                            retunes == 0 ? "" : absl::StrCat(", ", Plural(retunes, "retune"))),
               Hertz(totals.descriptions[c].output_rate_hz()),
               absl::StrCat(totals.channels[c].samples),
               report.plan.setup.channels(c).output() == v1::SAMPLE_FORMAT_INT16
                   ? absl::StrCat(totals.channels[c].saturated)
                   : "",
               totals.channels[c].path});
  }
  std::string text = absl::StrCat(report.input, ": ", totals.samples, " samples (", report.format,
                                  "), ", SignalTime(static_cast<double>(totals.samples), rate),
                                  " at ", Hertz(rate), "\n");
  if (const std::string told = ToText(report.front_end, report.wanted); !told.empty()) {
    absl::StrAppend(&text, "front end: ", told, "\n");
  }
  absl::StrAppend(&text, table.ToText());
  if (count > max_rows) {
    absl::StrAppend(&text, "(", Plural(count - max_rows, "channel"), " more: --all shows them)\n");
  }
  int64_t saturated = 0;
  for (const ChannelTotals& channel : totals.channels) {
    saturated += channel.saturated;
  }
  if (saturated > 0) {
    absl::StrAppend(&text, Bad("saturated:"), " ", Plural(saturated, "value"),
                    " did not fit into ci16; a smaller --gain helps\n");
  }
  for (const v1::Retune& retune : report.plan.retunes) {
    if (const absl::Status reached = CheckReached({retune}, totals.end); !reached.ok()) {
      absl::StrAppend(&text, Bad("not done:"), " ", std::string(reached.message()), "\n");
    }
  }
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(totals.wall));
  absl::StrAppendFormat(&text, "%s in %s: %.4g MB/s, %ssamples/s, %.3g x real time; %s, ",
                        HumanBytes(static_cast<double>(totals.bytes)), HumanDuration(totals.wall),
                        1e-6 * static_cast<double>(totals.bytes) / seconds,
                        HumanCount(static_cast<double>(totals.samples) / seconds),
                        static_cast<double>(totals.samples) / rate / seconds,
                        Plural(totals.messages, "message"));
  absl::StrAppend(&text,
                  totals.gaps == 0 ? "no gaps"
                                   : Bad(absl::StrCat(Plural(totals.gaps, "gap"), " of ",
                                                      Plural(totals.missing, "sample"))),
                  "\n");
  return text;
}

nlohmann::ordered_json ToJson(const DownconvertReport& report) {
  const DownconvertTotals& totals = report.totals;
  nlohmann::ordered_json json;
  json["input"] = report.input;
  json["format"] = report.format;
  json["sample_rate_hz"] = report.plan.setup.sample_rate_hz();
  json["samples"] = totals.samples;
  json["bytes"] = totals.bytes;
  json["messages"] = totals.messages;
  json["gaps"] = totals.gaps;
  json["missing_samples"] = totals.missing;
  json["seconds"] = absl::ToDoubleSeconds(totals.wall);
  json["kernel_seconds"] = 1e-6 * totals.kernel_us;
  json["front_end"] = ToJson(report.front_end, report.wanted);
  json["channels"] = nlohmann::ordered_json::array();
  for (size_t c = 0; c < totals.descriptions.size(); ++c) {
    const v1::ChannelDescription& is = totals.descriptions[c];
    nlohmann::ordered_json channel = {
        {"frequency_hz", is.frequency_hz()},     {"frequency_num", is.frequency().num()},
        {"frequency_den", is.frequency().den()}, {"output_rate_hz", is.output_rate_hz()},
        {"group_delay", is.group_delay()},       {"transient", is.transient()},
        {"ripple_db", is.ripple_db()},           {"attenuation_db", is.attenuation_db()}};
    for (int s = 0; s < is.stage_taps_size(); ++s) {
      channel["stages"].push_back(
          {{"taps", is.stage_taps(s)}, {"up", is.stage_up(s)}, {"down", is.stage_down(s)}});
    }
    if (c < totals.channels.size()) {
      channel["samples"] = totals.channels[c].samples;
      channel["retunes"] = RetunesOf(report, static_cast<int>(c));
      channel["saturated"] = totals.channels[c].saturated;
      channel["file"] = totals.channels[c].path;
    }
    json["channels"].push_back(std::move(channel));
  }
  return json;
}

}  // namespace baseband::ctl
