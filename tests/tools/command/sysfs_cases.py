# SPDX-License-Identifier: BSD-3-Clause
"""The files of the device, as the programs of the system see them under softrnic run."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

import processes
from cases import Skipped, case, check

_DEVICE = "/sys/class/infiniband/softrnic0"
_NOBODY = 65534


def ordinary_user(context):
    """A prefix that makes a command an ordinary user's, where this is root and can; and a Python
    that such a user can run."""
    if os.geteuid() != 0:
        return [], sys.executable
    prefix = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--"]
    for python in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([*prefix, os.path.abspath(context.program), "run", "--", python, "-c",
                               ""], check=False, capture_output=True)
        if done.returncode == 0:
            return prefix, python
    return [], sys.executable


class _World:
    """Programs run with a segment folder of their own."""

    def __init__(self, context, folder):
        self.folder = folder
        prefix, self.python = ordinary_user(context)
        self.command = [*prefix, os.path.abspath(context.program), "run"]
        self.variables = {name: value for name, value in os.environ.items()
                          if not name.startswith(("SOFTRNIC_", "LD_"))}
        self.variables["SOFTRNIC_SHM_DIR"] = os.path.join(folder, "segments")

    def run(self, *words, options=(), **arguments):
        return subprocess.run([*self.command, *options, "--", *words], env=self.variables,
                              capture_output=True, text=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL, **arguments)

    def says(self, *words, **arguments):
        done = self.run(*words, **arguments)
        check(done.returncode == 0 and done.stderr == "",
              f"{words[:2]}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout


def sysfs_case(name, *programs):
    def register(function):
        def body(context):
            for program in programs:
                if shutil.which(program) is None:
                    raise Skipped(f"needs {program}")
            with tempfile.TemporaryDirectory(prefix="softrnic-sysfs-") as folder:
                os.chmod(folder, 0o777)
                function(_World(context, folder))
        return case(name)(body)
    return register


@sysfs_case("sysfs/ls, cat, stat, readlink, realpath", "ls", "cat", "stat", "readlink", "realpath")
def _(world):
    check(world.says("ls", "/sys/class/infiniband", "/dev/infiniband").split() ==
          ["/dev/infiniband:", "softrnic0", "uverbs0", "/sys/class/infiniband:", "softrnic0"], "ls")
    long = world.says("ls", "-l", "/dev/infiniband")
    check(long.count("crw-rw-rw-") == 2 and long.count("231, 192") == 2, long)
    check(world.says("ls", "-ld", _DEVICE).startswith("drwxr-xr-x"), "ls -ld")
    check(world.says("cat", _DEVICE + "/node_type", _DEVICE + "/ports/1/state") ==
          "1: CA\n4: ACTIVE\n", "cat")
    check(world.says("stat", "-c", "%F %a %s %h", _DEVICE + "/fw_ver") ==
          "regular file 444 4096 1\n", "stat")
    check(world.says("readlink", "-f", _DEVICE + "/ports/..") == _DEVICE + "\n", "readlink")
    check(world.says("realpath", _DEVICE + "/device") == _DEVICE + "/device\n", "realpath")
    check(world.says("cat", _DEVICE.replace("softrnic0", "mlx5_0") + "/node_desc",
                     options=["--device", "mlx5_0"]) == "mlx5_0\n", "--device")


@sysfs_case("sysfs/find, grep -r, du, cp -r, tar", "find", "grep", "du", "cp", "tar")
def _(world):
    places = world.says("find", "/sys/class/infiniband", "/sys/class/infiniband_verbs",
                        "/dev/infiniband").splitlines()
    check(len(places) > 100 and len(set(places)) == len(places), places)
    check(_DEVICE + "/ports/1/hw_counters/out_of_sequence" in places, places)
    check(world.says("find", "/dev/infiniband", "-type", "c", "-name", "uverbs*") ==
          "/dev/infiniband/uverbs0\n", "find -type")
    types = world.says("grep", "-r", "v2", _DEVICE + "/ports/1/gid_attrs").splitlines()
    check(len(types) == 3 and all(line.endswith(":RoCE v2") for line in types), types)
    check(world.says("du", "-s", "/dev/infiniband").startswith("0"), "du")
    copy = os.path.join(world.folder, "copy")
    world.says("cp", "-r", "/sys/class/infiniband", copy)
    copied = sum(len(names) for _, _, names in os.walk(copy))
    original = world.says("find", "/sys/class/infiniband", "-type", "f").splitlines()
    check(copied == len(original), f"{copied} of {len(original)} files were copied")
    with open(copy + "/softrnic0/node_type", encoding="utf-8") as file:
        check(file.read() == "1: CA\n", "copied")


@sysfs_case("sysfs/what bash tests, reads and matches", "bash")
def _(world):
    script = r"""
      set -e
      [[ -c /dev/infiniband/uverbs0 && -r /dev/infiniband/softrnic0 && -w /dev/infiniband/softrnic0 ]]
      [[ -d $1 && -d $1/ports/1 && -f $1/fw_ver && -r $1/fw_ver && ! -x $1/fw_ver && ! -w $1/fw_ver ]]
      [[ ! -e $1/nothing && ! -e /dev/infiniband/rdma_cm && ! -L $1 && $1 -ef $1/ports/.. ]]
      [[ $(<$1/ports/1/link_layer) == Ethernet ]]
      read -r -a state < $1/ports/1/state; [[ ${state[1]} == ACTIVE ]]
      gids=(/sys/class/infiniband/*/ports/*/gids/*); [[ ${#gids[@]} == 6 ]]
      exec 3< $1/node_guid; [[ $(cat <&3) == *:*:*:* ]]
      ! { echo x > $1/fw_ver; } 2>/dev/null
      ! { echo x > $1/new; } 2>/dev/null
      echo x > /dev/infiniband/uverbs0
      ( cd / && [[ -d $1 ]] )
      echo right"""
    check(world.says("bash", "-c", script, "bash", _DEVICE) == "right\n", "bash")


_PYTHON = r"""
import ctypes, errno, fcntl, glob, os, stat, subprocess, sys, threading
B, D = "/sys/class/infiniband", "/sys/class/infiniband/softrnic0"

def errors(function, *words, **named):
    try: function(*words, **named)
    except OSError as error: return error.errno
    return 0

assert os.listdir(B) == ["softrnic0"] and os.path.isdir(D) and not os.path.islink(D)
assert os.path.realpath(D + "/device/..") == D
walked = sum(len(names) for _, _, names in os.walk(B))
assert walked > 90 and walked == sum(len(names) for _, _, names, _ in os.fwalk(B)), walked
assert glob.glob(B + "/*/ports/*/state") == [D + "/ports/1/state"]
assert open(D + "/ports/1/state").read() == "4: ACTIVE\n"
assert [e.is_dir() for e in os.scandir(B)] == [True]

# Everything from a directory's descriptor, also a copy, also in a program that inherits it.
d = os.open(D, os.O_RDONLY | os.O_DIRECTORY)
e = os.dup(d)
assert os.path.samestat(os.fstat(e), os.stat(D)) and stat.S_ISDIR(os.fstat(e).st_mode)
assert "ports" in os.listdir(e) and os.access("ports/1", os.X_OK, dir_fd=e)
assert stat.S_ISREG(os.stat("ports/../fw_ver", dir_fd=e).st_mode)
f = os.open("node_type", os.O_RDONLY, dir_fd=e)
assert os.read(f, 99) == b"1: CA\n" and os.read(f, 99) == b""
assert os.lseek(f, 0, 0) == 0 and os.read(f, 99) == b"1: CA\n"
assert os.fstat(f).st_size == 6 and os.stat(D + "/node_type").st_size == 4096
assert os.path.samestat(os.fstat(f), os.stat(D + "/node_type"))
assert fcntl.fcntl(f, fcntl.F_GETFD) == fcntl.FD_CLOEXEC
os.set_inheritable(d, True)
child = "import os, sys; print(sorted(os.listdir(int(sys.argv[1])))[0])"
assert subprocess.run([sys.executable, "-c", child, str(d)], pass_fds=[d], capture_output=True,
                      text=True).stdout == "board_id\n"

# What fails, fails as in sysfs.
assert errors(open, D + "/fw_ver", "w") == errno.EACCES
assert errors(open, D + "/new", "w") == errno.EACCES
assert errors(open, D + "/fw_ver", "x") == errno.EEXIST
assert errors(os.open, D, os.O_RDWR) == errno.EISDIR
assert errors(os.open, D + "/fw_ver", os.O_RDONLY | os.O_DIRECTORY) == errno.ENOTDIR
assert errors(os.stat, D + "/fw_ver/") == errors(os.stat, D + "/fw_ver/x") == errno.ENOTDIR
assert errors(os.listdir, D + "/nothing") == errors(os.readlink, D + "/nothing") == errno.ENOENT
assert errors(os.listdir, D + "/fw_ver") == errno.ENOTDIR
assert errors(os.readlink, D) == errno.EINVAL and errors(os.getxattr, D, "user.x") == errno.ENODATA
assert errors(os.write, f, b"x") in (errno.EPERM, errno.EBADF)
assert errors(os.open, "nothing", os.O_RDONLY, dir_fd=e) == errno.ENOENT
assert errors(os.stat, "x", dir_fd=f) == errno.ENOTDIR
with open("/etc/passwd") as other:
    assert errors(os.stat, "x", dir_fd=other.fileno()) == errno.ENOTDIR

# Success leaves errno alone.
c = ctypes.CDLL(None, use_errno=True)
c.opendir.restype = c.readdir.restype = ctypes.c_void_p
for call in (lambda: c.access((D + "/ports").encode(), os.R_OK),
             lambda: c.close(c.open((D + "/fw_ver").encode(), os.O_RDONLY)),
             lambda: c.closedir(ctypes.c_void_p(c.opendir(D.encode())))):
    ctypes.set_errno(77)
    assert call() == 0 and ctypes.get_errno() == 77

# More directories open at once than there are streams: an error, and then again.
streams = [c.opendir(B.encode()) for _ in range(100)]
assert None in streams
for stream in filter(None, streams): c.closedir(ctypes.c_void_p(stream))
assert c.closedir(ctypes.c_void_p(c.opendir(B.encode()))) == 0

# From many threads, with children in between.
wrong = []
def read_all():
    for _ in range(20):
        for name in os.listdir(D + "/ports/1/gids"):
            if len(open(D + "/ports/1/gids/" + name).read()) != 40: wrong.append(name)
threads = [threading.Thread(target=read_all) for _ in range(6)]
for thread in threads: thread.start()
for _ in range(10):
    pid = os.fork()
    if pid == 0: os._exit(0 if os.listdir(B) == ["softrnic0"] else 1)
    if os.waitpid(pid, 0)[1] != 0: wrong.append("child")
for thread in threads: thread.join()
assert not wrong, wrong
assert len(os.listdir("/proc/self/fd")) < 12, os.listdir("/proc/self/fd")
print("right")
"""


@sysfs_case("sysfs/what python asks")
def _(world):
    check(world.says(world.python, "-c", _PYTHON) == "right\n", "python")


@sysfs_case("sysfs/hosts differ, and say what the segment says")
def _(world):
    guid = {host: world.says("cat", _DEVICE + "/node_guid", options=["--host", host])
            for host in ("a", "b")}
    check(guid["a"] != guid["b"] and guid["a"] == world.says("cat", _DEVICE + "/node_guid"), guid)
    gids = world.says("cat", _DEVICE + "/ports/1/gids/3", options=["--host", "b"])
    check(gids.startswith("0000:0000:0000:0000:0000:ffff:0a") and gids.endswith("02\n"), gids)
    check(not os.path.exists(world.variables["SOFTRNIC_SHM_DIR"]), "a segment was made")


@sysfs_case("sysfs/nothing is left by a program that is killed")
def _(world):
    script = ("import os, time; f = open('/sys/class/infiniband/softrnic0/fw_ver');"
              " d = os.open('/sys/class/infiniband', os.O_RDONLY); print('open', flush=True);"
              " time.sleep(600)")
    before = sorted(os.listdir("/dev/shm"))
    process = processes.start([*world.command, "--", world.python, "-c", script],
                              env={**world.variables, "TMPDIR": world.folder},
                              stdout=subprocess.PIPE, text=True)
    with processes.running(process):
        check(process.stdout.readline() == "open\n", "it did not begin")
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    check(os.listdir(world.folder) == [], os.listdir(world.folder))
    left = [name for name in sorted(os.listdir("/dev/shm")) if name not in before
            and "fw_ver" in name]
    check(left == [], left)


@sysfs_case("sysfs/the preloaded library needs the C library and nothing else", "readelf")
def _(world):
    library = world.says("sh", "-c", "echo $LD_PRELOAD").strip()
    needed = [line for line in subprocess.run(["readelf", "-d", library], check=True, text=True,
                                              capture_output=True).stdout.splitlines()
              if "(NEEDED)" in line]
    check(len(needed) == 1 and "libc.so" in needed[0], needed)


_FAKE = r"""
#include <string.h>
int softrnic_counters(void (*visit)(const char*, unsigned long long, void*), void* context) {
  visit("sent_pkts", 12345678901ull, context);
  visit("sent_bytes", 4000, context);
  return 2;
}
int softrnic_identity(unsigned char mac[6], unsigned char (*addresses)[16], int most) {
  memcpy(mac, "\x02\0\0\0\0\x42", 6);
  memset(addresses[0], 0, 16);
  memcpy(addresses[0], "\xfe\x80", 2);
  addresses[0][15] = 1;
  return most < 1 ? 0 : 1;
}
"""


@sysfs_case("sysfs/an open device speaks for itself", "cc")
def _(world):
    source, library = (os.path.join(world.folder, name) for name in ("fake.c", "libibverbs.so.1"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(_FAKE)
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libibverbs.so.1", source, "-o", library],
                   check=True)
    script = f"""
import ctypes, os
P = "{_DEVICE}/ports/1/"
read = lambda path: open(path).read().strip()
before = read(P + "hw_counters/sent_pkts"), len(os.listdir(P + "gids"))
library = ctypes.CDLL("{library}", mode=os.RTLD_LOCAL)
print(*before, read(P + "hw_counters/sent_pkts"), read(P + "hw_counters/rcvd_pkts"),
      read(P + "counters/port_xmit_data"), read("{_DEVICE}/node_guid"),
      len(os.listdir(P + "gids")), read(P + "gids/1"))"""
    check(world.says(world.python, "-c", script) ==
          "0 6 12345678901 0 1000 0000:00ff:fe00:0042 2 "
          "fe80:0000:0000:0000:0000:0000:0000:0001\n", "what the library said is not in the files")


def _with_verbs(world):
    folder = world.says("sh", "-c", "echo $LD_LIBRARY_PATH").strip()
    if not os.path.exists(folder + "/libibverbs.so.1"):
        raise Skipped("this build has no libibverbs.so.1 (it is sanitized)")


@sysfs_case("sysfs/what ibv_devinfo says is what the files say", "ibv_devinfo")
def _(world):
    _with_verbs(world)
    told = world.says("ibv_devinfo", "-v", options=["--host", "b"])
    gids = [line.split()[-3].rstrip(",") for line in told.splitlines() if "RoCE v1" in line]
    files = world.says("sh", "-c", f"cat {_DEVICE}/ports/1/gids/*", options=["--host", "b"]).split()
    check(len(gids) == 3 and gids == files[::2], f"{gids}\n{files}")
    guid = world.says("cat", _DEVICE + "/node_guid", options=["--host", "b"]).strip()
    check(told.count(guid) >= 2, told)


@sysfs_case("sysfs/UCX finds the device", "ucx_info")
def _(world):
    _with_verbs(world)
    told = world.run("ucx_info", "-d").stdout
    for transport in ("rc_verbs", "ud_verbs"):
        check(f"Transport: {transport}\n" in told, told)
    check("Device: softrnic0:1\n" in told, told)
