// Settings whose values are lists.
#ifndef BASEBAND_SERVER_CONFIG_LIST_SETTINGS_H_
#define BASEBAND_SERVER_CONFIG_LIST_SETTINGS_H_

#include "server/config/settings.h"

namespace baseband::server {

Setting DeviceSetting();
Setting ListenSetting();
// Repeatable, CLIENT=WEIGHT; a client's name may have = in it.
Setting ClientShareSetting();
Setting CpusSetting();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_LIST_SETTINGS_H_
