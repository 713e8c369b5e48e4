// What the library shows of itself.
#ifndef INCLUDED_BASEBAND_OFFLOAD_API_H
#define INCLUDED_BASEBAND_OFFLOAD_API_H

#include <gnuradio/attributes.h>

#define BASEBAND_OFFLOAD_API __GR_ATTR_EXPORT

#endif  // INCLUDED_BASEBAND_OFFLOAD_API_H
