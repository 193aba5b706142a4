# SPDX-License-Identifier: BSD-3-Clause
# The XDP program: C compiled to BPF by Clang, carried inside the library as bytes. Only Clang has
# a BPF back end on Debian 12, whatever compiles the rest.
find_program(SOFTRNIC_BPF_CLANG clang REQUIRED DOC "The Clang that compiles the XDP program")

set(source ${CMAKE_CURRENT_LIST_DIR}/xdp_roce.bpf.c)
set(maps ${CMAKE_CURRENT_LIST_DIR}/xdp_roce_maps.h)
set(embed ${CMAKE_CURRENT_LIST_DIR}/embed_bytes.cmake)
set(object ${CMAKE_CURRENT_BINARY_DIR}/xdp_roce.bpf.o)
set(array ${CMAKE_CURRENT_BINARY_DIR}/xdp_roce_object.cpp)

# <asm/types.h> lies in the directory of the machine's architecture. -g: the maps are described by
# debug information.
add_custom_command(
  OUTPUT ${object}
  COMMAND ${SOFTRNIC_BPF_CLANG} -target bpf -O2 -g -Wall -Wextra -Werror
          -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -I${CMAKE_CURRENT_SOURCE_DIR}
          -c ${source} -o ${object}
  DEPENDS ${source} ${maps}
  COMMENT "Compiling the XDP program"
  VERBATIM)
add_custom_command(
  OUTPUT ${array}
  COMMAND ${CMAKE_COMMAND} -DINPUT=${object} -DOUTPUT=${array} -DNAME=xdp_roce_object -DFLOOR=link -P ${embed}
  DEPENDS ${object} ${embed}
  VERBATIM)
target_sources(softrnic_link PRIVATE ${array})
