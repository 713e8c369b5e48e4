// How the process is told to end: from outside by SIGTERM or SIGINT, from inside when no device is
// left or an admin wants it so.
#ifndef BASEBAND_SERVER_PROCESS_END_SIGNALS_H_
#define BASEBAND_SERVER_PROCESS_END_SIGNALS_H_

#include <functional>
#include <string>

namespace baseband::server {

class EndSignals {
 public:
  enum class Cause { kSignal, kAdmin, kNoDevice };
  struct End {
    Cause cause = Cause::kSignal;
    std::string why;  // for people: "TERM", "an admin wants it so"
  };

  // They are waited for, not caught: blocks them for this thread, and for those that it starts from
  // then on. Before there are others.
  EndSignals();

  // From inside, on any thread: kAdmin or kNoDevice. False if it could not be sent, or comes from outside.
  static bool Send(Cause cause);

  // Until the first.
  End Await() const;

  // From then on, on a thread of its own, whatever the others wait for: a second SIGTERM or SIGINT
  // calls `cut_short`, which ends the process. The first of them may come to an end that began from
  // inside, from who stops what an admin has drained; it only calls `tell`, with its name.
  void AwaitSecond(Cause first, std::function<void(const std::string& name)> tell,
                   std::function<void()> cut_short) const;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_END_SIGNALS_H_
