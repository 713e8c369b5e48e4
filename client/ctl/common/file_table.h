// Which files this process reads and writes: so that none is both, under whatever name.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FILE_TABLE_H_
#define BASEBAND_CLIENT_CTL_COMMON_FILE_TABLE_H_

#include <string>

#include "absl/status/status.h"

namespace baseband::ctl {

// Notes the open file `fd`, called `name`, as one that is read. InvalidArgument if it is being
// written. Regular files only: others (pipes, /dev/null) are never in each other's way. Inputs stay
// noted until the process ends; what was read must not be replaced afterwards either.
absl::Status NoteInput(int fd, const std::string& name);

// The same for a file that will be written: `path` is where it will be, absolute and without links
// in it; it need not exist. `name` is what errors call it: "--csv x.csv". InvalidArgument if it is
// read, or written already: the same file by another name or a hard link, too.
absl::Status NoteOutput(const std::string& path, const std::string& name);
// The same for an open file: standard output.
absl::Status NoteOutput(int fd, const std::string& name);
void ForgetOutput(const std::string& name);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FILE_TABLE_H_
