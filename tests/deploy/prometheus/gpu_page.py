"""A metrics page of a server with a GPU, over a driver that says what it is told to."""

import pathlib

from processes import Process, free_port, program


class GpuPage:
    """gpu_monitor_page; `set` tells the driver."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.instance = f"127.0.0.1:{free_port()}"
        self._orders = folder / "gpu.txt"
        self._orders.write_text("")
        self._process = Process(
            [program("gpu_monitor_page"), f"--listen={self.instance}", f"--follow={self._orders}"],
            folder / "gpu.log",
        )

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._process.__exit__(*unused)

    def set(self, **values):
        """As gpu_monitor_page's NAME=VALUE, in force within two seconds."""
        new = self._orders.with_suffix(".new")
        new.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        new.replace(self._orders)

    def end(self):
        self._process.end()
