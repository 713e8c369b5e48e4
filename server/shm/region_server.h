// Grants clients of this host memory that they share with the server, over a Unix socket of its own
// (--shm-listen). What is said: common/shm/region_messages.h.
#ifndef BASEBAND_SERVER_SHM_REGION_SERVER_H_
#define BASEBAND_SERVER_SHM_REGION_SERVER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/shm/region_messages.h"
#include "server/auth/access.h"
#include "server/auth/allowance.h"
#include "server/limits/memory_steps.h"
#include "server/process/listening_socket.h"
#include "server/shm/errands.h"
#include "server/shm/grant_thread.h"
#include "server/shm/region_rings.h"
#include "server/shm/region_table.h"
#include "server/shm/ring_host.h"

namespace baseband::server {

// One thread looks after all connections, one message of each in turn, and waits for nothing else:
// another one makes the memory. Who asks for more than a table's limits, too often, or while memory
// is scarce, is refused by name; who does not read his answer is cut off.
class RegionServer {
 public:
  // Connections at a time, of all and of one client.
  static constexpr int kMaxConnections = 1024;
  static constexpr int kMaxClientConnections = 64;
  // Descriptors' ends that keep threads waiting, before nobody else is let in.
  static constexpr int kMaxClosing = 256;
  // Grants and refusals of one client: so many at once, and so many a second. Each may keep the
  // driver of the GPUs for milliseconds.
  static constexpr double kMostGrants = 64;
  static constexpr double kGrantsPerSecond = 8;
  // Bytes granted to one client: twice what it may have at once, and so many a second. Page-locking
  // a GiB keeps the driver for 30 ms.
  static constexpr double kGrantedBytesPerSecond = 512 << 20;

  struct Options {
    int socket_mode = 0600;
    // A grant takes no longer; then it is Unavailable. Clients wait for an answer for 5 s.
    absl::Duration patience = absl::Seconds(2);
    // Says whether there is memory to give away.
    std::shared_ptr<const MemorySteps> memory = std::make_shared<MemorySteps>(0, 0);
  };

  // Listens at the Unix socket `path`. `access` and `table` outlive it. Unavailable says why the
  // address cannot be had.
  static absl::StatusOr<std::unique_ptr<RegionServer>> Start(const std::string& path,
                                                             Options options, Access* access,
                                                             RegionTable* table);
  // All regions are freed; those that are still used stay in the table until Reap().
  ~RegionServer();
  RegionServer(const RegionServer&) = delete;
  RegionServer& operator=(const RegionServer&) = delete;

  // From now on, who serves rings; null: nobody, and those that there are have ended.
  void SetRingHost(RingHost* host) { rings_.SetHost(host); }

 private:
  struct Connection {
    std::string client;
    absl::Status refusal;  // not OK: the answer to whatever it asks
    std::set<std::string> regions;
    uint64_t order = 0;          // of the grant or seal that it waits for; 0: none
    absl::Time due;              // of that
    shm::RegionRequest request;  // which asked for it
  };
  struct Client {
    int connections = 0;
    Allowance grants{kMostGrants, kGrantsPerSecond};
    Allowance bytes;
  };

  RegionServer(ListeningSocket listening, Options options, Access* access, RegionTable* table);

  void Run();
  void Accept();
  // Reads a message of the connection `fd`, and answers it unless it waits for a grant. False: it
  // is over.
  bool Serve(int fd, Connection* connection);
  // What is passed on with an answer.
  struct Given {
    RegionTable::Grant region;
    int bell_fd = -1;  // a copy, to be closed
  };
  // False: the client does not read.
  bool Answer(int fd, const absl::Status& status, const Given& given) const;
  // The region that it is about.
  static std::string NameOf(const shm::RegionRequest& request);
  // A grant is OK, too, and answered when it is made, as what waits for a seal.
  absl::Status Do(const shm::RegionRequest& request, int fd, Connection* connection, Given* given);
  absl::Status Order(int64_t bytes, int fd, Connection* connection);
  // The same of a region that `request` says is mapped.
  absl::Status OrderSeal(const shm::RegionRequest& request, int fd, Connection* connection);
  absl::Status OpenRingIn(const shm::RegionRequest& request, const Connection& connection,
                          Given* given);
  // What was made goes to who waits for it; who has waited for too long is told so.
  void AnswerGrants();
  // False: the client does not read.
  bool AnswerSeal(int fd, Connection* connection, const absl::Status& sealed);
  // How long to wait for anything, as poll() takes it.
  int WaitMs() const;
  Client& ClientOf(const std::string& name);
  // On a thread that nobody waits for. The end of a connection drops what was passed on with
  // messages that nobody has read, and the end of the last descriptor of a file takes as long as
  // who made it likes.
  void CloseElsewhere(std::vector<int> fds);
  // With the rings in it.
  void Remove(const std::string& region);
  void Close(int fd);
  // Forgets clients who have nothing here and have not asked for anything lately.
  void ForgetClients();

  const ListeningSocket listening_;
  const Options options_;
  Access* const access_;
  RegionTable* const table_;
  const int stop_fd_;
  const int made_fd_;
  RegionRings rings_;
  // The thread's:
  std::map<int, Connection> connections_;  // by descriptor
  std::map<std::string, Client> clients_;
  uint64_t last_order_ = 0;
  const std::shared_ptr<std::atomic<int>> closing_ = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<GrantThread> grants_;
  std::thread thread_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_REGION_SERVER_H_
