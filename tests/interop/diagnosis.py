# SPDX-License-Identifier: BSD-3-Clause
"""What the devices counted, for the report of a case that failed."""

import json

# In the guest: counters of the RoCE device and of the interface below it that are not zero.
_GUEST = ("for f in /sys/class/infiniband/rxe0/ports/1/hw_counters/*"
          " /sys/class/net/eth0/statistics/*_dropped; do"
          " read -r n < $f; [ \"$n\" = 0 ] || echo \"${f##*/} $n\"; done")


class Counters:
    """Says which counters have grown since they were last looked at."""

    def __init__(self, network, guest):
        self._network = network
        self._guest = guest
        self._before = self._read()

    def growth(self):
        now = self._read()
        grown = {name: count - self._before.get(name, 0) for name, count in now.items()}
        self._before = now
        return ", ".join(f"{name} {count}" for name, count in grown.items() if count)

    def _read(self):
        counters = {}
        for device in json.loads(self._network.run("ip", "-j", "-s", "link", "show")):
            for way in ("rx", "tx"):
                statistics = device.get("stats64", {}).get(way, {})
                for kind in ("dropped", "errors", "over_errors"):
                    counters[f"{device['ifname']} {way} {kind}"] = statistics.get(kind, 0)
        for line in self._guest.run(_GUEST)[1].splitlines():
            name, count = line.split()
            counters[f"guest {name}"] = int(count)
        return counters
