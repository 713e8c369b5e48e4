// What a benchmark hands to the report, beside its table for people: a line of JSON a measurement.
#ifndef BASEBAND_TESTS_BENCH_ROWS_H_
#define BASEBAND_TESTS_BENCH_ROWS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/must.h"

namespace baseband::bench {

// The file that rows are appended to; without that variable of the environment there are none.
inline constexpr char kRowsVariable[] = "BASEBAND_BENCH_ROWS";

// The spread of what was measured once.
inline constexpr double kNoSpread = -1.0;

// Seconds of one and the same work, again and again.
struct Times {
  double best = 0.0;
  double median = 0.0;
  double spread = 0.0;  // of the middle half, as a share of the median; kNoSpread of one alone

  // One or more.
  static Times Of(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const size_t n = seconds.size();
    const double median = seconds[n / 2];
    const double middle = seconds[n - 1 - n / 4] - seconds[n / 4];
    return {seconds[0], median, n == 1 ? kNoSpread : middle / median};
  }
};

// The operations that are counted for a limit: of integers, what a GPU's thread does by one
// instruction and a CPU with 8 bits of a vector, or float32 fused multiply-adds.
inline constexpr char kInteger[] = "integer";
inline constexpr char kFma[] = "fma";

// The ways whose bytes are counted for a limit: the memory of the device, and the bus to a GPU.
inline constexpr char kMemory[] = "memory";
inline constexpr char kLink[] = "link";

using RowParameters = std::vector<std::pair<std::string, std::string>>;

// One measurement. No two rows of a run are alike in what, device, parameters and unit.
struct Row {
  std::string what;  // "decode"; "limit": what the machine allows
  // "cpu", one core of it; "gpu", with the data there; "cpu server" and "gpu server", a basebandd.
  std::string device;
  RowParameters parameters;
  std::string along;  // which of them is the x axis of a figure; empty: it is a line of a table

  double value = 0.0;
  std::string unit;           // "s": less is better; "bit/s" and all others: more is
  double spread = kNoSpread;  // of the repetitions, as a share
  bool checked = true;        // the result was compared with the right one, and was right

  // What one bit (or sample, or point) takes at least; of a time, all that was timed. 0: not
  // counted.
  double bytes = 0.0;
  std::string over = kMemory;
  double operations = 0.0;
  std::string of = kInteger;

  std::string program;  // that measured it; Emit() says so

  // Appends it. What cannot be written, or is not a number, ends the program.
  void Emit() const;
};

// Of things that are done `count` at a time: a rate by `seconds`, one of the times.
inline Row RateRow(const std::string& what, const std::string& device, RowParameters parameters,
                   double count, const std::string& thing, double seconds, double spread) {
  Row row;
  row.what = what;
  row.device = device;
  row.parameters = std::move(parameters);
  row.value = count / seconds;
  row.unit = thing + "/s";
  row.spread = spread;
  return row;
}

// The same as the time of all `count` of them, along the parameter of that name.
inline Row TimeRow(Row row, double count, const std::string& along) {
  row.along = along;
  row.value = count / row.value;
  row.unit = "s";
  row.bytes *= count;
  row.operations *= count;
  return row;
}

// What the machine allows.
inline void EmitLimit(const std::string& device, const std::string& of, const std::string& thing,
                      double count, double seconds, double spread) {
  RateRow("limit", device, {{"of", of}}, count, thing, seconds, spread).Emit();
}

inline std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

inline std::string Number(double value) {
  if (!std::isfinite(value)) Fail("a row's value is no number");
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

// The line, without its end.
inline std::string ToJson(const Row& row) {
  std::string json = "{\"what\":" + Quoted(row.what) + ",\"device\":" + Quoted(row.device);
  json += ",\"parameters\":{";
  for (const auto& [name, value] : row.parameters) {
    json += (json.back() == '{' ? "" : ",") + Quoted(name) + ":" + Quoted(value);
  }
  json += "}";
  if (!row.along.empty()) json += ",\"along\":" + Quoted(row.along);
  json += ",\"value\":" + Number(row.value) + ",\"unit\":" + Quoted(row.unit);
  if (row.spread >= 0.0) json += ",\"spread\":" + Number(row.spread);
  json += std::string(",\"checked\":") + (row.checked ? "true" : "false");
  if (row.bytes > 0.0) {
    json += ",\"bytes\":" + Number(row.bytes) + ",\"over\":" + Quoted(row.over);
  }
  if (row.operations > 0.0) {
    json += ",\"operations\":" + Number(row.operations) + ",\"of\":" + Quoted(row.of);
  }
  if (!row.program.empty()) json += ",\"program\":" + Quoted(row.program);
  return json + "}";
}

inline void Row::Emit() const {
  const char* const path = std::getenv(kRowsVariable);
  if (path == nullptr) return;
  Row named = *this;
  named.program = program_invocation_short_name;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr || std::fprintf(file, "%s\n", ToJson(named).c_str()) < 0 ||
      std::fclose(file) != 0) {
    Fail(std::string("cannot write ") + path);
  }
}

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_ROWS_H_
