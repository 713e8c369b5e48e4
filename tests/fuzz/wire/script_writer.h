// Writes scripts, a move at a time.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_SCRIPT_WRITER_H_
#define BASEBAND_TESTS_FUZZ_WIRE_SCRIPT_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/wire/header_block.h"
#include "tests/fuzz/wire/script.h"

namespace baseband::testing {

// Of one connection. Remembers what is open on it, so that most of what it says means something.
class ScriptWriter {
 public:
  ScriptWriter(const std::vector<Method>& methods, Random* random);

  // The whole of it.
  Script Write();

 private:
  using Move = void (ScriptWriter::*)();
  struct WeightedMove {
    int weight;
    Move move;
  };
  static const std::vector<WeightedMove>& Moves();

  // ---- beginnings
  void Begin();
  void BeginOddly();
  void AskForPages();

  // ---- moves
  void CallRightly();
  void CallMutated();
  void OpenCalls();
  void SendOddHeaders();
  void SendEndlessHeader();
  void SendMessage();
  void SendOddMessage();
  void SendOddData();
  void SendPriority();
  void SendReset();
  void ResetMany();
  void SendSettings();
  void SendPings();
  void SendGoAway();
  void SendWindowUpdate();
  void SendUnknown();
  void SendOddLength();
  void SendGarbage();
  void Flood();
  void Pause();
  void Await();
  void StopReading();
  void HalfClose();

  // ---- what they are made of
  const Method& SomeMethod();
  const std::string& SomeRequest(const Method& method);
  // One that is open, if there is any; or 0, closed, idle, even, or none that can be.
  size_t SomeStream();
  size_t NewStream();
  // A header block in one frame or several, with what flags it needs.
  std::string HeaderFrames(size_t stream, const std::string& block, bool ends);
  // `message` in DATA frames of any lengths.
  std::string DataFrames(size_t stream, const std::string& message, bool ends);
  // A whole call, and none of its bytes sent.
  std::vector<std::string> CallFrames();
  // Says it after what came before, now or a few moves later.
  void Say(std::string bytes);
  // Sends what was said; cut somewhere now and then.
  void Flush();
  void Add(Step step);

  const std::vector<Method>& methods_;
  Random& random_;
  const Caller caller_;
  Script script_;
  std::string said_;
  size_t next_stream_ = 1;
  std::vector<size_t> open_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_SCRIPT_WRITER_H_
