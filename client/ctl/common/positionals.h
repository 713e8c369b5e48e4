// Arguments behind `--`, which are no flags whatever they begin with.
//
// CLI11 takes a `--` that follows an option of several values for the end of these, and what comes
// next for flags again; where a command has its first argument already, it takes it for its own
// parent's. So ours are marked before it sees them, and whoever takes one takes the mark off.
#ifndef BASEBAND_CLIENT_CTL_COMMON_POSITIONALS_H_
#define BASEBAND_CLIENT_CTL_COMMON_POSITIONALS_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace baseband::ctl {

// Marks what is behind the first `--` of `arguments`, which are in the shell's order, and leaves
// the `--` out unless it ends the values of an option. Without a command of `root` before it they
// stay as they are.
void MarkPositionals(const CLI::App& root, std::vector<std::string>* arguments);

// Has every positional of `root` and of its commands take the marks off. Once, when all are added.
void TakeMarksOff(CLI::App* root);

// `argument` without its mark, if it has one.
std::string WithoutMark(const std::string& argument);

// Whether `app` takes any argument that is no flag.
bool HasPositional(const CLI::App& app);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_POSITIONALS_H_
