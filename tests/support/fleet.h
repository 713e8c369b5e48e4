// Several servers, each on a host of its own.
#ifndef BASEBAND_TESTS_SUPPORT_FLEET_H_
#define BASEBAND_TESTS_SUPPORT_FLEET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/server_process.h"

namespace baseband::testing {

// A host is a network namespace with an address and a link to this one, where this process may make
// some (as root, with iproute2); elsewhere it is another address of the loopback network.
class Fleet {
 public:
  // `servers` of them, none started.
  Fleet(int servers, std::vector<std::string> flags);

  // Starts it, again at the same address if it has ended, and waits until it serves.
  absl::Status Start(int server);
  absl::Status StartAll();

  int size() const { return static_cast<int>(hosts_.size()); }
  // The last process of this server; null: never started.
  ServerProcess* operator[](int server) {
    return hosts_[static_cast<size_t>(server)].process.get();
  }
  // All of them, as ClientOptions::target takes it.
  std::string target() const;

  // Whether the hosts are network namespaces: only then links can be cut.
  bool has_links() const { return has_links_; }
  // Cuts the link, as if the host had lost power, or mends it.
  absl::Status SetLink(int server, bool up);

 private:
  struct Host {
    std::unique_ptr<ChildProcess> keeper;  // the namespace lives as long as it does
    std::string link;
    Place place;
    std::unique_ptr<ServerProcess> process;
  };

  static absl::Status MakeLink(int number, Host* host);

  const std::vector<std::string> flags_;
  std::vector<Host> hosts_;
  bool has_links_ = false;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FLEET_H_
