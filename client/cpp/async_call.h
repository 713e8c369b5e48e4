// What the polling threads know of a call, whatever its kind. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_ASYNC_CALL_H_
#define BASEBAND_CLIENT_CPP_ASYNC_CALL_H_

#include <memory>

namespace baseband::client {

class AsyncCall {
 public:
  virtual ~AsyncCall() = default;
  // Ends the call early; it then fails with Cancelled unless its answer is already there.
  virtual void Cancel() = 0;
  // The polling thread's part: an outstanding event has come. `event` is the call's own number for
  // it, `ok` what gRPC says of it.
  virtual void OnEvent(int event, bool ok) = 0;
};

// What an event of a completion queue belongs to. The queue owns the tag until it hands it back.
struct CallTag {
  std::shared_ptr<AsyncCall> call;
  int event = 0;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_ASYNC_CALL_H_
