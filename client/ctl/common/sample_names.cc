#include "client/ctl/common/sample_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/sigmf.h"

namespace baseband::ctl {
namespace {

struct Names {
  const char* name;
  const char* others;  // separated by blanks
};

constexpr Names kNames[] = {
    {"ci8", "cs8 sc8"}, {"ci16", "cs16 sc16"}, {"cf32", "fc32 cfile"},
    {"cf16", "fc16"},   {"cu8", ""},           {"i8", "s8"},
    {"i16", "s16"},     {"f32", ""},           {"u8", ""},
};

// Files that are more than their samples: raw ones under such a name mislead whoever opens them.
constexpr const char* kContainers[] = {"wav", "wave", "rf64", "bw64", "sigmf", "flac", "mat", "npy",
                                       "npz", "h5",   "hdf5", "json", "csv",   "txt",  "svg"};

// "cs16" of "a.b/air.cs16"; empty without one.
absl::string_view Ending(absl::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  const size_t dot = path.rfind('.');
  return dot == absl::string_view::npos || dot == 0 ? "" : path.substr(dot + 1);
}

// Standard input or output, or what is no file of its own: its name says nothing.
bool IsDevice(absl::string_view path) {
  return path == "-" || absl::StartsWith(path, "/dev/") || absl::StartsWith(path, "/proc/");
}

bool IsContainer(absl::string_view ending) {
  return std::any_of(std::begin(kContainers), std::end(kContainers), [&](const char* container) {
    return absl::EqualsIgnoreCase(ending, container);
  });
}

}  // namespace

std::string SampleFormatNamed(absl::string_view name) {
  for (const Names& names : kNames) {
    for (const absl::string_view other : absl::StrSplit(names.others, ' ', absl::SkipEmpty())) {
      if (absl::EqualsIgnoreCase(name, other)) {
        return names.name;
      }
    }
    if (absl::EqualsIgnoreCase(name, names.name)) {
      return names.name;
    }
  }
  return "";
}

std::string SampleFormatOfFileName(absl::string_view path) {
  return SampleFormatNamed(Ending(path));
}

absl::StatusOr<std::string> FormatToWrite(const SampleNameToWrite& name) {
  const std::string otherwise = name.asked.empty() ? name.otherwise : name.asked;
  const absl::string_view ending = Ending(name.path);
  std::string base;
  if (name.path.empty() || IsDevice(name.path) || SplitSigmfPath(name.path, &base)) {
    return otherwise;
  }
  const std::string said = SampleFormatNamed(ending);
  if (said.empty()) {
    if (!name.asked.empty() && !IsContainer(ending)) {
      return otherwise;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        name.flag, " ", name.path,
        ending.empty() ? " does not say what its samples are"
                       : absl::StrCat(": what ends in .", ending, " is no file of samples"),
        ": end its name in .", absl::StrJoin(name.writable, ", ."), " or .sigmf-meta"));
  }
  if (std::find(name.writable.begin(), name.writable.end(), said) == name.writable.end()) {
    return absl::InvalidArgumentError(absl::StrCat(name.flag, " ", name.path, ": the format ", said,
                                                   " of its name is not one of ",
                                                   absl::StrJoin(name.writable, ", ")));
  }
  if (!name.asked.empty() && said != name.asked) {
    return absl::InvalidArgumentError(absl::StrCat("--format ", name.asked, " contradicts ",
                                                   name.flag, " ", name.path, ", which says ",
                                                   said));
  }
  return said;
}

absl::Status CheckNameToRead(const SampleNameToRead& name) {
  if (!name.said.empty()) {
    return name.asked.empty() || name.asked == name.said
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat("--format ", name.asked, " contradicts ",
                                                         name.path, ", which says ", name.said));
  }
  const absl::string_view ending = Ending(name.path);
  if (IsDevice(name.path) || (!name.asked.empty() && !IsContainer(ending))) {
    return absl::OkStatus();
  }
  const std::string formats = absl::StrJoin(name.readable, ", .");
  return absl::InvalidArgumentError(absl::StrCat(
      name.path,
      IsContainer(ending) ? absl::StrCat(": what ends in .", ending, " is no file of raw samples")
                          : " does not say what its samples are",
      ": end its name in .", formats, " or .sigmf-meta",
      name.can_ask && !IsContainer(ending) ? ", or say it by --format" : ""));
}

}  // namespace baseband::ctl
