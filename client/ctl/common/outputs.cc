#include "client/ctl/common/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/file_table.h"
#include "client/ctl/common/interrupt.h"

namespace baseband::ctl {
namespace {

namespace fs = std::filesystem;

// Where `path` leads to, without links in it, even if nothing is there yet. Empty if it is nowhere.
std::string Resolve(fs::path path) {
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    if (links == 40) {
      return "";
    }
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  return error ? "" : (folder / path.filename()).string();
}

// What a flag writes, and how the name of such a file may end; without an ending it may be any.
struct Kind {
  absl::string_view flag;
  const char* what;
  const char* endings;  // separated by blanks
};
constexpr Kind kKinds[] = {{"--plot", "what is drawn is SVG", ".svg"},
                           {"--map", "what is drawn is SVG", ".svg .csv"},
                           {"--csv", "what is written is a table", ".csv .txt"},
                           {"--html", "what is written is a page", ".html .htm"},
                           {"trace", "what is written is JSON", ".json"}};

// Viewers and people go by the name, and would call the file broken.
absl::Status CheckEnding(absl::string_view flag, absl::string_view path, absl::string_view name) {
  const std::string ending =
      absl::AsciiStrToLower(fs::path(std::string(path)).extension().string());
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const Kind& known) { return known.flag == flag; });
  if (kind == std::end(kKinds) || ending.empty() || ending == ".") {
    return absl::OkStatus();
  }
  const std::vector<std::string> endings = absl::StrSplit(kind->endings, ' ');
  for (const std::string& allowed : endings) {
    if (ending == allowed) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", kind->what, ", not ", ending,
                                                 ": name a ", absl::StrJoin(endings, " or ")));
}

mode_t NewFileMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::~OutputFile() {
  file_.reset();
  if (!temporary_.empty()) {
    ForgetTemporary(temporary_);
    unlink(temporary_.c_str());
  }
  ForgetOutput(name_);
}

void OutputFile::Write(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    status_->Update(FileError("write", name_));
  }
}

absl::Status OutputFile::Open(const std::string& path) {
  if (path == "-") {
    file_.reset(stdout);
    return NoteOutput(STDOUT_FILENO, name_);
  }
  struct stat status = {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return absl::NotFoundError(absl::StrCat(name_, " is a folder: name a file"));
  }
  // /dev/stdout may lead to a file, whose place is not ours to change.
  if (exists && (!S_ISREG(status.st_mode) || absl::StartsWith(path, "/dev/") ||
                 absl::StartsWith(path, "/proc/"))) {
    file_.reset(std::fopen(path.c_str(), "wb"));
    return file_ != nullptr ? absl::OkStatus() : FileError("open", name_);
  }
  target_ = Resolve(path);
  if (target_.empty() || fs::path(target_).filename().empty()) {
    return absl::NotFoundError(
        absl::StrCat("cannot create ", name_, ": there is no such folder; make it first"));
  }
  if (absl::Status noted = NoteOutput(target_, name_); !noted.ok()) {
    return noted;
  }
  if (exists && access(path.c_str(), W_OK) != 0) {
    return FileError("write", name_);
  }
  temporary_ = (fs::path(target_).parent_path() / ".basebandctl.XXXXXX").string();
  const int fd = MakeTemporary(&temporary_);
  if (fd < 0) {
    temporary_.clear();
    return FileError("create", name_);
  }
  file_.reset(fdopen(fd, "wb"));
  return fchmod(fd, exists ? status.st_mode & 07777 : NewFileMode()) == 0
             ? absl::OkStatus()
             : FileError("create", name_);
}

absl::Status OutputFile::Close() {
  std::FILE* const file = file_.release();
  return (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 ? absl::OkStatus()
                                                                       : FileError("write", name_);
}

absl::Status OutputFile::Replace() {
  if (temporary_.empty()) {
    return absl::OkStatus();
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    return FileError("write", name_);
  }
  ForgetTemporary(temporary_);
  temporary_.clear();
  return absl::OkStatus();
}

OutputFile* Outputs::Open(absl::string_view flag, const std::string& path) {
  if (path.empty() || !status_.ok()) {
    return nullptr;
  }
  const std::string name = absl::StrCat(flag, " ", path);
  if (path == "-" && to_stdout_) {
    status_ = absl::InvalidArgumentError(
        absl::StrCat(name, ": another output goes to standard output: name a file"));
    return nullptr;
  }
  to_stdout_ |= path == "-";
  std::unique_ptr<OutputFile> file(new OutputFile);
  file->name_ = name;
  file->status_ = &status_;
  status_ = file->Open(path);
  status_.Update(CheckEnding(flag, path, name));
  if (!status_.ok()) {
    return nullptr;
  }
  files_.push_back(std::move(file));
  return files_.back().get();
}

absl::Status Outputs::Commit() {
  for (const auto& file : files_) {
    status_.Update(file->Close());
  }
  for (const auto& file : files_) {
    if (status_.ok()) {
      status_ = file->Replace();
    }
  }
  return status_;
}

}  // namespace baseband::ctl
