// The report of `load` as a page with plots.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_HTML_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_HTML_H_

#include <string>

#include "client/ctl/load/load_report.h"

namespace baseband::ctl {

// One HTML document that needs nothing else: no script, no font, no picture from elsewhere. Light
// or dark as the reader's browser wishes.
std::string ToHtml(const LoadReport& report);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_HTML_H_
