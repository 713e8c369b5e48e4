// Work that is done slice by slice, in one thread: loops that may be left between any two rounds.
//
//   work.Do({SlicedWork::Each(rows, columns, [&](int64_t begin, int64_t end) { .. rows .. }),
//            SlicedWork::Once([&] { if (!good) work.Do({.. more, before what comes next ..}); })});
//   while (!work.Run(1000000)) SomebodyElsesTurn();
#ifndef BASEBAND_KERNELS_DOWNCONVERT_SLICED_WORK_H_
#define BASEBAND_KERNELS_DOWNCONVERT_SLICED_WORK_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace baseband::downconvert {

// Not thread-safe. What its parts point to stays where it is until they are done.
class SlicedWork {
 public:
  struct Part {
    int64_t rounds = 0;
    int64_t cost = 1;  // of a round, in operations: about a nanosecond each
    std::function<void(int64_t begin, int64_t end)> body;
    int64_t next = 0;
  };
  // A loop of `rounds`; `body` does some of them, in ascending order.
  static Part Each(int64_t rounds, int64_t cost,
                   std::function<void(int64_t begin, int64_t end)> body) {
    return {rounds, std::max<int64_t>(cost, 1), std::move(body), 0};
  }
  // One round, which may call Do.
  static Part Once(std::function<void()> body) {
    return Each(1, 1000, [body = std::move(body)](int64_t, int64_t) { body(); });
  }

  // Adds `parts`, to be done in this order, before all that is left.
  void Do(std::vector<Part> parts) {
    for (size_t p = parts.size(); p-- > 0;) left_.push_back(std::move(parts[p]));
  }

  // Does work of about `cost`, of a part's round at least; true once nothing is left.
  bool Run(int64_t cost) {
    while (cost > 0 && !left_.empty()) {
      Part part = std::move(left_.back());  // its body may call Do
      left_.pop_back();
      const int64_t begin = part.next;
      part.next = std::min(part.rounds, begin + std::max<int64_t>(cost / part.cost, 1));
      cost -= (part.next - begin) * part.cost;
      part.body(begin, part.next);
      if (part.next < part.rounds) left_.push_back(std::move(part));
    }
    return left_.empty();
  }

 private:
  std::vector<Part> left_;  // the last one is next
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_SLICED_WORK_H_
