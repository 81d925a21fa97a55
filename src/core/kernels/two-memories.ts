/*
 * Kernels over two memories (WebAssembly 3.0: multiple memories) are written byte by byte: AssemblyScript
 * sees one. This is what they have in common: instructions, sections and the import of the memories.
 */

const I32 = 0x7f
/** The type float64. */
export const F64 = 0x7c
const V128 = 0x7b
const MAX_PAGES = 65536

/** A number in LEB128. */
function leb(number: number): number[] {
  const bytes: number[] = []
  let left = number
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80)
  return [...bytes, left]
}

/** A list with its length. */
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

export const get = (local: number): number[] => [0x20, local]
export const set = (local: number): number[] => [0x21, local]
const constant = (value: number): number[] => [0x41, value]
const simd = (operation: number, ...operands: readonly number[]): number[] => [
  0xfd,
  ...leb(operation),
  ...operands,
]
const ADD_I32 = 0x6a
const SUB_I32 = 0x6b
export const ADD_F64 = 0xa0
/** Two floats of the lower half as two doubles. */
export const PROMOTE = simd(0x5f)
export const MULTIPLY = simd(0xf2)
export const ADD = simd(0xf0)
/** Alignment of a float (log2), with the bit that says that the number of the memory follows. */
const ALIGNMENT = 0x42
/** `v128.load` from a memory, `offset` bytes after the address. */
export const load = (memory: number, offset = 0): number[] => [
  ...simd(0x00),
  ...[ALIGNMENT, memory, offset],
]
/** `v128.store` likewise. */
export const store = (memory: number, offset = 0): number[] => [
  ...simd(0x0b),
  ...[ALIGNMENT, memory, offset],
]
/** The upper half of a local in the lower half. */
export const upper = (local: number): number[] => [
  ...get(local),
  ...get(local),
  ...simd(0x0d, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15),
]
export const lane = (local: number, index: number): number[] => [
  ...get(local),
  ...simd(0x21, index),
]
/** Adds `bytes` (below 64) to an address. */
export const step = (local: number, bytes: number): number[] => [
  ...get(local),
  ...constant(bytes),
  ADD_I32,
  ...set(local),
]
/** A loop that runs `counter` (at least 1) times. */
export const loop = (counter: number, body: readonly number[]): number[] => [
  ...[0x03, 0x40],
  ...body,
  ...[...get(counter), ...constant(1), SUB_I32, 0x22, counter, 0x0d, 0],
  0x0b,
]

/** An imported memory, which has a maximum. */
interface ImportedMemory {
  readonly field: string
  readonly shared: boolean
}

/** One function over imported memories. */
export interface TwoMemoryFunction {
  /** Memories 0 and 1; they are imported from `rows`. */
  readonly memories: readonly ImportedMemory[]
  /** Number of its parameters, all i32. */
  readonly parameters: number
  readonly results: readonly number[]
  /** Number of its other locals, all v128. */
  readonly vectors: number
  readonly body: readonly number[]
}

const memory = ({ field, shared }: ImportedMemory): number[] => [
  ...name('rows'),
  ...name(field),
  ...[2, shared ? 3 : 1, 1],
  ...leb(MAX_PAGES),
]

/** The module that exports the function as `run`; undefined where the engine has no modules with two memories. */
export function twoMemoryModule(of: TwoMemoryFunction): WebAssembly.Module | undefined {
  const parameters = vector(new Array<number[]>(of.parameters).fill([I32]))
  const results = vector(of.results.map((type) => [type]))
  const code = [...vector([[of.vectors, V128]]), ...of.body, 0x0b]
  const bytes = Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector([[0x60, ...parameters, ...results]])),
    ...section(2, vector(of.memories.map(memory))),
    ...section(3, vector([[0]])),
    ...section(7, vector([[...name('run'), 0, 0]])),
    ...section(10, vector([[...leb(code.length), ...code]])),
  ])
  return WebAssembly.validate(bytes) ? new WebAssembly.Module(bytes) : undefined
}
