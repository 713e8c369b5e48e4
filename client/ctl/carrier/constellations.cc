#include "client/ctl/carrier/constellations.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {
namespace {

// Letters and digits that count: "64-APSK 4/5" and "64apsk4/5" are the same.
std::string Essence(absl::string_view name) {
  std::string essence;
  for (const char c : name) {
    if (absl::ascii_isalnum(c) || c == '/') {
      essence.push_back(absl::ascii_tolower(c));
    }
  }
  return essence;
}

// Levenshtein's distance.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

int NamedPoints::SymbolsOf64800Bits() const {
  return static_cast<int>(64800 / std::log2(static_cast<double>(points.size())));
}

std::vector<std::string> NamesLike(absl::string_view name, absl::Span<const std::string> names,
                                   size_t count) {
  const std::string wanted = Essence(name);
  std::vector<std::string> beginning;
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& candidate : names) {
    const std::string essence = Essence(candidate);
    if (!wanted.empty() && absl::StartsWith(essence, wanted)) {
      beginning.push_back(candidate);
    }
    const int distance = EditDistance(wanted, essence);
    if (2 * distance <= static_cast<int>(std::max(wanted.size(), essence.size()))) {
      ranked.emplace_back(distance, candidate);
    }
  }
  if (!beginning.empty()) {
    return beginning;
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i) {
    result.push_back(ranked[i].second);
  }
  return result;
}

std::vector<std::string> GroupNames(absl::Span<const std::string> names) {
  std::vector<std::string> groups;
  std::string head;
  for (const std::string& name : names) {
    const size_t blank = name.find(' ');
    const std::string own_head = name.substr(0, blank);
    if (groups.empty() || own_head != head || blank == std::string::npos) {
      groups.push_back(name);
    } else {
      absl::StrAppend(&groups.back(), name.substr(blank));
    }
    head = own_head;
  }
  return groups;
}

absl::Status CheckConstellation(const v1::GetCapabilitiesResponse& capabilities,
                                absl::string_view name) {
  const std::vector<std::string> names(capabilities.carrier().constellations().begin(),
                                       capabilities.carrier().constellations().end());
  if (names.empty()) {
    return absl::UnimplementedError("this server does not offer RecoverCarrier");
  }
  for (const std::string& known : names) {
    if (absl::EqualsIgnoreCase(known, name)) {
      return absl::OkStatus();
    }
  }
  const std::vector<std::string> like = NamesLike(name, names, 5);
  std::string message = absl::StrCat("the server knows no constellation '", name, "'");
  if (!like.empty()) {
    absl::StrAppend(&message, "; did you mean ", absl::StrJoin(GroupNames(like), ", "), "?");
  }
  absl::StrAppend(&message,
                  "\nbasebandctl info lists them all; recover --points takes one of your own.");
  return absl::NotFoundError(Wrap(message, 79, 0));
}

absl::StatusOr<std::vector<NamedPoints>> FetchPoints(client::Client* client,
                                                     const GlobalFlags& flags,
                                                     std::vector<std::string> names) {
  const auto capabilities = client->GetCapabilities(flags.call());
  if (!capabilities.ok()) {
    return capabilities.status();
  }
  if (names.empty()) {
    names.assign(capabilities->carrier().constellations().begin(),
                 capabilities->carrier().constellations().end());
  }
  v1::GetCapabilitiesRequest request;
  for (const std::string& name : names) {
    if (absl::Status status = CheckConstellation(*capabilities, name); !status.ok()) {
      return status;
    }
    request.add_points_of(name);
  }
  const auto response = client->GetCapabilities(std::move(request), flags.call());
  if (!response.ok()) {
    return response.status();
  }
  if (response->carrier().points_size() != static_cast<int>(names.size())) {
    return absl::InternalError("the server does not tell the points of its constellations");
  }
  std::vector<NamedPoints> result;
  for (const v1::NamedConstellation& from : response->carrier().points()) {
    NamedPoints to;
    to.name = from.name();
    to.symmetry = static_cast<int>(std::max(1U, from.symmetry()));
    to.operating_snr_db = from.operating_snr_db();
    to.power = static_cast<int>(std::max(1U, from.power()));
    for (int i = 0; i + 1 < from.points_size(); i += 2) {
      to.points.emplace_back(from.points(i), from.points(i + 1));
    }
    if (to.points.size() < 2) {
      return absl::InternalError(absl::StrCat("the server tells no points of ", to.name));
    }
    result.push_back(std::move(to));
  }
  return result;
}

}  // namespace baseband::ctl
