// What the shared library shows of itself.
#ifndef BASEBAND_CLIENT_CPP_VISIBILITY_H_
#define BASEBAND_CLIENT_CPP_VISIBILITY_H_

// Its files are compiled with -fvisibility=hidden: programs see what is BASEBAND_PUBLIC, of that
// nothing that is BASEBAND_PRIVATE, and nothing else.
#define BASEBAND_PUBLIC __attribute__((visibility("default")))
#define BASEBAND_PRIVATE __attribute__((visibility("hidden")))

#endif  // BASEBAND_CLIENT_CPP_VISIBILITY_H_
