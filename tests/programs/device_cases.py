# SPDX-License-Identifier: BSD-3-Clause
"""What programs are told of the device, beside what `softrnic info` says."""

import ipaddress
import json
import os
import re
import subprocess
import tempfile

import cases
import pair
from cases import case
from stage import check

_HOST = ("--link", "shm:stage", "--host", "a")


def _truth(stage):
    return json.loads(stage.command("info", *_HOST, "--json"))["device"]


def _value(text, name):
    match = re.search(rf"^\s*{re.escape(name)}:\s+(.*)$", text, re.MULTILINE)
    check(match, f"no {name} in\n{text}")
    return match.group(1)


@case("device/ibv_devices lists it with its GUID")
def _(stage):
    guid = _truth(stage)["node_guid"].replace(":", "")
    text = stage.run("ibv_devices")
    check(re.search(rf"^\s*softrnic0\s+{guid}$", text, re.MULTILINE), f"{guid} not in\n{text}")


@case("device/without softrnic run, with the library alone")
def _(stage):
    check(stage.run("ibv_devinfo", "-v", plain=True) == stage.run("ibv_devinfo", "-v"), "differ")


@case("device/ibv_devinfo -v says what softrnic info says")
def _(stage):
    truth = _truth(stage)
    text = stage.run("ibv_devinfo", "-v")
    check(_value(text, "hca_id") == "softrnic0", text)
    for name in ("node_guid", "sys_image_guid"):
        check(_value(text, name) == truth["node_guid"], text)
    for name, value in truth["limits"].items():
        if name not in ("max_inline_data", "max_mtu"):  # not a device's but a queue pair's; a code
            found = int(_value(text, name), 0)
            check(found == value, f"{name}: {found}, not {value}\n{text}")
    for name, value in (("max_mtu", truth["limits"]["max_mtu"]),
                        ("active_mtu", truth["active_mtu"])):
        check(_value(text, name).startswith(f"{value} ("), text)
    for name, value in (("state", "PORT_ACTIVE (4)"), ("link_layer", "Ethernet"),
                        ("phys_state", "LINK_UP (5)"), ("atomic_cap", "ATOMIC_HCA (1)")):
        check(_value(text, name) == value, text)


@case("device/ibv_devinfo -v lists the GIDs of softrnic info")
def _(stage):
    truth = _truth(stage)
    text = stage.run("ibv_devinfo", "-v")
    found = [(int(index), ipaddress.ip_address(gid), version) for index, gid, version in
             re.findall(r"GID\[\s*(\d+)\]:\s+(\S+), RoCE (v\d)", text)]
    expected = [(gid["index"], ipaddress.ip_address(gid["gid"]), gid["roce"])
                for gid in truth["gids"]]
    check(found == expected, f"{found}\nis not\n{expected}\n{text}")
    check(int(_value(text, "gid_tbl_len")) == len(expected), text)


@case("device/name, MAC, addresses and MTU as the environment says")
def _(stage):
    text = stage.run("ibv_devinfo", "-v", SOFTRNIC_DEVICE="mlx5_7", SOFTRNIC_MTU="1024",
                     SOFTRNIC_MAC="02:00:00:00:00:07", SOFTRNIC_ADDRESSES="192.0.2.7,2001:db8::7")
    check(_value(text, "hca_id") == "mlx5_7", text)
    check(_value(text, "node_guid") == "0000:00ff:fe00:0007", text)
    check(_value(text, "active_mtu").startswith("1024 ("), text)
    for gid in ("::ffff:192.0.2.7, RoCE v2", "2001:db8::7, RoCE v2"):
        check(gid in text, text)


@case("device/an environment that makes no sense is one clear line, and no device")
def _(stage):
    for name, value in (("SOFTRNIC_LINK", "wifi:0"), ("SOFTRNIC_MTU", "9"),
                        ("SOFTRNIC_MAC", "zz"), ("SOFTRNIC_FAULTS", "/nonexistent")):
        text = stage.run("ibv_devinfo", status=None, plain=True, **{name: value})
        lines = [line for line in text.splitlines() if line.startswith("softrnic: ")]
        check(len(lines) == 1 and (name in lines[0] or value in lines[0]),
              f"{name}={value}:\n{text}")
        check("hca_id" not in text, text)


@case("device/softrnic run, installed elsewhere")
def _(stage):
    build = os.path.dirname(os.path.dirname(stage.libraries))
    with tempfile.TemporaryDirectory(prefix="softrnic-programs-") as prefix:
        os.chmod(prefix, 0o755)
        done = subprocess.run(["cmake", "--install", build, "--component", "softrnic",
                               "--prefix", prefix], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        check(done.returncode == 0, done.stdout + done.stderr)
        text = stage.run(os.path.join(prefix, "bin/softrnic"), "run", "--", "ibv_devinfo",
                         plain=True, LD_LIBRARY_PATH="")
    check(_value(text, "hca_id") == "softrnic0", text)


def _over_udp(stage, ends):
    """One GID, the address, and a port that is up."""
    stage.enter_network()
    link = ends.server["SOFTRNIC_LINK"]
    address = ipaddress.ip_address(link.partition(":")[2])
    text = stage.run("ibv_devinfo", "-v", **ends.server)
    gids = re.findall(r"GID\[\s*\d+\]:\s+(\S+), RoCE v2", text)
    found = [getattr(ipaddress.ip_address(gid), "ipv4_mapped", None) or ipaddress.ip_address(gid)
             for gid in gids]
    check(found == [address] and _value(text, "state") == "PORT_ACTIVE (4)", text)


for _ends in pair.UDP:
    cases.add(f"device/{_ends.title}/ibv_devinfo -v", _over_udp, _ends)
