// Grants clients of this host memory that they share with the server, over a Unix socket of its own
// (--shm-listen). What is said: common/shm/region_messages.h.
#ifndef BASEBAND_SERVER_SHM_REGION_SERVER_H_
#define BASEBAND_SERVER_SHM_REGION_SERVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/shm/region_messages.h"
#include "server/auth/access.h"
#include "server/auth/allowance.h"
#include "server/config/config.h"
#include "server/metrics/metrics.h"
#include "server/process/listening_socket.h"
#include "server/shm/region_table.h"
#include "server/shm/ring_host.h"

namespace baseband::server {

// One thread looks after all connections, one message of each in turn. Who asks for more than a
// table's limits, or too often, is refused by name; who does not read his answer is cut off.
class RegionServer {
 public:
  // Connections at a time, of all and of one client.
  static constexpr int kMaxConnections = 1024;
  static constexpr int kMaxClientConnections = 64;
  // Grants and refusals of one client: so many at once, and so many a second. Each may keep the
  // driver of the GPUs for milliseconds.
  static constexpr double kMostGrants = 64;
  static constexpr double kGrantsPerSecond = 8;

  // Listens at the Unix socket `path`. `access` and `table` outlive it. Unavailable says why the
  // address cannot be had.
  static absl::StatusOr<std::unique_ptr<RegionServer>> Start(const std::string& path,
                                                             int socket_mode, Access* access,
                                                             RegionTable* table);
  // All regions are freed; those that are still used stay in the table until Reap().
  ~RegionServer();
  RegionServer(const RegionServer&) = delete;
  RegionServer& operator=(const RegionServer&) = delete;

  // From now on, who serves rings; null: nobody, and those that there are have ended.
  void SetRingHost(RingHost* host) ABSL_LOCKS_EXCLUDED(rings_mutex_);

 private:
  struct Connection {
    std::string client;
    absl::Status refusal;  // not OK: the answer to whatever it asks
    std::set<std::string> regions;
  };
  struct Client {
    int connections = 0;
    Allowance grants{kMostGrants, kGrantsPerSecond};
  };

  RegionServer(ListeningSocket listening, Access* access, RegionTable* table);

  void Run();
  void Accept();
  // Reads a message of the connection `fd` and answers it. False: it is over.
  bool Serve(int fd, Connection* connection);
  // What is to be passed on with the answer.
  struct Given {
    RegionTable::Grant region;
    int fd = -1;
  };
  absl::Status Do(const shm::RegionRequest& request, Connection* connection, Given* given);
  absl::Status Grant(const shm::RegionRequest& request, Connection* connection, Given* given);
  absl::Status OpenRingIn(const shm::RegionRequest& request, const Connection& connection,
                          Given* given) ABSL_LOCKS_EXCLUDED(rings_mutex_);
  // With the rings in it.
  void Remove(const std::string& region) ABSL_LOCKS_EXCLUDED(rings_mutex_);
  void Close(int fd);
  // Forgets clients who have nothing here and have not asked for anything lately.
  void ForgetClients();

  const ListeningSocket listening_;
  Access* const access_;
  RegionTable* const table_;
  const int stop_fd_;
  absl::Mutex rings_mutex_;
  RingHost* ring_host_ ABSL_GUARDED_BY(rings_mutex_) = nullptr;
  std::multimap<std::string, std::unique_ptr<OpenRing>> rings_
      ABSL_GUARDED_BY(rings_mutex_);  // by region
  // The thread's:
  std::map<int, Connection> connections_;  // by descriptor
  std::map<std::string, Client> clients_;
  std::thread thread_;
};

// What a server that shares memory has of it.
struct SharedRegions {
  std::unique_ptr<RegionTable> table;
  std::unique_ptr<RegionServer> server;
};

// As `config` says: empty, if it shares none. `access`, `devices` and `metrics`, on whose page is
// how much is shared, outlive them; the page does not.
absl::StatusOr<SharedRegions> StartRegions(const Config& config, Access* access,
                                           const std::vector<Device*>& devices, Metrics* metrics);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_REGION_SERVER_H_
