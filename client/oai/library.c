#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, RTLD_DEEPBIND */
#endif
#include "client/oai/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/oai/log.h"

/* This library's symbols have the names of those that are looked for, and OpenAirInterface makes
 * them global: the other library has to prefer its own. Sanitizers do not go with that. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(IS_SANITIZED)
#define FLAGS (RTLD_LAZY | RTLD_LOCAL)
#else
#define FLAGS (RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

static const char here;                /* an address in this library */
static _Thread_local char reason[256]; /* why the last one was not opened */
static atomic_bool is_missing;

bool bo_library_is_missing(void) { return atomic_load(&is_missing); }

static bo_function find(void* handle, const char* name) {
  void* const symbol = dlsym(handle, name);
  Dl_info ours;
  Dl_info theirs;
  bo_function function = NULL;
  if (symbol == NULL) return NULL;
  /* It may be a link to this one. */
  if (dladdr(&here, &ours) != 0 && dladdr(symbol, &theirs) != 0 &&
      ours.dli_fbase == theirs.dli_fbase) {
    return NULL;
  }
  memcpy(&function, &symbol, sizeof(function));
  return function;
}

bool bo_open_library(bo_library* library, bo_part part, const char* path) {
  void* const handle = dlopen(path, FLAGS);
  if (handle == NULL) {
    const char* const error = dlerror();
    snprintf(reason, sizeof(reason), "%s", error == NULL ? "it cannot be opened" : error);
    return false;
  }
  memset(library, 0, sizeof(*library));
  library->slot_init = find(handle, "nrLDPC_coding_init");
  library->slot_shutdown = find(handle, "nrLDPC_coding_shutdown");
  library->slot_decoder = find(handle, "nrLDPC_coding_decoder");
  library->slot_encoder = find(handle, "nrLDPC_coding_encoder");
  library->init = find(handle, "LDPCinit");
  library->shutdown = find(handle, "LDPCshutdown");
  library->decoder = find(handle, "LDPCdecoder");
  library->encoder = find(handle, "LDPCencoder");
  const bool has_part = part == BO_SLOTS
                            ? library->slot_decoder != NULL && library->slot_encoder != NULL
                            : library->decoder != NULL && library->encoder != NULL;
  if (!has_part) {
    snprintf(reason, sizeof(reason), "it lacks functions, or is this plug-in");
    dlclose(handle);
    return false;
  }
  const char* const name = strrchr(path, '/');
  library->encodes_one = strstr(name == NULL ? path : name, "_orig") != NULL;
  snprintf(library->path, sizeof(library->path), "%s", path);
  return true; /* and stays open: who calls it may do so at any time */
}

/* What stands before the last '/' of `path`, with it. */
static void folder_of(char* path) {
  char* const end = strrchr(path, '/');
  if (end == NULL) {
    path[0] = '\0';
  } else {
    end[1] = '\0';
  }
}

static bool search(bo_library* library, bo_part part) {
  static const char* const kNames[] = {"libldpc.so", "libldpc_orig.so"};
  char folders[3][384] = {"", "", ""}; /* the last one: where the loader looks */
  Dl_info ours;
  if (dladdr(&here, &ours) != 0 && ours.dli_fname != NULL) {
    snprintf(folders[0], sizeof(folders[0]), "%s", ours.dli_fname);
    folder_of(folders[0]);
  }
  const ssize_t length = readlink("/proc/self/exe", folders[1], sizeof(folders[1]) - 1);
  if (length > 0) folder_of(folders[1]);
  for (size_t name = 0; name < sizeof(kNames) / sizeof(kNames[0]); ++name) {
    for (size_t folder = 0; folder < 3; ++folder) {
      char path[512];
      snprintf(path, sizeof(path), "%.380s%s", folders[folder], kNames[name]);
      if (bo_open_library(library, part, path)) return true;
    }
  }
  return false;
}

const bo_library* bo_library_for(bo_part part, const char* named) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bo_library libraries[2];
  static bool is_looked_for[2];
  bo_library* const library = &libraries[part];
  pthread_mutex_lock(&lock);
  if (!is_looked_for[part]) {
    is_looked_for[part] = true;
    const bool is_found =
        named[0] != '\0' ? bo_open_library(library, part, named) : search(library, part);
    if (!is_found) {
      library->path[0] = '\0';
      atomic_store(&is_missing, true);
      const char* const what = part == BO_SLOTS ? "codes slots" : "codes segments";
      if (named[0] != '\0') {
        bo_log("BASEBAND_LIBRARY=%s cannot be used (%s): without a server there is nothing that %s",
               named, reason, what);
      } else {
        bo_log(
            "libldpc.so is not found (BASEBAND_LIBRARY names it; %s): without a server there is "
            "nothing that %s",
            reason, what);
      }
    }
  }
  pthread_mutex_unlock(&lock);
  return library->path[0] == '\0' ? NULL : library;
}
