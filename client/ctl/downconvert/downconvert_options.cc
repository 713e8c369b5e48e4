// The help of the flags in downconvert_flags.h.
#include "CLI/App.hpp"
#include "client/ctl/common/options.h"
#include "client/ctl/downconvert/downconvert_flags.h"

namespace baseband::ctl {
namespace {

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
  AddNumber(app, "--rate", "HZ", &flags->sample_rate_hz, UpTo(1e15),
            "sample rate of the input (SigMF, WAV: its own)")
      ->group(channels);
  AddNumber(app, "--centre", "HZ", &flags->centre_hz, AtLeast(0),
            "radio frequency at the middle of the input (SigMF, WAV: its own)")
      ->group(channels);
  AddList(
      app, "--channel", &flags->channels,
      "FREQ:DOWN, such as 9.1M:8: what is at FREQ goes to zero and is decimated by DOWN (or, left"
      " out, as --down says). FREQ may be a fraction of the sample rate, 9123457/64000000,"
      " or, where the centre is known, a radio frequency, @433.92M. Repeatable",
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
  AddNumber(app, "--down", "N", &flags->common.down, Between(1, 4096), "decimate by this (1)")
      ->group(all);
  AddNumber(app, "--up", "N", &flags->common.up, Between(1, 4096),
            "output rate = sample rate x up / down (1)")
      ->group(all);
  AddNumber(app, "--gain", "G", &flags->common.gain, AnyNumber(), "a factor, but not 0 (1)")
      ->group(all);
  AddNumber(app, "--phase", "DEGREES", &flags->common.phase_degrees, AnyNumber(),
            "of the oscillator at sample 0 of the signal (0)")
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
  AddNumber(app, "--segment", "SAMPLES", &flags->common.segment, Between(1, 1 << 22),
            "after which the study methods remove whole cycles (1024)")
      ->group(all);

  const char* filter = "Their filter (a mask, or your own taps)";
  AddNumber(app, "--pass", "HZ", &flags->common.pass_hz, Above(0),
            "passes up to HZ from the centre (0.4 of the output rate)")
      ->group(filter);
  AddNumber(app, "--stop", "HZ", &flags->common.stop_hz, Above(0),
            "stops from HZ on (where it would fold onto the pass band)")
      ->group(filter);
  AddNumber(app, "--ripple", "DB", &flags->common.ripple_db, Between(5e-7, 3),
            "in the pass band, peak to peak (0.1)")
      ->group(filter);
  AddNumber(app, "--attenuation", "DB", &flags->common.attenuation_db, Between(20, 140),
            "of what is stopped (80)")
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
