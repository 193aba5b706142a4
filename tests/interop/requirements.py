# SPDX-License-Identifier: BSD-3-Clause
"""What this machine lacks for the interop tests."""

import errno
import os
import shutil
import subprocess

_PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86", "ip": "iproute2", "ping": "iputils-ping",
    "nsenter": "util-linux", "unshare": "util-linux", "setpriv": "util-linux",
    "apt-get": "apt", "dpkg-deb": "dpkg", "depmod": "kmod", "cpio": "cpio", "strip": "binutils", "cc": "gcc",
}


def missing():
    """The reason why the interop tests cannot run here; empty when they can."""
    if os.uname().machine != "x86_64":
        return f"the guest is an x86_64 one, this machine is {os.uname().machine}"
    for program, package in _PROGRAMS.items():
        if not shutil.which(program):
            return f"needs the program {program} (Debian package {package})"
    if not os.path.exists("/usr/include/infiniband/verbs.h"):
        return "needs the header infiniband/verbs.h (Debian package libibverbs-dev)"
    if os.geteuid() != 0:
        return "needs root, for network namespaces, TAP devices and AF_XDP"
    return _missing_tun() or _missing_namespace()


def _missing_tun():
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        if error.errno == errno.ENOENT:
            return "needs /dev/net/tun (modprobe tun, or give the container that device)"
        return f"cannot open /dev/net/tun: {error.strerror}"
    return ""


def _missing_namespace():
    script = ("echo 0 > /proc/sys/net/ipv6/conf/default/disable_ipv6 && ip link add br0 type bridge"
              " && ip tuntap add tap0 mode tap && ip link add veth0 type veth peer name veth1")
    tried = subprocess.run(["unshare", "--net", "sh", "-c", script], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        return "cannot make a bridge, TAP and veth pair in a network namespace: " + (
            tried.stderr.strip().splitlines() or ["no reason given"])[0]
    return ""
