#include "tests/support/certificates.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/server_process.h"

namespace baseband::testing {
namespace {

const std::vector<std::string>& NewKey() {
  static const auto& arguments = *new std::vector<std::string>{
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"};
  return arguments;
}

}  // namespace

Certificates::Certificates() { MakeAuthority("ca"); }

std::string Certificates::Read(const std::string& name) const { return ReadAll(Path(name)); }

void Certificates::Write(const std::string& name, const std::string& contents) const {
  std::ofstream(Path(name)) << contents;
}

void Certificates::Openssl(const std::vector<std::string>& arguments) const {
  ChildProcess process("/usr/bin/openssl", arguments);
  EXPECT_EQ(process.Wait(absl::Seconds(60)), 0) << process.Output();
}

void Certificates::MakeAuthority(const std::string& name) const {
  std::vector<std::string> arguments = NewKey();
  arguments.insert(arguments.end(), {"-x509", "-days", "2", "-subj", "/CN=" + name, "-keyout",
                                     Path(name + ".key"), "-out", Path(name + ".pem")});
  Openssl(arguments);
}

void Certificates::Make(const std::string& name, const std::string& san,
                        const std::string& authority, int days) const {
  std::vector<std::string> arguments = NewKey();
  arguments.insert(arguments.end(), {"-subj", "/CN=" + name, "-keyout", Path(name + ".key"), "-out",
                                     Path(name + ".csr")});
  if (!san.empty()) arguments.insert(arguments.end(), {"-addext", "subjectAltName=" + san});
  Openssl(arguments);
  Openssl({"x509", "-req", "-in", Path(name + ".csr"), "-CA", Path(authority + ".pem"), "-CAkey",
           Path(authority + ".key"), "-CAcreateserial", "-days", absl::StrCat(days),
           "-copy_extensions", "copy", "-out", Path(name + ".pem")});
}

client::TlsOptions Certificates::ClientTls(const std::string& name) const {
  client::TlsOptions tls;
  tls.ca = Read("ca.pem");
  if (!name.empty()) {
    tls.cert = Read(name + ".pem");
    tls.key = Read(name + ".key");
  }
  return tls;
}

}  // namespace baseband::testing
