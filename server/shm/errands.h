// Work on files that clients have, too, and can make last as long as they like: each on a thread of
// its own, so that nobody waits for it but who asked.
#ifndef BASEBAND_SERVER_SHM_ERRANDS_H_
#define BASEBAND_SERVER_SHM_ERRANDS_H_

#include <functional>
#include <memory>

namespace baseband::server {

// Calls `work`, and lets go of it, on a thread that nobody waits for; on this one where there is no
// other to be had. Who calls bounds how many there are.
void RunElsewhere(std::function<void()> work);

// The same for work that is waited for in the end. Thread-safe.
class Errands {
 public:
  Errands();
  // Waits for all.
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  void Run(std::function<void()> errand);

 private:
  struct Count;
  const std::shared_ptr<Count> count_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_ERRANDS_H_
