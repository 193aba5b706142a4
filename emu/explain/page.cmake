# SPDX-License-Identifier: BSD-3-Clause
# The page of `softrnic explain --html`: its template, style and script, written by hand in page/,
# carried inside the library as bytes. Scripts are joined in this order, inside one function.
set(page ${CMAKE_CURRENT_LIST_DIR}/page)
set(page_scripts format elements axis theme time_view stage marks explanation sequence_points sequence_graph
    throughput latency_histogram ladder losses connection_table account main)
list(TRANSFORM page_scripts REPLACE "(.+)" "${page}/\\1.js")
set(page_styles ${page}/page.css ${page}/plots.css)

set(embed ${CMAKE_CURRENT_LIST_DIR}/../link/embed_bytes.cmake)
set(join ${CMAKE_CURRENT_LIST_DIR}/join_page.cmake)
set(made ${CMAKE_CURRENT_BINARY_DIR}/explain_page)
set(page_arrays "")
foreach(part template style script digests)
  add_custom_command(
    OUTPUT ${made}/${part}.cpp
    COMMAND ${CMAKE_COMMAND} -DINPUT=${made}/${part} -DOUTPUT=${made}/${part}.cpp
            -DNAME=page_${part} -DFLOOR=explain -P ${embed}
    DEPENDS ${made}/${part} ${embed}
    VERBATIM)
  list(APPEND page_arrays ${made}/${part}.cpp)
endforeach()
add_custom_command(
  OUTPUT ${made}/template ${made}/style ${made}/script ${made}/digests
  COMMAND ${CMAKE_COMMAND} "-DTEMPLATE=${page}/page.html" "-DSTYLES=${page_styles}"
          "-DSCRIPTS=${page_scripts}" -DMADE=${made} -P ${join}
  DEPENDS ${page}/page.html ${page_styles} ${page_scripts} ${join}
  COMMENT "Joining the page of explain"
  VERBATIM)
target_sources(softrnic_explain PRIVATE ${page_arrays})
