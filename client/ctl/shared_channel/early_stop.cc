#include "client/ctl/shared_channel/early_stop.h"

#include "client/ctl/common/options.h"

namespace baseband::ctl {

std::vector<std::string> NamesOfEarlyStops() { return {kParityStop, "crc", "none"}; }

v1::EarlyStop ParseEarlyStop(absl::string_view name) {
  return name == "crc"    ? v1::EARLY_STOP_CRC
         : name == "none" ? v1::EARLY_STOP_NONE
                          : v1::EARLY_STOP_PARITY;
}

CLI::Option* AddEarlyStopFlag(CLI::App* app, std::string* name) {
  return app
      ->add_option("--early-stop", *name,
                   "a code block is done when its parity checks hold (parity), when they or its"
                   " CRC do (crc), or after all iterations (none) (parity)")
      ->check(OneOf(NamesOfEarlyStops()))
      ->type_name("RULE");
}

}  // namespace baseband::ctl
