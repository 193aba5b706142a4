# SPDX-License-Identifier: BSD-3-Clause
# Writes the file INPUT as the C++ array NAME, in namespace softrnic::FLOOR, to OUTPUT.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "// Made from a file that is carried inside the library; not to be edited.
#include <cstddef>

namespace softrnic::${FLOOR} {
extern const unsigned char ${NAME}[];
extern const std::size_t ${NAME}_size;
alignas(8) const unsigned char ${NAME}[] = {
${bytes}};
const std::size_t ${NAME}_size = sizeof ${NAME};
}  // namespace softrnic::${FLOOR}
")
