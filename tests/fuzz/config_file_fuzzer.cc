// Any bytes as a configuration file: taken or refused with a word, never more.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "server/config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string& path = *[] {
    auto* name = new std::string("/tmp/baseband_config_fuzzer_XXXXXX");
    close(mkstemp(name->data()));
    return name;
  }();
  FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(data, 1, size, file) != size) std::abort();
  std::fclose(file);
  const std::string flag = "--config=" + path;
  const char* const argv[] = {"basebandd", flag.c_str()};
  const char* const environment[] = {nullptr};
  const auto command = baseband::server::ParseCommandLine(2, argv, environment);
  if (!command.ok() && command.status().message().empty()) std::abort();
  return 0;
}
