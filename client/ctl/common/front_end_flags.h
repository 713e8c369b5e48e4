// Flags that say what is to be undone of a receiver's front end.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FRONT_END_FLAGS_H_
#define BASEBAND_CLIENT_CTL_COMMON_FRONT_END_FLAGS_H_

#include "client/ctl/common/front_end.h"

namespace CLI {
class App;
}

namespace baseband::ctl {

// --remove-dc and --correct-iq.
void AddFrontEndFlags(CLI::App* app, WantedCorrection* wanted);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FRONT_END_FLAGS_H_
