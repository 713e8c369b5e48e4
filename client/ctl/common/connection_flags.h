// Flags that say where the server is and how to speak to it, in every program alike.
#ifndef BASEBAND_CLIENT_CTL_COMMON_CONNECTION_FLAGS_H_
#define BASEBAND_CLIENT_CTL_COMMON_CONNECTION_FLAGS_H_

#include "CLI/App.hpp"
#include "client/ctl/common/session.h"

namespace baseband::ctl {

// For all fields of `flags`, which must outlive `app`, but `json`.
void AddConnectionFlags(CLI::App* app, GlobalFlags* flags);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_CONNECTION_FLAGS_H_
