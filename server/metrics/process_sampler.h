// What the kernel knows of this process, for the process_* metrics. Zero where it does not say.
#ifndef BASEBAND_SERVER_METRICS_PROCESS_SAMPLER_H_
#define BASEBAND_SERVER_METRICS_PROCESS_SAMPLER_H_

namespace baseband::server {

double ProcessCpuSeconds();
double ProcessResidentBytes();
double ProcessOpenFds();
double ProcessMaxFds();
double ProcessStartSeconds();  // since 1970

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_PROCESS_SAMPLER_H_
