# SPDX-License-Identifier: BSD-3-Clause
"""Which exchanges with the real peer are tried."""

import dataclasses

from pingpong import Traffic

FAMILIES = ("ipv4", "ipv6")
ROLES = ("client", "server")  # softrnic's
PATH_MTUS = (256, 1024, 4096)
RC_SIZES = (1, 1000, 4096, 65536, 1 << 20)
UC_SIZES = (1, 1000, 65536)
UD_SIZES = (1, 1000, 2048, 4096)
OFFERS = ("--selective-repeat", "--credits")
LOSSY = ("drop 5%", "duplicate 2%", "reorder 2%")  # each way

# Few, since the guest is emulated: its share of a case is about a millisecond an exchange.
_ITERATIONS = {1: 100, 1000: 100, 2048: 100, 4096: 60, 65536: 10, 1 << 20: 2}
# A lost packet of a small message costs a timeout of 67 ms or more.
_LOSSY_ITERATIONS = {1: 20, 1000: 20, 4096: 15, 65536: 4, 1 << 20: 1}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    link: str  # tap, packet, xdp, udp; control: two guests, no softrnic
    role: str
    traffic: Traffic
    faults: tuple = ()


def _case(link, role, service, family, size, path_mtu, faults=(), events=False):
    iterations = (_LOSSY_ITERATIONS if faults else _ITERATIONS)[size]
    parts = [link, service + ("-lossy" if faults else "") + ("-events" if events else ""), role,
             family, f"{size}B"] + ([f"mtu{path_mtu}"] if path_mtu else [])
    return Case("/".join(parts), link, role,
                Traffic(service, family, size, path_mtu, iterations, events), faults)


def _rc(link, faults=()):
    for role in ROLES:
        for family in FAMILIES:
            for path_mtu in PATH_MTUS:
                for size in RC_SIZES:
                    yield _case(link, role, "rc", family, size, path_mtu, faults)


def _unconnected_and_unreliable(link):
    for role in ROLES:
        for family in FAMILIES:
            for path_mtu in PATH_MTUS:
                for size in UC_SIZES:
                    yield _case(link, role, "uc", family, size, path_mtu)
            for size in UD_SIZES:
                yield _case(link, role, "ud", family, size, 0)


def _events(link):
    for service in ("rc", "uc", "ud"):
        for role in ROLES:
            yield _case(link, role, service, "ipv4", 1000, 0 if service == "ud" else 1024,
                        events=True)


def _offers():
    """What the real peer does not know must not disturb it."""
    for role in ROLES:
        for family in FAMILIES:
            for faults in ((), LOSSY):
                case = _case("tap", role, "rc", family, 1000, 1024, faults)
                traffic = dataclasses.replace(case.traffic, offers=OFFERS)
                yield dataclasses.replace(case, name=case.name.replace("/rc", "/rc-offers", 1),
                                          traffic=traffic)


def cases():
    yield from _rc("tap")
    yield from _offers()
    yield from _unconnected_and_unreliable("tap")
    yield from _events("tap")
    yield from _rc("tap", LOSSY)
    for link in ("packet", "xdp"):
        yield from _rc(link)
    yield from _rc("udp")
    yield from _unconnected_and_unreliable("udp")


def control_cases():
    """The peer against itself: what fails here is not softrnic's fault."""
    for service in ("rc", "uc", "ud"):
        for family in FAMILIES:
            yield _case("control", "client", service, family, 1000, 0 if service == "ud" else 1024)
    for path_mtu in PATH_MTUS:
        for size in RC_SIZES:
            yield _case("control", "client", "rc", "ipv4", size, path_mtu)
