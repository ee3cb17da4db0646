// A nested procedure carries a pointer to its outer procedure's frame, so its value must not outlive that
// procedure: it may be passed as an argument, never stored. A parameter that a procedure stores may therefore
// never receive one, neither directly nor through procedures that pass it on.
#include "checker.h"

namespace mica::check {

void Checker::note_passing(const Operand &operand, Symbol *receiver) {
  Symbol *symbol = operand.symbol;
  if (!symbol) return;
  const bool nested = operand.kind == Operand::Kind::procedure && symbol->proc->outer;
  const bool handed_on = operand.is_place() && operand.path.steps.empty() && symbol->is_parameter;
  if (nested || handed_on) passings.push_back({symbol, receiver, operand.at});
}

bool Checker::note_storing(const Operand &operand, spectra::Place at) {
  Symbol *symbol = operand.symbol;
  if (!symbol) return true;
  if (operand.kind == Operand::Kind::procedure && symbol->proc->outer) {
    error(at,
          "`" + std::string(symbol->name) + "` is nested in `" +
              std::string(symbol->proc->outer->symbol->name) +
              "` and can't be stored: its variables end with that procedure",
          "pass it as an argument, or declare it outside");
    return false;
  }
  // A captured parameter is a field of a frame: the symbol still says which.
  if (operand.is_place() && symbol->is_parameter && symbol->type->is(Kind::procedure) && !symbol->stored)
    symbol->stored = at;
  return true;
}

void Checker::check_escapes() {
  // Backwards from what is stored, through parameters that are passed on, to a fixed point.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Passing &passing : passings) {
      if (!passing.receiver->stored || passing.procedure->kind != SymbolKind::variable ||
          passing.procedure->stored)
        continue;
      passing.procedure->stored = passing.receiver->stored;
      changed = true;
    }
  }
  for (const Passing &passing : passings) {
    if (!passing.receiver->stored || passing.procedure->kind != SymbolKind::procedure) continue;
    error(passing.at,
          "`" + std::string(passing.procedure->name) + "` is nested in `" +
              std::string(passing.procedure->proc->outer->symbol->name) +
              "` and can't be passed here, since the parameter is stored",
          "declare it outside");
    diag.note(passing.receiver->stored, "it is stored here");
  }
}

} // namespace mica::check
