// All that a client can call of a server, with requests that it takes.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_METHODS_H_
#define BASEBAND_TESTS_FUZZ_WIRE_METHODS_H_

#include <string>
#include <vector>

#include "tests/support/channel.h"

namespace baseband::testing {

struct Method {
  std::string path;                   // "/package.Service/Method"
  std::vector<std::string> requests;  // messages as bytes, at least one
};

// Every method of the service, of health, reflection and the administration, which is served
// elsewhere, and a few that nobody has. Of the operations some small requests each, drawn by
// `random`.
std::vector<Method> AllMethods(Random& random);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_METHODS_H_
