// SPDX-License-Identifier: BSD-3-Clause
// What a script holds, whichever language it is written in: a tree of tables, arrays and scalars,
// with the place of each where the language's reader knows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softrnic::fabric {

// Counted from 1; no line where it is not known.
struct ScriptPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct ScriptMember;

struct ScriptValue {
  enum class Kind : std::uint8_t { table, array, string, integer, real, boolean, other };

  Kind kind = Kind::other;
  ScriptPlace place;
  std::string text;                   // a scalar as text: "5", "0.5", "true", a string's characters
  std::vector<ScriptMember> members;  // of a table
  std::vector<ScriptValue> elements;  // of an array

  bool is(Kind wanted) const { return kind == wanted; }
};

struct ScriptMember {
  std::string key;
  ScriptPlace place;  // of the key
  ScriptValue value;
};

// Why a script cannot be read: where, if known, and what is wrong.
struct ScriptError {
  ScriptPlace place;
  std::string message;

  // "line 3, column 7: MESSAGE", on one line.
  std::string to_string() const;
};

// Tables and arrays in each other; a fault script needs four.
inline constexpr int kMostScriptDepth = 16;

}  // namespace softrnic::fabric
