#include "server/grpc/first_settings.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace baseband::server {
namespace {

// As in 1.51, core/ext/transport/chttp2/transport/http2_settings.h.
struct Setting {
  const char* name;
  uint32_t first;
  uint32_t least;
  uint32_t most;
  int if_beyond;
  uint32_t error;
};
constexpr size_t kSettings = 7;
constexpr uint32_t kGrpcsStreams = 4294967295u;
constexpr uint32_t kGrpcsMetadataBytes = 16 << 20;

// The table has been read-only since gRPC was loaded.
bool MakeWritable(Setting* table) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(table) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(table + kSettings);
  return mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0;
}

bool Change(Setting* table, absl::string_view name, uint32_t from, uint32_t to) {
  Setting* const found = std::find_if(table, table + kSettings,
                                      [name](const Setting& one) { return one.name == name; });
  if (found == table + kSettings || (found->first != from && found->first != to)) return false;
  if (found->first == from) found->first = to;
  return true;
}

}  // namespace

bool LimitFirstSettings() {
  auto* const table = static_cast<Setting*>(dlsym(RTLD_DEFAULT, "grpc_chttp2_settings_parameters"));
  return table != nullptr && MakeWritable(table) &&
         Change(table, "MAX_CONCURRENT_STREAMS", kGrpcsStreams, kFirstStreams) &&
         Change(table, "MAX_HEADER_LIST_SIZE", kGrpcsMetadataBytes, kFirstMetadataBytes);
}

}  // namespace baseband::server
