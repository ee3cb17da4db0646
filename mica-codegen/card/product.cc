// product kernels: the skeleton of libmicart/device that fits the shape, with the kernel's body as its
// epilogue.
#include "device.h"
#include "shapes.h"

namespace mica::codegen {
namespace {

/// Fewer blocks than this leave multiprocessors of a large card without work.
constexpr int64_t kEnoughBlocks = 100;
constexpr int64_t kVectorBytes = 16;

struct Tiles {
  const char *cell; ///< the skeletons' name of the cell's type
  std::vector<int64_t> sides;
};
Tiles tiles_of(const Type *type) {
  switch (type->scalar) {
  case Scalar::f32: return {"f32", {128, 64, 32}};
  case Scalar::f64: return {"f64", {64, 32}};
  case Scalar::i64:
  case Scalar::u64: return {"i64", {32}};
  default: return {"i32", {64}};
  }
}

int64_t blocks_of(const ProductShape &s, int64_t side) {
  return (s.m + side - 1) / side * ((s.n + side - 1) / side) * s.batch;
}

} // namespace

/// As on the processor (host/launch.cc): a vector on the left is one row, on the right one column; leading
/// sizes are rows unless both sides have them.
ProductShape product_shape(const spectra::Kernel &kernel) {
  ProductShape s;
  for (const spectra::Attribute &a : kernel.attributes) {
    s.transpose_a |= a.key == spectra::Attr::transpose_a;
    s.transpose_b |= a.key == spectra::Attr::transpose_b;
  }
  std::vector<int64_t> as = kernel.params[0]->sizes, bs = kernel.params[1]->sizes;
  if (as.size() == 1) as.insert(as.begin(), 1);
  if (bs.size() == 1) bs.push_back(1);
  if (bs.size() > 2) {
    for (size_t i = 0; i + 2 < bs.size(); ++i) s.batch *= bs[i];
  } else if (!s.transpose_a) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < as.size(); ++i) rows *= as[i];
    as = {rows, as.back()};
  } else {
    for (size_t i = 0; i + 2 < as.size(); ++i) s.batch *= as[i];
  }
  int64_t a_rows = as[as.size() - 2], b_rows = bs[bs.size() - 2];
  s.lda = as.back();
  s.ldb = bs.back();
  s.m = s.transpose_a ? s.lda : a_rows;
  s.k = s.transpose_a ? a_rows : s.lda;
  s.n = s.transpose_b ? b_rows : s.ldb;
  s.stride_a = a_rows * s.lda;
  s.stride_b = bs.size() > 2 ? b_rows * s.ldb : 0;
  return s;
}

CardKernel card_product(Unit &host, Card &card, const spectra::Kernel &kernel) {
  ProductShape s = product_shape(kernel);
  const Type *type = kernel.results[0];
  Tiles tiles = tiles_of(type);
  int64_t side = tiles.sides[0];
  for (int64_t smaller : tiles.sides)
    if (blocks_of(s, side) < kEnoughBlocks) side = smaller;
  int64_t wide = kVectorBytes / spectra::scalar_bytes(type->scalar);
  CellGroup cells(card, kernel, type->sizes, {type}, true);
  bool vectors = card.aligned;
  bool c_vector = vectors && cells.width() == wide && s.n % wide == 0;
  std::vector<int64_t> constants = {s.m,
                                    s.n,
                                    s.k,
                                    s.lda,
                                    s.ldb,
                                    s.stride_a,
                                    s.stride_b,
                                    s.transpose_a,
                                    s.transpose_b,
                                    vectors && s.lda % wide == 0,
                                    vectors && s.ldb % wide == 0,
                                    c_vector};
  std::string name = std::string("mica_product_") + tiles.cell + "_" + std::to_string(side);
  skeleton(card, name); // so that the hooks are declared
  CardFunction f(host, card, kernel, "", false);
  CardFunction::LValue context = f.context();

  // The hooks: one cell of the answer, or a vector of neighbours, goes through the body to memory.
  llvm::Value *own_failures = card.device.failures;
  std::string kernel_name = f.function->getName().str();
  auto hook = [&](const std::string &like, int64_t count) {
    llvm::Function *made = make_hook(card, kernel_name, like);
    Builder b(llvm::BasicBlock::Create(card.device.context, "entry", made));
    std::vector<llvm::Value *> arguments = f.read_context(b, made->getArg(0));
    std::vector<llvm::Value *> sums;
    llvm::Value *given = made->getArg(2); // a sum, or where several stand
    llvm::Type *cell = card.device.scalar_type(type->scalar);
    for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i)
      sums.push_back(given->getType()->isPointerTy()
                         ? b.CreateLoad(cell, b.CreateConstInBoundsGEP1_64(cell, given, i))
                         : given);
    llvm::Value *group = made->getArg(1);
    if (count > 1) group = b.CreateUDiv(group, b.getInt64(static_cast<uint64_t>(count)));
    cells.emit(b, arguments, group, count, sums, nullptr);
    b.CreateRetVoid();
    return made;
  };
  std::map<std::string, llvm::Function *> hooks;
  std::string one = std::string("mica_hook_cell_") + tiles.cell;
  std::string some = std::string("mica_hook_cells_") + tiles.cell;
  hooks[one] = hook(one, 1);
  hooks[some] = hook(some, c_vector ? wide : 1); // never called where vectors do not fit
  card.device.failures = own_failures;

  llvm::Function *body = specialize(card, name, constants, hooks);
  llvm::CallInst *call = f.b.CreateCall(body, {f.arguments[0], f.arguments[1], context});
  call->setConvergent();
  CardKernel out;
  out.fails = may_fail(card.device.spectra, kernel);
  out.entries.push_back(f.finish(s.m && s.n ? blocks_of(s, side) : 0, kBlockThreads));
  return out;
}

} // namespace mica::codegen
