#include "client/ctl/carrier/known_symbols.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/carrier/symbol_files.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {
namespace {

constexpr int64_t kHeader = 90;
constexpr int64_t kData = 1440;  // 16 slots of 90
constexpr int64_t kPilots = 36;

absl::StatusOr<v1::KnownSymbols> ReadValues(const std::string& file) {
  const absl::StatusOr<SymbolFile> samples = ReadSymbols(file, "", /*can_ask=*/false);
  if (!samples.ok()) {
    return samples.status();
  }
  v1::KnownSymbols known;
  for (const Complex& value :
       ToComplex(samples->bytes, samples->format, DefaultScale(samples->format))) {
    known.add_values(value.real());
    known.add_values(value.imag());
  }
  return known;
}

absl::StatusOr<v1::KnownSymbols> FromText(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadText(file);
  if (!text.ok()) {
    return text.status();
  }
  absl::StatusOr<v1::KnownSymbols> known = ParseKnownSymbols(*text);
  return known.ok()
             ? known
             : absl::InvalidArgumentError(absl::StrCat(file, ": ", known.status().message()));
}

absl::Status CheckFits(const std::string& file, int64_t frame_symbols,
                       const v1::KnownSymbols& known) {
  const int64_t values = known.values_size() / 2;
  const int64_t last = known.positions_size() > 0
                           ? int64_t{known.positions(known.positions_size() - 1)}
                           : values - 1;
  return last < frame_symbols ? absl::OkStatus()
                              : absl::InvalidArgumentError(
                                    absl::StrCat(file, " has a known symbol at position ", last,
                                                 ", but a frame has ", frame_symbols, " symbols"));
}

}  // namespace

std::vector<uint32_t> DvbS2Positions(int64_t frame_symbols) {
  std::vector<uint32_t> positions;
  for (int64_t n = 0; n < frame_symbols; ++n) {
    if (n < kHeader || (n - kHeader) % (kData + kPilots) >= kData) {
      positions.push_back(static_cast<uint32_t>(n));
    }
  }
  return positions;
}

absl::StatusOr<v1::KnownSymbols> ParseKnownSymbols(absl::string_view text) {
  v1::KnownSymbols known;
  size_t columns = 0;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = line.substr(0, line.find('#'));
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::ByAnyChar(", ;\t\r"), absl::SkipEmpty());
    if (fields.empty()) {
      continue;
    }
    const auto error = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line_number, " ", what));
    };
    if ((fields.size() != 2 && fields.size() != 3) || (columns != 0 && fields.size() != columns)) {
      return error("is not \"POSITION I Q\" or \"I Q\" like the lines above");
    }
    columns = fields.size();
    uint32_t position = 0;
    if (columns == 3) {
      if (!absl::SimpleAtoi(fields[0], &position)) {
        return error(absl::StrCat("has a position '", fields[0], "' that is not a number"));
      }
      if (known.positions_size() > 0 && position <= *known.positions().rbegin()) {
        return error(absl::StrCat("has position ", position, ", not above the one before it"));
      }
      known.add_positions(position);
    }
    for (const absl::string_view field : {fields[columns - 2], fields[columns - 1]}) {
      float value = 0;
      if (!absl::SimpleAtof(field, &value)) {
        return error(absl::StrCat("has a value '", field, "' that is not a number"));
      }
      known.add_values(value);
    }
  }
  return known.values_size() > 0 ? absl::StatusOr<v1::KnownSymbols>(known)
                                 : absl::InvalidArgumentError("names no symbol");
}

absl::StatusOr<v1::KnownSymbols> ReadKnownSymbols(const std::string& file,
                                                  const std::string& layout,
                                                  int64_t frame_symbols) {
  if (!layout.empty() && layout != "dvbs2") {
    return absl::InvalidArgumentError(absl::StrCat("--pilots '", layout, "' is not one of dvbs2"));
  }
  if (file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pilots=", layout, " needs their values: --known=FILE"));
  }
  const bool text =
      absl::EndsWithIgnoreCase(file, ".csv") || absl::EndsWithIgnoreCase(file, ".txt");
  absl::StatusOr<v1::KnownSymbols> known = text ? FromText(file) : ReadValues(file);
  if (!known.ok() || layout.empty()) {
    const absl::Status status =
        known.ok() ? CheckFits(file, frame_symbols, *known) : known.status();
    return status.ok() ? known : status;
  }
  if (known->positions_size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " has positions of its own; leave --pilots=", layout, " away"));
  }
  const std::vector<uint32_t> positions = DvbS2Positions(frame_symbols);
  if (known->values_size() != 2 * static_cast<int>(positions.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " has ", known->values_size() / 2, " symbols, but in a DVB-S2 frame of ",
                     frame_symbols, " there are ", positions.size(), ": a header of ", kHeader,
                     " and ", kPilots, " pilots after every ", kData, " symbols of data"));
  }
  known->mutable_positions()->Add(positions.begin(), positions.end());
  return known;
}

}  // namespace baseband::ctl
