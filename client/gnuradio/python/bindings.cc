// The Python module gnuradio.baseband_offload.baseband_offload_python.
#include <gnuradio/baseband_offload/carrier_recovery.h>
#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/baseband_offload/downconverter.h>
#include <gnuradio/baseband_offload/fec_decoder.h>
#include <gnuradio/baseband_offload/frame_counts.h>
#include <gnuradio/baseband_offload/ldpc_code.h>
#include <gnuradio/baseband_offload/ldpc_decoder.h>
#include <gnuradio/baseband_offload/ldpc_encoder.h>
#include <gnuradio/baseband_offload/process.h>
#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace py = pybind11;
using namespace gr::baseband_offload;  // NOLINT: they are what is bound

namespace {

void BindConnection(py::module& m) {
  py::enum_<failure_policy>(m, "failure_policy")
      .value("push_back", failure_policy::push_back)
      .value("drop", failure_policy::drop);
  py::class_<connection>(m, "connection", "How a block reaches its server.")
      .def(py::init([](const std::string& target, int in_flight, int request_kib, double timeout_s,
                       failure_policy on_failure, const std::string& ca_file,
                       const std::string& cert_file, const std::string& key_file,
                       const std::string& server_name, const std::string& token_file) {
             connection made;
             made.target = target;
             made.in_flight = in_flight;
             made.request_kib = request_kib;
             made.timeout_s = timeout_s;
             made.on_failure = on_failure;
             made.ca_file = ca_file;
             made.cert_file = cert_file;
             made.key_file = key_file;
             made.server_name = server_name;
             made.token_file = token_file;
             made.check();
             return made;
           }),
           py::arg("target") = connection().target, py::kw_only(),
           py::arg("in_flight") = connection().in_flight,
           py::arg("request_kib") = connection().request_kib,
           py::arg("timeout_s") = connection().timeout_s,
           py::arg("on_failure") = connection().on_failure, py::arg("ca_file") = "",
           py::arg("cert_file") = "", py::arg("key_file") = "", py::arg("server_name") = "",
           py::arg("token_file") = "")
      .def_readonly("target", &connection::target)
      .def_readonly("in_flight", &connection::in_flight)
      .def_readonly("request_kib", &connection::request_kib)
      .def_readonly("timeout_s", &connection::timeout_s)
      .def_readonly("on_failure", &connection::on_failure);
  py::class_<frame_counts>(m, "frame_counts", "What became of a block's frames.")
      .def_readonly("taken", &frame_counts::taken)
      .def_readonly("answered", &frame_counts::answered)
      .def_readonly("dropped", &frame_counts::dropped)
      .def_readonly("requests", &frame_counts::requests);
}

void BindLdpc(py::module& m) {
  py::class_<ldpc_code>(m, "ldpc_code", "An LDPC code that the server knows.")
      .def_static("nr", &ldpc_code::nr, py::arg("base_graph"), py::arg("zc"), py::arg("rows") = 0)
      .def_static("wimax", &ldpc_code::wimax, py::arg("rate"), py::arg("n"))
      .def_static("wifi", &ldpc_code::wifi, py::arg("rate"), py::arg("n"))
      .def_static("custom", &ldpc_code::custom, py::arg("rows"), py::arg("columns"), py::arg("zc"),
                  py::arg("shifts"), py::arg("punctured_columns") = 0)
      .def_property_readonly("n", &ldpc_code::n, "Bits that are sent, fillers included.")
      .def_property_readonly("k", &ldpc_code::k, "Information bits, fillers included.")
      .def_property_readonly("name", &ldpc_code::name)
      .def("__repr__", &ldpc_code::name);

  py::enum_<decode_algorithm>(m, "decode_algorithm")
      .value("normalized_min_sum", decode_algorithm::normalized_min_sum)
      .value("sum_product", decode_algorithm::sum_product)
      .value("bit_flipping", decode_algorithm::bit_flipping);

  const decode_options decode;
  py::class_<ldpc_decoder, gr::block, gr::basic_block, std::shared_ptr<ldpc_decoder>>(
      m, "ldpc_decoder", "Soft values in, decided bits out; see ldpc_decoder.h.")
      .def(py::init([](const ldpc_code& code, const connection& server, double llr_scale,
                       int max_iterations, bool fixed_iterations, decode_algorithm algorithm,
                       int n_filler, bool packed) {
             decode_options options;
             options.llr_scale = llr_scale;
             options.max_iterations = max_iterations;
             options.fixed_iterations = fixed_iterations;
             options.algorithm = algorithm;
             options.n_filler = n_filler;
             options.packed = packed;
             return ldpc_decoder::make(code, options, server);
           }),
           py::arg("code"), py::arg("server"), py::kw_only(),
           py::arg("llr_scale") = decode.llr_scale,
           py::arg("max_iterations") = decode.max_iterations,
           py::arg("fixed_iterations") = decode.fixed_iterations,
           py::arg("algorithm") = decode.algorithm, py::arg("n_filler") = decode.n_filler,
           py::arg("packed") = decode.packed)
      .def("counts", &ldpc_decoder::counts);

  const encode_options encode;
  py::class_<ldpc_encoder, gr::block, gr::basic_block, std::shared_ptr<ldpc_encoder>>(
      m, "ldpc_encoder", "Information bits in, bits to send out; see ldpc_encoder.h.")
      .def(py::init([](const ldpc_code& code, const connection& server, int n_filler,
                       bool packed_input, bool packed) {
             encode_options options;
             options.n_filler = n_filler;
             options.packed_input = packed_input;
             options.packed = packed;
             return ldpc_encoder::make(code, options, server);
           }),
           py::arg("code"), py::arg("server"), py::kw_only(), py::arg("n_filler") = encode.n_filler,
           py::arg("packed_input") = encode.packed_input, py::arg("packed") = encode.packed)
      .def("counts", &ldpc_encoder::counts);
}

void BindFec(py::module& m) {
  py::module::import("gnuradio.fec");
  const decode_options decode;
  py::class_<fec_decoder, gr::fec::generic_decoder, std::shared_ptr<fec_decoder>>(
      m, "fec_decoder", "A decoder object for gr-fec; see fec_decoder.h.")
      .def(py::init([](const ldpc_code& code, const connection& server, int frames,
                       double llr_scale, int max_iterations, bool fixed_iterations,
                       decode_algorithm algorithm, int n_filler) {
             decode_options options;
             options.llr_scale = llr_scale;
             options.max_iterations = max_iterations;
             options.fixed_iterations = fixed_iterations;
             options.algorithm = algorithm;
             options.n_filler = n_filler;
             return fec_decoder::make(code, frames, options, server);
           }),
           py::arg("code"), py::arg("server"), py::kw_only(), py::arg("frames") = 16,
           py::arg("llr_scale") = decode.llr_scale,
           py::arg("max_iterations") = decode.max_iterations,
           py::arg("fixed_iterations") = decode.fixed_iterations,
           py::arg("algorithm") = decode.algorithm, py::arg("n_filler") = decode.n_filler)
      .def("dropped", &fec_decoder::dropped)
      .def("parity_failures", &fec_decoder::parity_failures);
}

void BindSignals(py::module& m) {
  py::enum_<coarse_method>(m, "coarse_method")
      .value("automatic", coarse_method::automatic)
      .value("power", coarse_method::power)
      .value("known_symbols", coarse_method::known_symbols)
      .value("none", coarse_method::none);
  py::enum_<fine_method>(m, "fine_method")
      .value("remodulate", fine_method::remodulate)
      .value("sweep", fine_method::sweep)
      .value("interpolate", fine_method::interpolate)
      .value("pll", fine_method::pll)
      .value("none", fine_method::none);
  const carrier_options carrier;
  py::class_<carrier_recovery, gr::block, gr::basic_block, std::shared_ptr<carrier_recovery>>(
      m, "carrier_recovery",
      "Symbols or samples in, corrected symbols out; see carrier_recovery.h.")
      .def(
          py::init([](const connection& server, const std::string& constellation, int frame_symbols,
                      const std::vector<gr_complex>& points, const std::string& frame_tag,
                      const std::vector<gr_complex>& known, const std::vector<int>& known_positions,
                      double max_frequency, double symbol_rate_hz, coarse_method coarse,
                      fine_method fine, bool unit_gain, double samples_per_symbol,
                      int frame_samples, double roll_off, double max_clock_error) {
            carrier_options options;
            options.constellation = constellation;
            options.points = points;
            options.frame_symbols = frame_symbols;
            options.frame_tag = frame_tag;
            options.known = known;
            options.known_positions = known_positions;
            options.max_frequency = max_frequency;
            options.symbol_rate_hz = symbol_rate_hz;
            options.coarse = coarse;
            options.fine = fine;
            options.unit_gain = unit_gain;
            options.samples_per_symbol = samples_per_symbol;
            options.frame_samples = frame_samples;
            options.roll_off = roll_off;
            options.max_clock_error = max_clock_error;
            return carrier_recovery::make(options, server);
          }),
          py::arg("server"), py::kw_only(), py::arg("constellation") = carrier.constellation,
          py::arg("frame_symbols") = carrier.frame_symbols, py::arg("points") = carrier.points,
          py::arg("frame_tag") = carrier.frame_tag, py::arg("known") = carrier.known,
          py::arg("known_positions") = carrier.known_positions,
          py::arg("max_frequency") = carrier.max_frequency,
          py::arg("symbol_rate_hz") = carrier.symbol_rate_hz, py::arg("coarse") = carrier.coarse,
          py::arg("fine") = carrier.fine, py::arg("unit_gain") = carrier.unit_gain,
          py::arg("samples_per_symbol") = carrier.samples_per_symbol,
          py::arg("frame_samples") = carrier.frame_samples, py::arg("roll_off") = carrier.roll_off,
          py::arg("max_clock_error") = carrier.max_clock_error)
      .def_static("symbols_of", &carrier_recovery::symbols_of, py::arg("frame_samples"),
                  py::arg("samples_per_symbol"),
                  py::arg("max_clock_error") = carrier.max_clock_error,
                  "Symbols that come out of a frame of samples.")
      .def("counts", &carrier_recovery::counts);

  py::enum_<wideband_format>(m, "wideband_format")
      .value("fc32", wideband_format::fc32)
      .value("sc16", wideband_format::sc16)
      .value("sc8", wideband_format::sc8);
  py::class_<downconvert_counts>(m, "downconvert_counts", "What became of a block's samples.")
      .def_readonly("taken", &downconvert_counts::taken)
      .def_readonly("done", &downconvert_counts::done)
      .def_readonly("dropped", &downconvert_counts::dropped)
      .def_readonly("retunes", &downconvert_counts::retunes);
  const downconvert_options channels;
  py::class_<downconverter, gr::block, gr::basic_block, std::shared_ptr<downconverter>>(
      m, "downconverter", "A wideband signal in, its channels out; see downconverter.h.")
      .def(py::init([](const connection& server, double sample_rate_hz,
                       const std::vector<double>& frequencies_hz, int down, int up,
                       wideband_format input, const std::vector<float>& taps, double pass_edge_hz,
                       double stop_edge_hz, double ripple_db, double attenuation_db) {
             downconvert_options options;
             options.sample_rate_hz = sample_rate_hz;
             options.input = input;
             options.frequencies_hz = frequencies_hz;
             options.up = up;
             options.down = down;
             options.taps = taps;
             options.pass_edge_hz = pass_edge_hz;
             options.stop_edge_hz = stop_edge_hz;
             options.ripple_db = ripple_db;
             options.attenuation_db = attenuation_db;
             return downconverter::make(options, server);
           }),
           py::arg("server"), py::kw_only(), py::arg("sample_rate_hz"), py::arg("frequencies_hz"),
           py::arg("down") = channels.down, py::arg("up") = channels.up,
           py::arg("input") = channels.input, py::arg("taps") = channels.taps,
           py::arg("pass_edge_hz") = channels.pass_edge_hz,
           py::arg("stop_edge_hz") = channels.stop_edge_hz,
           py::arg("ripple_db") = channels.ripple_db,
           py::arg("attenuation_db") = channels.attenuation_db)
      .def("counts", &downconverter::counts);
}

}  // namespace

PYBIND11_MODULE(baseband_offload_python, m) {
  py::module::import("gnuradio.gr");  // the classes of blocks
  m.def(
      "tune_process", &tune_process,
      "For speed, once and first thing: freed memory stays in the process, and Abseil looks for no "
      "deadlocks.");
  BindConnection(m);
  BindLdpc(m);
  BindFec(m);
  BindSignals(m);
}
