import type { WasmMemory } from '../lifetime/wasm-memory.ts'
import { exportsOver } from './exports-over.ts'
import {
  ADD,
  ADD_F64,
  F64,
  get,
  lane,
  load,
  loop,
  MULTIPLY,
  PROMOTE,
  set,
  step,
  twoMemoryModule,
  upper,
} from './two-memories.ts'

/*
 * Rows of users and of items are in different memories:
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

const sumOf = (local: number): number[] => [...lane(local, 0), ...lane(local, 1), ADD_F64]

const BODY = [
  ...loop(QUADS, [
    ...[...get(X), ...load(0), ...set(A), ...get(Y), ...load(1), ...set(B)],
    ...[...get(LOW), ...get(A), ...PROMOTE, ...get(B), ...PROMOTE, ...MULTIPLY, ...ADD],
    ...[...set(LOW), ...get(HIGH), ...upper(A), ...PROMOTE, ...upper(B), ...PROMOTE],
    ...[...MULTIPLY, ...ADD, ...set(HIGH), ...step(X, 16), ...step(Y, 16)],
  ]),
  ...[...sumOf(LOW), ...sumOf(HIGH), ADD_F64],
]

/** Undefined where the engine has no modules with two memories. */
const compiled = twoMemoryModule({
  memories: [
    { field: 'left', shared: true },
    { field: 'right', shared: true },
  ],
  parameters: 3,
  results: [F64],
  vectors: 4,
  body: BODY,
})

/** The kernel for two shared memories; undefined where the engine cannot run it. */
export function rowProductOf(left: WasmMemory, right: WasmMemory): RowProduct | undefined {
  if (compiled === undefined) return undefined
  const exports = exportsOver(compiled, 'rows', { left, right })
  return (exports as { readonly run: RowProduct }).run
}
