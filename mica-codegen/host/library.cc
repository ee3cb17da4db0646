// Operations that libmicart carries out: memory, strings, output, files, checks, random numbers.
#include "card/card.h"
#include "function.h"

namespace mica::codegen {

FunctionEmitter::LValue FunctionEmitter::call(const char *name, llvm::Type *result,
                                              llvm::ArrayRef<LValue> arguments) {
  llvm::SmallVector<llvm::Type *> types;
  llvm::SmallVector<LValue> flat;
  for (LValue v : arguments) { // a pair is two arguments (micart.h)
    if (v->getType()->isStructTy()) {
      flat.push_back(first(v));
      flat.push_back(second(v));
    } else {
      flat.push_back(v);
    }
  }
  for (LValue v : flat) types.push_back(v->getType());
  return b_.CreateCall(unit_.runtime(name, result, types), flat);
}

FunctionEmitter::LValue FunctionEmitter::int64(LValue v, const Type *type) {
  return b_.CreateIntCast(v, b_.getInt64Ty(), type->is_signed());
}

bool FunctionEmitter::emit_check(const Op &op) {
  LValue file = place_file(op);
  LValue line = place_line(op);
  llvm::Type *none = b_.getVoidTy();
  auto fail_with = [&](Builder &fail, const char *name, std::vector<LValue> arguments) {
    arguments.insert(arguments.begin(), {file, line});
    Builder saved(b_.GetInsertBlock());
    b_.SetInsertPoint(fail.GetInsertBlock());
    call(name, none, arguments);
    fail.SetInsertPoint(b_.GetInsertBlock());
  };
  switch (op.code) {
  case OpCode::assert:
    emit_failure(unit_, b_, b_.CreateNot(arg(op, 0)), "assert",
                 [&](Builder &f) { fail_with(f, "mica_fail_assert", {arg(op, 1)}); });
    return true;
  case OpCode::panic:
    emit_failure(unit_, b_, b_.getTrue(), "panic",
                 [&](Builder &f) { fail_with(f, "mica_fail_panic", {arg(op, 0)}); });
    return true;
  case OpCode::check_index:
  case OpCode::check_range: {
    LValue i = int64(arg(op, 0), op.arg(0)->type);
    LValue low = b_.getInt64(static_cast<uint64_t>(op.integer(spectra::Attr::low)));
    LValue high = b_.getInt64(static_cast<uint64_t>(op.integer(spectra::Attr::high)));
    LValue outside = b_.CreateOr(b_.CreateICmpSLT(i, low), b_.CreateICmpSGT(i, high));
    emit_failure(unit_, b_, outside, "outside", [&](Builder &f) {
      if (op.code == OpCode::check_index)
        fail_with(f, "mica_fail_index", {i, low, high});
      else
        fail_with(f, "mica_fail_enum", {i, unit_.c_string(op.text(spectra::Attr::what))});
    });
    define(op.result(), arg(op, 0));
    return true;
  }
  case OpCode::check_chance: {
    LValue p = arg(op, 0);
    LValue inside = b_.CreateAnd(b_.CreateFCmpOGE(p, llvm::ConstantFP::get(p->getType(), 0)),
                                 b_.CreateFCmpOLE(p, llvm::ConstantFP::get(p->getType(), 1)));
    emit_failure(unit_, b_, b_.CreateNot(inside), "outside", [&](Builder &f) {
      fail_with(f, "mica_fail_chance", {unit_.c_string(op.text(spectra::Attr::what)), p});
    });
    define(op.result(), p);
    return true;
  }
  case OpCode::check_slice: {
    LValue i = int64(arg(op, 1), op.arg(1)->type);
    LValue length = second(arg(op, 0));
    emit_failure(unit_, b_, b_.CreateICmpUGE(i, length), "outside", [&](Builder &f) {
      fail_with(f, "mica_fail_index", {i, f.getInt64(0), f.CreateSub(length, f.getInt64(1))});
    });
    define(op.result(), arg(op, 1));
    return true;
  }
  case OpCode::check_nil: {
    LValue p = arg(op, 0);
    LValue address = p->getType()->isStructTy() ? first(p) : p;
    emit_failure(unit_, b_, b_.CreateIsNull(address), "nil",
                 [&](Builder &f) { fail_with(f, "mica_fail_nil", {}); });
    define(op.result(), p);
    return true;
  }
  default: return false;
  }
}

/// An array of `mica_argument` on the stack.
FunctionEmitter::LValue FunctionEmitter::print_arguments(const Op &op) {
  constexpr uint64_t kWords = 3; // struct mica_argument: {i32 type, i32 rank}, word0, word1
  if (!op.arg_count()) return llvm::ConstantPointerNull::get(unit_.pointer());
  LValue slots = entry_slot(b_.getInt64Ty(), "arguments", kWords * static_cast<uint64_t>(op.arg_count()));
  for (int i = 0; i < op.arg_count(); ++i) {
    const Type *type = op.arg(i)->type;
    LValue v = arg(op, i);
    LValue zero = b_.getInt64(0);
    uint64_t tag = static_cast<uint64_t>(runtime_type(type));
    LValue word0 = zero;
    LValue word1 = zero;
    if (type->kind == TypeKind::pointer && type->element->is_whole()) {
      const Type *whole = type->element;
      tag = static_cast<uint64_t>(runtime_type(whole)) | 256 | static_cast<uint64_t>(whole->rank()) << 32;
      word0 = b_.CreatePtrToInt(v, b_.getInt64Ty());
      word1 = b_.CreatePtrToInt(unit_.int64s(whole->sizes), b_.getInt64Ty());
    } else if (v->getType()->isStructTy()) {
      word0 = first(v)->getType()->isPointerTy() ? b_.CreatePtrToInt(first(v), b_.getInt64Ty()) : first(v);
      word1 = second(v)->getType()->isPointerTy() ? b_.CreatePtrToInt(second(v), b_.getInt64Ty()) : second(v);
    } else if (v->getType()->isPointerTy()) {
      tag = 19;
      word0 = b_.CreatePtrToInt(v, b_.getInt64Ty());
    } else if (v->getType()->isFloatingPointTy()) {
      word0 = b_.CreateZExtOrTrunc(
          b_.CreateBitCast(v, unit_.i(static_cast<unsigned>(v->getType()->getPrimitiveSizeInBits()))),
          b_.getInt64Ty());
    } else {
      word0 = int64(v, type);
      if (v->getType()->getIntegerBitWidth() == 128)
        word1 = b_.CreateTrunc(b_.CreateLShr(v, 64), b_.getInt64Ty());
    }
    auto store_word = [&](uint64_t word, LValue what) {
      b_.CreateStore(what, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots,
                                                         kWords * static_cast<uint64_t>(i) + word));
    };
    store_word(0, b_.getInt64(tag));
    store_word(1, word0);
    store_word(2, word1);
  }
  return slots;
}

/// Descriptors of what is saved or loaded (struct mica_tensor, 40 bytes), built on the stack.
void FunctionEmitter::emit_tensors(const Op &op, bool save) {
  constexpr uint64_t kBytes = 40;
  const std::vector<std::string> &names = *op.texts(spectra::Attr::names);
  uint64_t count = static_cast<uint64_t>(op.arg_count() - 1);
  LValue table = entry_slot(b_.getInt8Ty(), "tensors", kBytes * count);
  for (uint64_t i = 0; i < count; ++i) {
    const Type *type = op.arg(static_cast<int>(i) + 1)->type->element;
    auto field = [&](uint64_t offset, LValue v) {
      b_.CreateStore(v, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), table, kBytes * i + offset));
    };
    LValue address = arg(op, static_cast<int>(i) + 1);
    field(0, unit_.c_string(names[i]));
    field(8, b_.getInt32(static_cast<uint32_t>(runtime_type(type))));
    field(12, b_.getInt32(static_cast<uint32_t>(type->rank())));
    field(16, type->is_whole() ? unit_.int64s(type->sizes) : llvm::ConstantPointerNull::get(unit_.pointer()));
    field(24, address);
    field(32, b_.getInt32(type->gpu));
    field(36, b_.getInt32(0));
  }
  call(save ? "mica_save_tensors" : "mica_load_tensors", b_.getVoidTy(),
       {place_file(op), place_line(op), arg(op, 0), b_.getInt64(count), table});
}

/// An arena outlives the call: a function that is called once a step would else ask the system for memory
/// each time.
void FunctionEmitter::emit_arena(const Op &op) {
  uint64_t bytes = static_cast<uint64_t>(op.integer(spectra::Attr::bytes));
  std::string name = std::string(func_.name) + ".arena";
  llvm::GlobalVariable *keeper =
      new llvm::GlobalVariable(*unit_.module, unit_.pointer(), false, llvm::GlobalValue::InternalLinkage,
                               llvm::ConstantPointerNull::get(unit_.pointer()), name);
  LValue kept = b_.CreateLoad(unit_.pointer(), keeper);
  llvm::BasicBlock *before = b_.GetInsertBlock();
  llvm::BasicBlock *take = block("arena");
  llvm::BasicBlock *done = block("");
  b_.CreateStore(llvm::ConstantPointerNull::get(unit_.pointer()), keeper);
  b_.CreateCondBr(b_.CreateIsNull(kept), take, done);
  b_.SetInsertPoint(take);
  bool on_card = op.flag(spectra::Attr::gpu);
  LValue fresh =
      on_card ? call("mica_card_alloc", unit_.pointer(), {place_file(op), place_line(op), b_.getInt64(bytes)})
              : call("mica_arena", unit_.pointer(),
                     {place_file(op), place_line(op), b_.getInt64(bytes), b_.getInt32(0)});
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode *memory = b_.CreatePHI(unit_.pointer(), 2);
  memory->addIncoming(kept, before);
  memory->addIncoming(fresh, take);
  arenas_.push_back({memory, keeper, on_card});
  define(op.result(), memory);
}

bool FunctionEmitter::emit_library(const Op &op) {
  LValue file = place_file(op);
  LValue line = place_line(op);
  llvm::Type *none = b_.getVoidTy();
  llvm::Type *truth = b_.getInt32Ty();
  llvm::Type *pair = unit_.pair();
  auto result = [&](LValue v) { define(op.result(), v); };
  auto yes = [&](LValue v) { define(op.result(), b_.CreateICmpNE(v, b_.getInt32(0))); };
  switch (op.code) {
  // memory
  case OpCode::new_: {
    const Type *type = op.result()->type->element;
    if (type->is_device_or_whole() && type->gpu) { // the pointer is an address on the card
      LValue bytes = b_.getInt64(static_cast<uint64_t>(type->cells() * spectra::scalar_bytes(type->scalar)));
      result(call("mica_card_alloc", unit_.pointer(), {file, line, bytes}));
      call("mica_card_zero", none, {file, line, value(op.result()), bytes});
      return true;
    }
    uint64_t size = static_cast<uint64_t>(spectra::size_of(type));
    result(call("mica_new", unit_.pointer(), {file, line, b_.getInt64(size)}));
    if (has_card_parts(type))
      emit_card_place(unit_, b_, op.place(), value(op.result()), type, b_.getInt64(1));
    return true;
  }
  case OpCode::new_slice: {
    uint64_t size = static_cast<uint64_t>(spectra::size_of(op.result()->type->element));
    result(call("mica_new_array", pair, {file, line, int64(arg(op, 0), op.arg(0)->type), b_.getInt64(size)}));
    if (const Type *type = op.result()->type->element; has_card_parts(type))
      emit_card_place(unit_, b_, op.place(), first(value(op.result())), type, second(value(op.result())));
    return true;
  }
  case OpCode::dispose: {
    LValue p = arg(op, 0);
    if (p->getType()->isStructTy()) p = first(p);
    const Type *type = op.arg(0)->type->element;
    if (type->is_device_or_whole() && type->gpu && op.arg(0)->type->kind == TypeKind::pointer) {
      call("mica_card_free", none, {p});
      return true;
    }
    if (has_card_parts(type)) emit_card_unplace(unit_, b_, p, type);
    call("mica_dispose", none, {file, line, p});
    return true;
  }
  case OpCode::slice_length: result(second(arg(op, 0))); return true;
  case OpCode::string_length: result(second(arg(op, 0))); return true;
  case OpCode::nil: result(llvm::Constant::getNullValue(unit_.type_of(op.result()->type))); return true;
  case OpCode::is_nil: {
    LValue p = arg(op, 0);
    result(b_.CreateIsNull(p->getType()->isStructTy() ? first(p) : p));
    return true;
  }
  case OpCode::pointer_equal: {
    LValue p = arg(op, 0);
    LValue q = arg(op, 1);
    if (!p->getType()->isStructTy())
      result(b_.CreateICmpEQ(p, q));
    else {
      LValue same_first = b_.CreateICmpEQ(first(p), first(q));
      result(b_.CreateAnd(same_first, b_.CreateICmpEQ(second(p), second(q))));
    }
    return true;
  }
  case OpCode::copy_value:
  case OpCode::copy: {
    const Type *type = op.arg(0)->type->element;
    if (op.code == OpCode::copy_value && has_card_parts(type)) {
      emit_card_copy_value(unit_, b_, op.place(), arg(op, 0), arg(op, 1), type);
      return true;
    }
    uint64_t size = static_cast<uint64_t>(
        type->is_whole() ? type->cells() * spectra::scalar_bytes(type->scalar) : spectra::size_of(type));
    llvm::Align align(static_cast<uint64_t>(std::min<int64_t>(spectra::align_of(type), 8)));
    // The two may be the same place or overlap where a record is assigned to itself.
    if (size) b_.CreateMemMove(arg(op, 0), align, arg(op, 1), align, size);
    return true;
  }
  case OpCode::view: { // of a scalar: it is put into memory, as a value of one cell
    const Type *type = op.arg(0)->type;
    if (type->kind != TypeKind::scalar || type->gpu) return result(arg(op, 0)), true;
    LValue slot = entry_slot(unit_.memory_type(type), "cell", 1, 64);
    store(type, arg(op, 0), slot);
    return result(slot), true;
  }
  case OpCode::frame_of:
  case OpCode::frame_as: result(arg(op, 0)); return true;
  case OpCode::arena: emit_arena(op); return true;
  case OpCode::buffer:
    result(b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arg(op, 0),
                                         static_cast<uint64_t>(op.integer(spectra::Attr::offset))));
    return true;
  case OpCode::wait:
    return true; // the processor's launches have ended where they return

  // strings
  case OpCode::string_concat: result(call("mica_string_concat", pair, {arg(op, 0), arg(op, 1)})); return true;
  case OpCode::string_equal: yes(call("mica_string_equal", truth, {arg(op, 0), arg(op, 1)})); return true;
  case OpCode::string_cell: {
    LValue i = int64(arg(op, 1), op.arg(1)->type);
    LValue length = second(arg(op, 0));
    emit_failure(unit_, b_, b_.CreateICmpUGE(i, length), "outside", [&](Builder &f) {
      f.CreateCall(unit_.runtime("mica_fail_index", f.getVoidTy(),
                                 {unit_.pointer(), unit_.i(32), unit_.i(64), unit_.i(64), unit_.i(64)}),
                   {file, line, i, f.getInt64(0), f.CreateSub(length, f.getInt64(1))});
    });
    result(b_.CreateLoad(b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), first(arg(op, 0)), i)));
    return true;
  }

  // output, input, files, time
  case OpCode::print:
    call("mica_print", none,
         {unit_.utf32_string(op.text(spectra::Attr::format)),
          b_.getInt64(static_cast<uint64_t>(op.arg_count())), print_arguments(op),
          b_.getInt32(op.flag(spectra::Attr::newline))});
    return true;
  case OpCode::format:
    result(call("mica_format", pair,
                {unit_.utf32_string(op.text(spectra::Attr::format)),
                 b_.getInt64(static_cast<uint64_t>(op.arg_count())), print_arguments(op)}));
    return true;
  case OpCode::read_input:
    if (op.arg_count())
      call("mica_read", none,
           {file, line, b_.getInt32(static_cast<uint32_t>(runtime_type(op.arg(0)->type->element))),
            arg(op, 0)});
    if (op.flag(spectra::Attr::newline)) call("mica_read_end", none, {});
    return true;
  case OpCode::parse_int:
  case OpCode::parse_float:
    yes(call("mica_parse", truth,
             {arg(op, 0), b_.getInt32(static_cast<uint32_t>(runtime_type(op.arg(1)->type->element))),
              arg(op, 1)}));
    return true;
  case OpCode::arg_count:
    result(b_.CreateTrunc(call("mica_arg_count", b_.getInt64Ty(), {}), b_.getInt32Ty()));
    return true;
  case OpCode::argument:
    result(call("mica_arg", pair, {file, line, int64(arg(op, 0), op.arg(0)->type)}));
    return true;
  case OpCode::read_file: result(call("mica_read_file", pair, {file, line, arg(op, 0)})); return true;
  case OpCode::write_file: call("mica_write_file", none, {file, line, arg(op, 0), arg(op, 1)}); return true;
  case OpCode::file_exists: yes(call("mica_file_exists", truth, {arg(op, 0)})); return true;
  case OpCode::clock: result(call("mica_clock", b_.getDoubleTy(), {})); return true;
  case OpCode::load_bytes: result(call("mica_load_bytes", pair, {file, line, arg(op, 0)})); return true;
  case OpCode::load_tokens: result(call("mica_load_tokens", pair, {file, line, arg(op, 0)})); return true;
  case OpCode::save_tensors: emit_tensors(op, true); return true;
  case OpCode::load_tensors: emit_tensors(op, false); return true;

  // random numbers
  case OpCode::seed: call("mica_seed", none, {arg(op, 0), int64(arg(op, 1), op.arg(1)->type)}); return true;
  case OpCode::random_int:
    result(b_.CreateIntCast(call("mica_random_int", b_.getInt64Ty(),
                                 {file, line, arg(op, 0), int64(arg(op, 1), op.arg(1)->type)}),
                            arg(op, 1)->getType(), true));
    return true;
  case OpCode::random_float: {
    LValue draw = call("mica_random_float", b_.getDoubleTy(), {arg(op, 0)});
    const Type *type = op.result()->type;
    if (type->scalar == Scalar::f64) return result(draw), true;
    // A narrower type keeps the draw's leading bits: rounding could give 1.
    double cells = type->scalar == Scalar::f32 ? 0x1p24 : type->scalar == Scalar::f16 ? 0x1p11 : 0x1p8;
    LValue number =
        b_.CreateFPToUI(b_.CreateFMul(draw, llvm::ConstantFP::get(draw->getType(), cells)), b_.getInt32Ty());
    LValue kept = b_.CreateFMul(b_.CreateUIToFP(number, b_.getFloatTy()),
                                llvm::ConstantFP::get(b_.getFloatTy(), 1 / cells));
    result(narrow_half(unit_, b_, kept, type));
    return true;
  }
  case OpCode::draw: {
    LValue draw = llvm::PoisonValue::get(unit_.type_of(op.result()->type));
    draw = b_.CreateInsertValue(draw, b_.CreateLoad(b_.getInt64Ty(), arg(op, 0)), 0); // the key stands first
    LValue counter = op.arg_count() > 1
                         ? call("mica_random_reserve_for", b_.getInt64Ty(), {arg(op, 0), arg(op, 1)})
                         : call("mica_random_reserve", b_.getInt64Ty(), {arg(op, 0)});
    result(b_.CreateInsertValue(draw, counter, 1));
    return true;
  }
  default: return false;
  }
}

} // namespace mica::codegen
