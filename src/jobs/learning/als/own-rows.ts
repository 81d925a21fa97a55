import { type ModelVersion, modelVersion } from '../../../core/model-version.ts'
import type { LearnedRow, OnlineSide } from '../../../models/als/online/rule.ts'
import type { PublishedRow, RemovedRow } from '../../../models/als/row-update.ts'
import { vectorState } from '../../../state/port/descriptors.ts'
import type { VectorRowTarget, VectorState, WriteOrigin } from '../../../state/port/handles.ts'
import type { KeyedState } from '../../../state/port/keyed-state.ts'
import type { RowEvidence } from './evidence.ts'

/** Name of the state of what the rule keeps beside each row of a side. */
export function memoryState(side: OnlineSide): string {
  return `${side}-memory`
}

/** Options of the rows of one side. */
export interface OwnRowsOptions {
  readonly side: OnlineSide
  readonly rows: VectorState
  /** Average ratings that a row of the batch model counts as: the same for all, or one number a row. */
  readonly evidence: number | RowEvidence
  readonly maxKeyBytes: number
}

/** The rows of one side that this slot owns, read into one buffer. */
export class OwnRows {
  private readonly side: OnlineSide
  private readonly rows: VectorState
  private readonly evidence: number | RowEvidence
  private readonly maxKeyBytes: number
  private memories: VectorState | undefined
  private buffer = new RowBuffer(0, 0)

  constructor({ side, rows, evidence, maxKeyBytes }: OwnRowsOptions) {
    this.maxKeyBytes = maxKeyBytes
    this.side = side
    this.rows = rows
    this.evidence = evidence
  }

  /** The row in the buffer. */
  get row(): LearnedRow {
    return this.buffer.row
  }

  /** `memory`: floats that the rule keeps beside a row. */
  prepareFor(dimension: number, memory: number, state: KeyedState): void {
    this.buffer = new RowBuffer(dimension, memory)
    const { maxKeyBytes } = this
    const descriptor = vectorState(memoryState(this.side), { dimension: memory, maxKeyBytes })
    this.memories = memory === 0 ? undefined : state.vector(descriptor)
  }

  /** Reads a row into the buffer; the cold row where there is none. */
  read(version: number, key: Uint8Array, cold: Float32Array): LearnedRow {
    const { row, target, memory } = this.buffer
    const { memories, evidence } = this
    const id = modelVersion(version)
    if (!this.rows.readInto(id, key, target)) return this.cold(cold)
    row.updates = target.updateCount
    if (memories?.readInto(id, key, memory) !== true) row.memory.fill(0)
    row.evidence = typeof evidence === 'number' ? evidence : evidence.of(this.side, version, key)
    return row
  }

  /** Puts the cold row into the buffer. */
  cold(cold: Float32Array): LearnedRow {
    const { row } = this.buffer
    row.row.set(cold)
    row.memory.fill(0)
    row.updates = 0
    row.evidence = 0
    return row
  }

  /** Writes the row of the buffer. */
  store(version: ModelVersion, key: Uint8Array, origin: WriteOrigin): void {
    const { row } = this.buffer
    const { evidence, side } = this
    if (row.updates === 1 && row.evidence === 0 && typeof evidence !== 'number') {
      // The first rating of a new row: without a count it would be one of a publisher that does not count.
      evidence.place({ side, version, key, ratings: 0, origin })
    }
    this.rows.put(version, key, row.row, origin)
    this.memories?.put(version, key, row.memory, origin)
  }

  /** Stores or deletes a published row, without what was learned of the row before. */
  place(update: PublishedRow | RemovedRow, key: Uint8Array, origin: WriteOrigin): void {
    const version = modelVersion(update.version)
    const { evidence } = this
    this.memories?.remove(version, key)
    if (typeof evidence !== 'number') {
      const ratings = update.kind === 'row' ? update.ratings : undefined
      evidence.place({ side: this.side, version, key, ratings, origin })
    }
    if (update.kind === 'remove') this.rows.remove(version, key)
    else this.rows.putBytes(version, key, update.floats, origin)
  }

  /** Opens a version, also without a row of it here. */
  open(version: number): void {
    this.rows.openVersion(modelVersion(version))
  }

  /** Deletes the rows of a version. */
  drop(version: number): void {
    this.rows.dropVersion(modelVersion(version))
    this.memories?.dropVersion(modelVersion(version))
  }
}

/** One row, and the targets that it is read into. */
class RowBuffer {
  readonly row: LearnedRow
  readonly target: VectorRowTarget
  readonly memory: VectorRowTarget

  constructor(dimension: number, memory: number) {
    const vector = new Float32Array(dimension)
    const kept = new Float32Array(memory)
    this.row = { row: vector, memory: kept, updates: 0, evidence: 0 }
    this.target = { vector, updateCount: 0 }
    this.memory = { vector: kept, updateCount: 0 }
  }
}
