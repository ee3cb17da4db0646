// map kernels: a thread takes a group of cells; what is left of the last group, cell by cell.
#include "device.h"

namespace mica::codegen {

CardKernel card_map(Unit &host, Card &card, const spectra::Kernel &kernel) {
  CellGroup cells(card, kernel, kernel.space, {kernel.results.begin(), kernel.results.end()}, false);
  int64_t width = cells.width(), whole = cells.cells() / width, rest = cells.cells() % width;
  // The cells of a last group that is not full take a thread each, behind the full groups' threads.
  int64_t count = whole + rest;
  int64_t threads = std::min(kBlockThreads, std::max<int64_t>(32, (count + 31) / 32 * 32));
  CardFunction f(host, card, kernel, "", false);
  CardFunction::LValue i = f.global_thread();
  auto group = [&] { cells.emit(f.b, f.arguments, i, width, {}, &f); };
  if (count % threads == 0 && !rest)
    group();
  else
    f.when(f.b.CreateICmpULT(i, f.int64(whole)), group);
  if (rest)
    f.when(f.b.CreateAnd(f.b.CreateICmpUGE(i, f.int64(whole)), f.b.CreateICmpULT(i, f.int64(count))), [&] {
      CardFunction::LValue cell = f.b.CreateAdd(i, f.int64(whole * width - whole));
      cells.emit(f.b, f.arguments, cell, 1, {}, &f);
    });
  CardKernel out;
  out.fails = may_fail(card.device.spectra, kernel);
  out.entries.push_back(f.finish((count + threads - 1) / threads, threads));
  return out;
}

} // namespace mica::codegen
