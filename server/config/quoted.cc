#include "server/config/quoted.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace baseband::server {

std::string Quoted(absl::string_view text) {
  constexpr size_t kMostBytes = 128;
  const bool is_cut = text.size() > kMostBytes;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kMostBytes)), "'",
                      is_cut ? absl::StrCat(".. (", text.size(), " bytes)") : "");
}

}  // namespace baseband::server
