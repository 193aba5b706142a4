# SPDX-License-Identifier: BSD-3-Clause
# libibverbs.so.1: the verbs floor as a library that takes the place of rdma-core's, with the version
# map and the absent functions made from the table of symbols.
include(GNUInstallDirs)

# Plain programs cannot load a sanitized library; sanitized tests link the floor itself.
if(SOFTRNIC_SANITIZE OR SOFTRNIC_FUZZ)
  return()
endif()

set(table ${CMAKE_CURRENT_SOURCE_DIR}/verbs/symbols.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
file(STRINGS ${table} rows REGEX "^[A-Z]")

set(nodes "")
set(absent "")
foreach(row IN LISTS rows)
  separate_arguments(row)
  list(GET row 0 node)
  list(APPEND nodes ${node})
  list(LENGTH row words)
  if(words EQUAL 1)
    continue()
  endif()
  list(GET row 1 symbol)
  list(GET row 2 kind)
  if(kind STREQUAL "function")
    string(APPEND functions_${node} " ${symbol};")
  else()
    # Each version of a name is a symbol of its own, which the assembler ties to its node.
    string(MAKE_C_IDENTIFIER "${symbol}_${node}" local)
    if(kind STREQUAL "alias")
      set(behind ${symbol})
    else()
      string(REPLACE "absent-" "softrnic_absent_" behind ${kind})
    endif()
    string(APPEND absent "  \".globl ${local}\\n\\t.set ${local}, ${behind}\\n\"\n"
                         "  \"\\t.symver ${local}, ${symbol}@${node}\\n\"\n")
  endif()
endforeach()
list(REMOVE_DUPLICATES nodes)

set(map "")
set(before "")
foreach(node IN LISTS nodes)
  if(node MATCHES "^IBVERBS_1" )
    string(APPEND map "${node} { global:${functions_${node}} }${before};\n")
    set(before " ${node}")
  else()
    string(APPEND map "${node} { global:${functions_${node}} };\n")
  endif()
endforeach()
string(REPLACE "global: }" "}" map "${map}")
string(REPLACE "global:}" "}" map "${map}")
# In the last node: in the first it would hide the old versions of names that the second has too.
string(REGEX REPLACE " }([^}]*)$" " local: *; }\\1" map "${map}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/verbs/libibverbs.map CONTENT "${map}" @ONLY)
configure_file(verbs/absent.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/verbs/absent.cpp @ONLY)

add_library(softrnic_libibverbs SHARED ${CMAKE_CURRENT_BINARY_DIR}/verbs/absent.cpp)
set_target_properties(softrnic_libibverbs PROPERTIES
  OUTPUT_NAME ibverbs SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/softrnic
  LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/verbs/libibverbs.map)
target_link_libraries(softrnic_libibverbs PRIVATE softrnic_options
  $<LINK_LIBRARY:WHOLE_ARCHIVE,softrnic_verbs> Threads::Threads)
target_link_options(softrnic_libibverbs PRIVATE ${SOFTRNIC_LTO_LINK}
  -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/verbs/libibverbs.map -Wl,--no-undefined
  -Wl,-z,relro -Wl,-z,now)
install(TARGETS softrnic_libibverbs LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/softrnic COMPONENT softrnic)
