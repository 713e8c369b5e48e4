#include "client/ctl/common/file_table.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace baseband::ctl {
namespace {

struct File {
  bool is_output = false;
  std::string name;
  std::string path;  // of an output, if it has one
  bool exists = false;
  dev_t device = 0;
  ino_t inode = 0;

  bool Is(const File& other) const {
    return exists && other.exists ? device == other.device && inode == other.inode
                                  : !path.empty() && path == other.path;
  }
};

absl::Status Conflict(const File& file, const File& before) {
  if (file.is_output && before.is_output) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name, " and ", before.name, " are the same file: name two"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat((file.is_output ? file : before).name, " would overwrite ",
                   (file.is_output ? before : file).name, ", which is read: name another file"));
}

class FileTable {
 public:
  absl::Status Add(File file) {
    absl::MutexLock lock(&mutex_);
    for (const File& before : files_) {
      if ((file.is_output || before.is_output) && file.Is(before)) {
        return Conflict(file, before);
      }
    }
    files_.push_back(std::move(file));
    return absl::OkStatus();
  }
  void ForgetOutput(const std::string& name) {
    absl::MutexLock lock(&mutex_);
    files_.erase(
        std::remove_if(files_.begin(), files_.end(),
                       [&](const File& file) { return file.is_output && file.name == name; }),
        files_.end());
  }

 private:
  absl::Mutex mutex_;
  std::vector<File> files_ ABSL_GUARDED_BY(mutex_);
};

FileTable& TheTable() {
  static auto& table = *new FileTable;
  return table;
}

// What `status` tells of a file; false if it is none that others can be in the way of.
bool Identify(const struct stat& status, File* file) {
  file->exists = true;
  file->device = status.st_dev;
  file->inode = status.st_ino;
  return S_ISREG(status.st_mode);
}

absl::Status NoteOpen(bool is_output, int fd, const std::string& name) {
  File file;
  file.is_output = is_output;
  file.name = name;
  struct stat status = {};
  return fstat(fd, &status) == 0 && Identify(status, &file) ? TheTable().Add(std::move(file))
                                                            : absl::OkStatus();
}

}  // namespace

absl::Status NoteInput(int fd, const std::string& name) {
  return NoteOpen(/*is_output=*/false, fd, name);
}

absl::Status NoteOutput(int fd, const std::string& name) {
  return NoteOpen(/*is_output=*/true, fd, name);
}

absl::Status NoteOutput(const std::string& path, const std::string& name) {
  File file;
  file.is_output = true;
  file.name = name;
  file.path = path;
  struct stat status = {};
  const bool other = stat(path.c_str(), &status) == 0 && !Identify(status, &file);
  return other ? absl::OkStatus() : TheTable().Add(std::move(file));
}

void ForgetOutput(const std::string& name) { TheTable().ForgetOutput(name); }

}  // namespace baseband::ctl
