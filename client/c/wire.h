/* Types of fields in protobuf's wire format. Internal to the library. */
#ifndef BASEBAND_CLIENT_C_WIRE_H_
#define BASEBAND_CLIENT_C_WIRE_H_

enum { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

#endif /* BASEBAND_CLIENT_C_WIRE_H_ */
