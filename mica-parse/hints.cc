#include "hints.h"

#include "lexer.h"
#include <string>

namespace mica::parse {
namespace {

constexpr ForeignOperator kForeign[] = {
    {"<", ">", "`<>` is no operator", "not equal is `#`"},
    {"=", "=", "`==` is no operator", "a comparison for equality is `=`"},
    {"=", ">", "`=>` is no operator", "greater or equal is `>=`"},
    {"=", "<", "`=<` is no operator", "less or equal is `<=`"},
    {"<", "<", "`<<` is no operator", "a shift to the left is `shl`"},
    {"<", "<=", "`<<=` is no operator", "write `x := x shl n`"},
    {">", ">", "`>>` is no operator", "a shift to the right is `shr`"},
    {">", ">=", "`>>=` is no operator", "write `x := x shr n`"},
    {"*", "*", "`**` is no operator", "a power is `pow(x, y)`, imported from libm, or the verb `Pow`"},
    {"+", "=", "`+=` is no operator", "write `x := x + y`"},
    {"-", "=", "`-=` is no operator", "write `x := x - y`"},
    {"*", "=", "`*=` is no operator", "write `x := x * y`"},
    {"/", "=", "`/=` is no operator", "write `x := x / y`; not equal is `#`"},
    {"+", "+", "`++` is no operator", "write `x := x + 1`"},
    {"-", ">", "`->` is no operator", "`p.field` goes through a pointer"},
    {":", ":", "`::` is no operator", "imported names stand alone"},
};

struct ForeignWord {
  std::string_view word;
  const char *hint;
};
constexpr ForeignWord kWords[] = {
    {"elsif", "write `else if`"},
    {"elseif", "write `else if`"},
    {"elif", "write `else if`"},
    {"endif", "a block begins with `begin` and ends with `end`"},
    {"return", "a function's answer is assigned to its name, `F := x`; `leave` goes back to the caller"},
    {"div", "`/` divides; on integers it truncates toward zero"},
    {"forward", "procedures may be used before they are declared, without `forward`"},
    {"uses", "write `imp writeln : std;`"},
    {"import", "write `imp writeln : std;`"},
    {"include", "write `imp writeln : std;`"},
    {"unit", "a unit of its own begins with `object NAME;`"},
    {"module", "a unit of its own begins with `object NAME;`"},
    {"proc", "write `procedure P();`"},
    {"def", "write `procedure P();` or `function F() : int32;`"},
    {"func", "write `function F() : int32;`"},
    {"fn", "write `function F() : int32;`"},
    {"let", "variables are declared after `var`, before `begin`"},
    {"switch", "write `case x of 1 : ...; else ... end`"},
    {"label", "there is no `goto`; loops have `break` and `continue`"},
    {"goto", "loops have `break` and `continue`; `leave` goes out of the procedure"},
    {"with", "name the record: `r.field`"},
    {"set", "an `array[Color] of bool` holds a set"},
    {"packed", "records and arrays need no word before them"},
    {"struct", "write `record a, b : int32; end`"},
    {"endwhile", "a block begins with `begin` and ends with `end`"},
    {"endfor", "a block begins with `begin` and ends with `end`"},
    {"fi", "a block begins with `begin` and ends with `end`"},
    {"od", "a block begins with `begin` and ends with `end`"},
};

std::string lower(std::string_view name) {
  std::string word(name.substr(0, 16)); // no word of interest is longer
  for (char &c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);
  return word;
}

} // namespace

const ForeignOperator *find_foreign_operator(std::string_view first, std::string_view second) {
  for (const ForeignOperator &row : kForeign)
    if (row.first == first && row.second == second) return &row;
  return nullptr;
}

std::string_view word_hint(std::string_view name) {
  if (!keyword_in_capitals(name).empty()) return "keywords are written in lower case";
  const std::string word = lower(name);
  for (const ForeignWord &row : kWords)
    if (row.word == word) return row.hint;
  return {};
}

} // namespace mica::parse
