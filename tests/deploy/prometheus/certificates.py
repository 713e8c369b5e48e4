"""A server's certificate in two files, made by openssl."""

import os
import subprocess


class Certificates:
    def __init__(self, folder):
        self._folder = folder
        self.certificate = folder / "server.pem"
        self.key = folder / "server.key"

    def _make(self, days, certificate, key):
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-nodes", "-newkey", "ec"),
                *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"),
                *("-days", str(days), "-out", str(certificate), "-keyout", str(key)),
            ],
            check=True,
            capture_output=True,
        )

    def issue(self, days):
        """Replaces both files. Their own order does not matter to a server."""
        new = (self._folder / "new.pem", self._folder / "new.key")
        self._make(days, *new)
        os.replace(new[1], self.key)
        os.replace(new[0], self.certificate)

    def spoil(self):
        """Replaces the certificate by one that does not belong to the key."""
        new = self._folder / "new.pem"
        self._make(90, new, self._folder / "other.key")
        os.replace(new, self.certificate)
