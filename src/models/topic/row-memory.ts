import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import { isVarianceRow, VARIANCE_FLOATS } from '../als/row-variance.ts'
import { LINEAR_MEMORY } from '../linear/weight-memory.ts'
import type { ModelTopicRecord } from './record.ts'

/*
 * What is published beside a row, as a header of its record, float32, little-endian. An earlier build does not read it.
 *
 * Of a block of weights it is what learning keeps beside them (`models/linear/weight-memory.ts`); by weight one of
 *
 *   | sums of squared gradients, range x f32 | largest values, range x f32, negative: published weights |
 *   | -n of FTRL-proximal, range x f32       | z, range x f32                                           |
 *
 * An earlier build, which has no FTRL-proximal, does not use a memory with -n.
 *
 * Of a user or an item it is its row of variances (`models/als/row-variance.ts`).
 */

const WEIGHTS = 'weight-memory'
const VARIANCE = 'variance'
const VARIANCE_BYTES = new TextEncoder().encode(VARIANCE)

const NONE: readonly RecordHeader[] = []

/** The headers of the row with a key, without version, and the bytes beside it (`encodeFactors`); none without them. */
export function rowMemoryHeader(
  key: string,
  memory: Uint8Array | undefined,
): readonly RecordHeader[] {
  if (memory === undefined) return NONE
  return [{ key: key.endsWith('-W') ? WEIGHTS : VARIANCE, value: memory }]
}

/**
 * The memory, [2 range], in the headers of a block of `range` weights; undefined if there is none, or one of
 * another length or with a number that learning cannot go on from.
 */
export function weightMemoryIn(
  headers: readonly RecordHeader[],
  range: number,
): Float32Array | undefined {
  const value = headers.find(({ key }) => key === WEIGHTS)?.value
  const memory = floatsOf(value, LINEAR_MEMORY * range)
  return memory?.every(Number.isFinite) ? memory : undefined
}

/** The row of variances of a record; undefined if there is none that a prediction can stand on. */
export function varianceOf(record: Pick<ModelTopicRecord, 'header'>): Float32Array | undefined {
  const row = floatsOf(record.header?.(VARIANCE_BYTES), VARIANCE_FLOATS)
  return row !== undefined && isVarianceRow(row) ? row : undefined
}

function floatsOf(value: Uint8Array | null | undefined, length: number): Float32Array | undefined {
  if (value?.length !== 4 * length) return undefined
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
  return Float32Array.from({ length }, (_, i) => view.getFloat32(4 * i, true))
}
