// basebandctl: the command line of Baseband Offload.
#include "client/cpp/process_tuning.h"
#include "client/ctl/command_line.h"

int main(int argc, char** argv) {
  baseband::client::ApplyMallocTuning();
  baseband::client::LockWithoutChecks();
  baseband::client::QuietGrpcLog();
  return baseband::ctl::CommandLine(BASEBAND_VERSION).Run(argc, argv);
}
