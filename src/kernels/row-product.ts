/*
 * Rows of users and of items are in different memories. A kernel of AssemblyScript sees one memory, so this
 * one, which imports two (WebAssembly 3.0: multiple memories), is written byte by byte:
 *
 *   (func (param $x i32) (param $y i32) (param $quads i32) (result f64)
 *     (local $a v128) (local $b v128) (local $low v128) (local $high v128)
 *     (loop
 *       $a = v128.load memory 0 at $x; $b = v128.load memory 1 at $y
 *       $low += promote(floats 0 and 1 of $a) * promote(those of $b)
 *       $high += promote(floats 2 and 3 of $a) * promote(those of $b)
 *       $x += 16; $y += 16; $quads -= 1; again unless it is 0)
 *     ($low[0] + $low[1]) + ($high[0] + $high[1]))
 *
 * These are the four sums of `innerProduct`, in the same order: the results are equal bit by bit.
 */

/**
 * Inner product of `quads` (at least 1) times four float32 of one memory, from byte `x`, with those of
 * another, from byte `y`, summed in float64.
 */
export type RowProduct = (x: number, y: number, quads: number) => number

const [X, Y, QUADS, A, B, LOW, HIGH] = [0, 1, 2, 3, 4, 5, 6] as const
const I32 = 0x7f
const F64 = 0x7c
const V128 = 0x7b
const MAX_PAGES = 65536

/** A number in LEB128. */
function leb(number: number): number[] {
  const bytes: number[] = []
  let left = number
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80)
  return [...bytes, left]
}

const vector = (items: readonly (readonly number[])[]): number[] => [
  ...leb(items.length),
  ...items.flat(),
]
const section = (id: number, body: readonly number[]): number[] => [
  id,
  ...leb(body.length),
  ...body,
]
const name = (text: string): number[] => vector(Array.from(Buffer.from(text), (byte) => [byte]))

const get = (local: number): number[] => [0x20, local]
const set = (local: number): number[] => [0x21, local]
const constant = (value: number): number[] => [0x41, value]
const simd = (operation: number, ...operands: readonly number[]): number[] => [
  0xfd,
  ...leb(operation),
  ...operands,
]
const ADD_I32 = 0x6a
const SUB_I32 = 0x6b
const ADD_F64 = 0xa0
const PROMOTE = simd(0x5f)
const MULTIPLY = simd(0xf2)
const ADD = simd(0xf0)
/** `v128.load` with the alignment of a float; bit 6 says that the number of the memory follows. */
const load = (memory: number): number[] => [...simd(0x00), 0x42, memory, 0]
/** The upper half of a local in the lower half. */
const upper = (local: number): number[] => [
  ...get(local),
  ...get(local),
  ...simd(0x0d, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15),
]
const lane = (local: number, index: number): number[] => [...get(local), ...simd(0x21, index)]
const step = (local: number): number[] => [...get(local), ...constant(16), ADD_I32, ...set(local)]
const sumOf = (local: number): number[] => [...lane(local, 0), ...lane(local, 1), ADD_F64]

const CODE = [
  ...vector([[4, V128]]),
  ...[0x03, 0x40],
  ...[...get(X), ...load(0), ...set(A), ...get(Y), ...load(1), ...set(B)],
  ...[...get(LOW), ...get(A), ...PROMOTE, ...get(B), ...PROMOTE, ...MULTIPLY, ...ADD, ...set(LOW)],
  ...[...get(HIGH), ...upper(A), ...PROMOTE, ...upper(B), ...PROMOTE, ...MULTIPLY, ...ADD],
  ...[...set(HIGH), ...step(X), ...step(Y)],
  ...[...get(QUADS), ...constant(1), SUB_I32, 0x22, QUADS, 0x0d, 0],
  0x0b,
  ...[...sumOf(LOW), ...sumOf(HIGH), ADD_F64],
  0x0b,
]
const memory = (field: string): number[] => [
  ...name('rows'),
  ...name(field),
  ...[2, 3, 1],
  ...leb(MAX_PAGES),
]

/** The module; it imports two shared memories, `rows.left` and `rows.right`. */
const MODULE = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, vector([[0x60, ...vector([[I32], [I32], [I32]]), ...vector([[F64]])]])),
  ...section(2, vector([memory('left'), memory('right')])),
  ...section(3, vector([[0]])),
  ...section(7, vector([[...name('product'), 0, 0]])),
  ...section(10, vector([[...leb(CODE.length), ...CODE]])),
])

/** Undefined where the engine has no modules with two memories. */
const compiled = WebAssembly.validate(MODULE) ? new WebAssembly.Module(MODULE) : undefined

/** The kernel for two shared memories; undefined where the engine cannot run it. */
export function rowProductOf(
  left: WebAssembly.Memory,
  right: WebAssembly.Memory,
): RowProduct | undefined {
  if (compiled === undefined) return undefined
  const { exports } = new WebAssembly.Instance(compiled, { rows: { left, right } })
  return (exports as { readonly product: RowProduct }).product
}
