import type { RecordHeader } from '../../batch/record-batch-format.ts'
import { LINEAR_MEMORY } from '../../models/linear/online-rule.ts'

/**
 * Header of a published block of weights: what learning keeps beside them (`models/linear/online-rule.ts`),
 * float32, little-endian:
 *
 *   | sums of squared gradients, range x f32 | largest values, range x f32, negative: published weights |
 *
 * An earlier build does not read it, and learns as if the weights were not trained.
 */
const NAME = 'weight-memory'

const NONE: readonly RecordHeader[] = []

/** The headers of a block with the bytes of a memory (`encodeFactors`); none without one. */
export function weightMemoryHeader(memory: Uint8Array | undefined): readonly RecordHeader[] {
  return memory === undefined ? NONE : [{ key: NAME, value: memory }]
}

/**
 * The memory, [2 range], in the headers of a block of `range` weights; undefined if there is none, or one of
 * another length or with a number that learning cannot go on from.
 */
export function weightMemoryIn(
  headers: readonly RecordHeader[],
  range: number,
): Float32Array | undefined {
  const value = headers.find(({ key }) => key === NAME)?.value
  if (value?.length !== 4 * LINEAR_MEMORY * range) return undefined
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
  const memory = new Float32Array(LINEAR_MEMORY * range)
  for (let i = 0; i < memory.length; i++) memory[i] = view.getFloat32(4 * i, true)
  return isUsable(memory) ? memory : undefined
}

/** Whether squares are at least 0 and all is finite. */
function isUsable(memory: Float32Array): boolean {
  const squares = memory.subarray(0, memory.length / LINEAR_MEMORY)
  return memory.every(Number.isFinite) && squares.every((square) => square >= 0)
}
