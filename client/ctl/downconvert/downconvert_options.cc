// The help of the flags in downconvert_flags.h.
#include "CLI/App.hpp"
#include "client/ctl/common/si_option.h"
#include "client/ctl/downconvert/downconvert_flags.h"

namespace baseband::ctl {
namespace {

CLI::Option* AddNumber(CLI::App* app, const char* name, double* value, const char* help,
                       const char* type, const char* group) {
  return app->add_option(name, *value, help)->transform(SiNumber())->type_name(type)->group(group);
}

CLI::Option* AddList(CLI::App* app, const char* name, std::vector<std::string>* values,
                     const char* help, const char* type, const char* group) {
  // One value each time: what comes after it is not swallowed.
  return app->add_option(name, *values, help)
      ->allow_extra_args(false)
      ->type_name(type)
      ->group(group);
}

}  // namespace

void AddDownconvertFlags(CLI::App* app, DownconvertFlags* flags) {
  const char* channels = "Channels";
  AddNumber(app, "--rate", &flags->sample_rate_hz, "sample rate of the input (SigMF: its own)",
            "HZ", channels);
  AddList(
      app, "--channel", &flags->channels,
      "FREQ:DOWN, such as 9.1M:8: what is at FREQ goes to zero and is decimated by DOWN (or, left"
      " out, as --down says). FREQ may be a fraction of the sample rate, 9123457/64000000."
      " Repeatable",
      "FREQ", channels);
  AddList(app, "--fraction", &flags->fractions, "the same; FREQ must be a fraction", "NUM/DEN",
          channels);
  app->add_option(
         "--channels", flags->channels_file,
         "many: a JSON list, [{\"frequency\": \"9.1M\", \"down\": 8}, ..]; the keys up, pass,"
         " stop, ripple, attenuation, design, taps, gain, phase, output, nco and segment"
         " take the place of the flags")
      ->type_name("FILE")
      ->group(channels);
  AddList(app, "--retune", &flags->retunes,
          "CH@SAMPLE=FREQ: channel CH (0 ..) has a new frequency from SAMPLE of the input on."
          " The phase does not jump; with :coherent after it, it is as if FREQ had run since"
          " sample 0. Repeatable",
          "CHANGE", channels);

  const char* all = "Of all channels that do not say otherwise";
  app->add_option("--down", flags->common.down, "decimate by: 1 .. 4096 (1)")
      ->type_name("N")
      ->group(all);
  app->add_option("--up", flags->common.up, "output rate = sample rate x up / down: 1 .. 4096 (1)")
      ->type_name("N")
      ->group(all);
  AddNumber(app, "--gain", &flags->common.gain, "a factor (1)", "G", all);
  app->add_option("--phase", flags->common.phase_degrees,
                  "of the oscillator at sample 0 of the signal, in degrees (0)")
      ->type_name("DEGREES")
      ->group(all);
  app->add_option("--output", flags->output,
                  "cf32, cf16 or ci16: 32767 is 1; what does not fit is cut off and counted (cf32)")
      ->type_name("NAME")
      ->group(all);
  app->add_option("--nco", flags->nco,
                  "exact; for study, on the first 2^22 samples: float, accumulated, segmented,"
                  " fast2sum, 2sum, double (exact)")
      ->type_name("METHOD")
      ->group(all);
  app->add_option("--segment", flags->common.segment,
                  "samples after which the study methods remove whole cycles (1024)")
      ->type_name("N")
      ->group(all);

  const char* filter = "Their filter (a mask, or your own taps)";
  AddNumber(app, "--pass", &flags->common.pass_hz,
            "passes up to HZ from the centre (0.4 of the output rate)", "HZ", filter);
  AddNumber(app, "--stop", &flags->common.stop_hz,
            "stops from HZ on (where it would fold onto the pass band)", "HZ", filter);
  app->add_option("--ripple", flags->common.ripple_db, "in the pass band, peak to peak (0.1)")
      ->type_name("DB")
      ->group(filter);
  app->add_option("--attenuation", flags->common.attenuation_db,
                  "of what is stopped: 20 .. 140 (80)")
      ->type_name("DB")
      ->group(filter);
  app->add_flag("--kaiser", flags->common.kaiser,
                "a windowed sinc instead of an equiripple filter: stops better farther out")
      ->group(filter);
  app->add_option(
         "--taps", flags->taps_file,
         "your taps, at up x the sample rate: numbers as text, # for comments; .f32: float32")
      ->type_name("FILE")
      ->group(filter);
}

}  // namespace baseband::ctl
