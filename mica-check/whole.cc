// Whole values: the checker's state for them, and what the core calls. (The verbs' files fill this in.)
#include "whole.h"

namespace mica::check {

struct WholeState {};

Checker::~Checker() = default;

namespace {
Operand missing(Checker &c, spectra::Place at) { return c.error(at, "whole values are not compiled yet"); }
} // namespace

Operand check_whole_binary(Checker &c, spectra::OpCode, Operand, Operand, const Type *, spectra::Place at) {
  return missing(c, at);
}
Operand check_whole_unary(Checker &c, spectra::OpCode, Operand, spectra::Place at) { return missing(c, at); }
Operand check_verb_call(Checker &c, Verb, const Node &call, const Type *) { return missing(c, c.place_of(call)); }
void check_tape(Checker &c, const Node &node) { missing(c, c.place_of(node)); }
Operand check_index_whole(Checker &c, Operand, const Node *, spectra::Place at) { return missing(c, at); }
Operand convert_whole_as(Checker &c, Operand, const Type *, spectra::Place at) { return missing(c, at); }
Operand convert_whole(Checker &c, Operand operand, const Type *, Purpose) { return missing(c, operand.at); }
bool converts_whole(Checker &, const Operand &operand, const Type *to) { return operand.type == to; }
bool assign_whole(Checker &c, const Operand &target, const Node &, spectra::Place at) {
  if (target.type->is_aggregate()) return false;
  missing(c, at);
  return true;
}
void check_device_if(Checker &c, const Node &node) { missing(c, c.place_of(node)); }
Proc *instantiate(Checker &c, Proc &, std::vector<Operand> &, spectra::Place at) {
  missing(c, at);
  return nullptr;
}
bool check_tracked(Checker &, const Operand &, const Type *, Purpose) { return true; }
void finish_whole(Checker &) {}
void promote(spectra::Module &) {}

} // namespace mica::check
