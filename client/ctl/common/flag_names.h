// Errors name a request's fields; people know flags.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FLAG_NAMES_H_
#define BASEBAND_CLIENT_CTL_COMMON_FLAG_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace baseband::ctl {

// The command that runs, whose flags they are; it must outlive what comes. Not thread-safe.
void NoteCommand(const CLI::App* command);

// The program that it is a command of, for the beginning of messages: "basebandctl".
std::string ProgramName();

// "frame_symbols (--frame-symbols) 10 is not in [16, 1048576]": `message` with the command's flag
// behind the first field that has one, if it does not name that anyway.
std::string WithFlagName(absl::string_view message);

// "unknown flag --rat; did you mean --rate?": of the first flag that was given to `app` and that
// neither it nor a command below it that was parsed has; empty: they have them all. To be asked
// before what CLI11 says: it misses what is required before it minds what is unknown.
std::string UnknownFlag(const CLI::App& app);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FLAG_NAMES_H_
