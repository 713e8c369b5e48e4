// The files that a command writes. All of them are opened before its work begins, and stand in
// their places only once it has ended well: until then what is written lies in a temporary file
// beside, and what was there before stays.
//
//   Outputs outputs;
//   OutputFile* const csv = outputs.Open("--csv", csv_path);  // null if the path is empty
//   if (!outputs.status().ok()) return FailArguments(outputs.status());
//   ..  // the work
//   if (csv != nullptr) csv->Write(text);
//   if (const absl::Status status = outputs.Commit(); !status.ok()) return FailArguments(status);
#ifndef BASEBAND_CLIENT_CTL_COMMON_OUTPUTS_H_
#define BASEBAND_CLIENT_CTL_COMMON_OUTPUTS_H_

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/ctl/common/files.h"

namespace baseband::ctl {

// One of them. Made by Outputs, which it needs.
class OutputFile {
 public:
  // Removes the temporary file, if Outputs::Commit() has not moved it to its place.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Appends. What goes wrong is told by Outputs::status().
  void Write(absl::string_view bytes);

 private:
  friend class Outputs;
  OutputFile() = default;
  absl::Status Open(const std::string& path);
  absl::Status Close();
  absl::Status Replace();

  std::string name_;       // "--csv x.csv"
  std::string target_;     // its place, without links
  std::string temporary_;  // empty: written in place, as devices and pipes are
  FilePointer file_;
  absl::Status* status_ = nullptr;
};

// Not thread-safe. ^C, SIGTERM and SIGHUP, where they end the program, remove the temporary files.
class Outputs {
 public:
  Outputs() = default;

  // Opens `path`, "-" for standard output, which `flag` has named. Null if the path is empty, or if
  // something is wrong: status() says so. A name whose ending is not that of what `flag` writes, a
  // file that this process reads, also by another name, a link or a hard link, and one that is open
  // here already are InvalidArgument; one that cannot be written, and a folder that does not exist,
  // NotFound. A link is followed; devices and pipes are written in place.
  OutputFile* Open(absl::string_view flag, const std::string& path);

  // The first thing that went wrong.
  const absl::Status& status() const { return status_; }

  // Where people and scripts are told about the run: standard error if data goes to standard
  // output.
  std::FILE* report() const { return to_stdout_ ? stderr : stdout; }

  // Ends all files and moves them to their places. If status() is an error: that, and nothing is
  // moved. Once.
  absl::Status Commit();

 private:
  bool to_stdout_ = false;
  absl::Status status_;
  std::vector<std::unique_ptr<OutputFile>> files_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_OUTPUTS_H_
