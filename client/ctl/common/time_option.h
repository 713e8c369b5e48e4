// Options of CLI11 that take a time such as 500us.
#ifndef BASEBAND_CLIENT_CTL_COMMON_TIME_OPTION_H_
#define BASEBAND_CLIENT_CTL_COMMON_TIME_OPTION_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/time/time.h"
#include "client/ctl/common/json_values.h"

namespace baseband::ctl {

// `field` is an absl::Duration, or takes one.
template <typename Field>
CLI::Option* AddTime(CLI::App* app, const std::string& name, Field* field,
                     const std::string& help) {
  return app
      ->add_option_function<std::string>(
          name,
          [name, field](const std::string& text) {
            const absl::StatusOr<absl::Duration> time = ParseTime(text);
            if (!time.ok()) {
              throw CLI::ValidationError(name, std::string(time.status().message()));
            }
            *field = *time;
          },
          help)
      ->type_name("TIME");
}

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_TIME_OPTION_H_
