#include "client/ctl/common/front_end_flags.h"

#include "CLI/App.hpp"

namespace baseband::ctl {

void AddFrontEndFlags(CLI::App* app, WantedCorrection* wanted) {
  const char* group = "What the receiver did to the samples (told by the report)";
  app->add_flag("--remove-dc", wanted->dc, "take their mean away")->group(group);
  app->add_flag("--correct-iq", wanted->iq,
                "take the image away that unequal gains and phases of I and Q make; refused where"
                " the signal itself hides it")
      ->group(group);
}

}  // namespace baseband::ctl
