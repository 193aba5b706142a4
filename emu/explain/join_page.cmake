# SPDX-License-Identifier: BSD-3-Clause
# Joins STYLES and SCRIPTS to the two that the page carries, in MADE, and writes the digests by
# which its content security policy knows them: two lines of hexadecimal SHA-256, style and script.
file(MAKE_DIRECTORY ${MADE})
file(COPY_FILE ${TEMPLATE} ${MADE}/template)
file(WRITE ${MADE}/style "\n")
foreach(style ${STYLES})
  file(READ ${style} text)
  file(APPEND ${MADE}/style "${text}")
endforeach()
file(WRITE ${MADE}/script "\n(() => {\n\"use strict\";\n")
foreach(script ${SCRIPTS})
  file(READ ${script} text)
  file(APPEND ${MADE}/script "${text}")
endforeach()
file(APPEND ${MADE}/script "})();\n")
file(SHA256 ${MADE}/style style)
file(SHA256 ${MADE}/script script)
file(WRITE ${MADE}/digests "${style}\n${script}\n")
