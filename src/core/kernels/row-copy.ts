import type { WasmMemory } from '../lifetime/wasm-memory.ts'
import { exportsOver } from './exports-over.ts'
import {
  ADD,
  get,
  load,
  loop,
  PROMOTE,
  set,
  step,
  store,
  twoMemoryModule,
  upper,
} from './two-memories.ts'

/*
 * A restored row comes from the memory of a block and goes into that of a table:
 *
 *   (func (param $from i32) (param $to i32) (param $sums i32) (param $quads i32) (local $row v128)
 *     (loop
 *       $row = v128.load memory 0 at $from; v128.store memory 1 at $to
 *       memory 1 at $sums      += promote(floats 0 and 1 of $row)
 *       memory 1 at $sums + 16 += promote(floats 2 and 3 of $row)
 *       $from += 16; $to += 16; $sums += 32; $quads -= 1; again unless it is 0))
 *
 * Every sum gets the same additions in the same order as in a plain loop: the results are equal bit by bit.
 */

/**
 * Copies `quads` (at least 1) times four float32 from byte `from` of a block's memory to byte `to` of a
 * table's, and adds them to the float64 from byte `sums` of the table's.
 */
export type RowCopy = (from: number, to: number, sums: number, quads: number) => void

const [FROM, TO, SUMS, QUADS, ROW] = [0, 1, 2, 3, 4] as const

const add = (floats: readonly number[], offset: number): number[] => [
  ...[...get(SUMS), ...get(SUMS), ...load(1, offset)],
  ...[...floats, ...PROMOTE, ...ADD, ...store(1, offset)],
]

let compiled: WebAssembly.Module | undefined

function module(): WebAssembly.Module | undefined {
  compiled ??= twoMemoryModule({
    memories: [
      { field: 'block', shared: false },
      { field: 'table', shared: true },
    ],
    parameters: 4,
    results: [],
    vectors: 1,
    body: loop(QUADS, [
      ...[...get(FROM), ...load(0), ...set(ROW), ...get(TO), ...get(ROW), ...store(1)],
      ...[...add(get(ROW), 0), ...add(upper(ROW), 16)],
      ...[...step(FROM, 16), ...step(TO, 16), ...step(SUMS, 32)],
    ]),
  })
  return compiled
}

/** The kernel from a block's memory to a shared one; undefined where the engine cannot run it. */
export function rowCopyOf(block: WasmMemory, table: WasmMemory): RowCopy | undefined {
  const compiled = module()
  if (compiled === undefined) return undefined
  const exports = exportsOver(compiled, 'rows', { block, table })
  return (exports as { readonly run: RowCopy }).run
}
