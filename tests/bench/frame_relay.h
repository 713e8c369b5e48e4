// Stands between a client and a server of HTTP/2 without TLS, and looks at the frames.
#ifndef BASEBAND_TESTS_BENCH_FRAME_RELAY_H_
#define BASEBAND_TESTS_BENCH_FRAME_RELAY_H_

#include <cstddef>
#include <string>
#include <thread>

namespace baseband::bench {

// Takes one connection, ends with it.
class FrameRelay {
 public:
  // What one side sent.
  struct Seen {
    size_t max_data = 0;           // payload of its largest DATA frame
    size_t max_frame_setting = 0;  // the largest frame it said it takes; 0: it said nothing
  };

  explicit FrameRelay(const std::string& target);
  ~FrameRelay();
  FrameRelay(const FrameRelay&) = delete;
  FrameRelay& operator=(const FrameRelay&) = delete;

  const std::string& address() const { return address_; }
  // Ends the connection, and says what there was.
  void Finish();
  const Seen& of_client() const { return of_client_; }
  const Seen& of_server() const { return of_server_; }

 private:
  static void Pump(int from, int to, size_t preface, Seen* seen);

  int listener_ = -1;
  int client_ = -1;
  int server_ = -1;
  std::string address_;
  Seen of_client_;
  Seen of_server_;
  std::thread thread_;
};

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_FRAME_RELAY_H_
