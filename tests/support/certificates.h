// Certificates made for one test, by the openssl program.
#ifndef BASEBAND_TESTS_SUPPORT_CERTIFICATES_H_
#define BASEBAND_TESTS_SUPPORT_CERTIFICATES_H_

#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "tests/support/test_files.h"

namespace baseband::testing {

// A folder of its own with a certificate authority in it; gone with the object.
class Certificates {
 public:
  Certificates();

  // Files of the folder.
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Read(const std::string& name) const;
  void Write(const std::string& name, const std::string& contents) const;

  // Another authority: NAME.pem and NAME.key. The constructor makes "ca".
  void MakeAuthority(const std::string& name) const;
  // NAME.pem and NAME.key, signed by `authority`. `san` as openssl has it ("DNS:x", "URI:y",
  // "IP:127.0.0.1"); empty: there is only the common name, NAME. Valid for `days` from now;
  // expired if that is negative.
  void Make(const std::string& name, const std::string& san, const std::string& authority = "ca",
            int days = 2) const;

  // What a client needs to trust "ca" and to be NAME (empty: nobody).
  client::TlsOptions ClientTls(const std::string& name) const;

 private:
  void Openssl(const std::vector<std::string>& arguments) const;

  TemporaryFolder folder_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CERTIFICATES_H_
