#pragma once
#include "window.h"

namespace mica::grad {

/// The forward twin of a procedure for one window: see recursion.cc.
std::shared_ptr<Recursion> make_recursion(spectra::Module &module, const Window &window,
                                          const spectra::Func &source);
/// A twin as the passes see a window.
Window window_of(const Window &window, const Recursion &recursion);
/// Unit variables with tracked places that the window's twins touch: their keys. They count as asked for.
std::set<std::string> touched_by_recursions(spectra::Module &module, const Window &window,
                                            std::vector<Location> &asked);

} // namespace mica::grad
