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
  /** Where the memories are declared. */
  readonly state: KeyedState
  /** Average ratings that a row of the batch model counts as: the same for all, or one number a row. */
  readonly evidence: number | RowEvidence
  readonly maxKeyBytes: number
}

/** The rows of one side that this slot owns, read into one buffer. */
export class OwnRows {
  private readonly side: OnlineSide
  private readonly rows: VectorState
  private readonly evidence: number | RowEvidence
  /** What the rule keeps beside each row: as many floats as the rule of the version has for its layout. */
  private readonly memories: VectorState
  /** One for each length of rows and of memory. */
  private readonly buffers: RowBuffer[] = []
  private buffer: RowBuffer

  constructor({ side, rows, state, evidence, maxKeyBytes }: OwnRowsOptions) {
    this.side = side
    this.rows = rows
    this.evidence = evidence
    this.memories = state.vector(
      vectorState(memoryState(side), { dimension: 1, dimensionByVersion: true, maxKeyBytes }),
    )
    this.buffer = this.bufferOf(0, rows.dimension)
  }

  /** The row in the buffer. */
  get row(): LearnedRow {
    return this.buffer.row
  }

  /**
   * Prepares for a version whose rule keeps `memory` floats beside a row. Memory of another length is dropped: it is of
   * another rule. Returns whether that was so.
   */
  prepareFor(version: number, memory: number): boolean {
    const id = modelVersion(version)
    const held = this.memories.dimensionOf(id)
    const isOfOther = held !== undefined && held !== memory
    if (isOfOther) this.memories.dropVersion(id)
    return isOfOther
  }

  /** Selects the buffer for rows of `dimension` floats with `memory` floats of memory. */
  select(memory: number, dimension: number): void {
    if (!this.buffer.suits(memory, dimension)) this.buffer = this.bufferOf(memory, dimension)
  }

  /** Drops what was kept beside the rows of all versions, which stay as they are. */
  dropMemories(): void {
    for (const version of this.memories.openVersions()) this.memories.dropVersion(version)
  }

  private bufferOf(memory: number, dimension: number): RowBuffer {
    const known = this.buffers.find((buffer) => buffer.suits(memory, dimension))
    if (known !== undefined) return known
    const made = new RowBuffer(dimension, memory)
    this.buffers.push(made)
    return made
  }

  /** Reads a row into the buffer; the cold row where there is none. */
  read(version: number, key: Uint8Array, cold: Float32Array): LearnedRow {
    const { row, target, memory } = this.buffer
    const { memories, evidence } = this
    const id = modelVersion(version)
    if (!this.rows.readInto(id, key, target)) return this.cold(cold)
    row.updates = target.updateCount
    row.evidence = typeof evidence === 'number' ? evidence : evidence.of(this.side, version, key)
    if (row.memory.length > 0 && !memories.readInto(id, key, memory)) {
      row.memory.fill(0)
      // Learned by another rule: the rule begins with a row that knows these ratings, too.
      row.evidence += Math.max(0, row.updates - 1)
    }
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
    if (row.memory.length > 0) {
      // It opens the version, not before a row has a memory: one that was retired must not be opened again.
      this.memories.put(version, key, row.memory, origin)
    }
  }

  /** Stores a row as it was before it was learned, without what was learned beside it. */
  beginAgain(
    version: ModelVersion,
    key: Uint8Array,
    vector: Float32Array,
    origin: WriteOrigin,
  ): void {
    this.memories.remove(version, key)
    this.rows.replace(version, key, vector, origin)
  }

  /** Stores or deletes a published row, without what was learned of the row before. */
  place(update: PublishedRow | RemovedRow, key: Uint8Array, origin: WriteOrigin): void {
    const version = modelVersion(update.version)
    const { evidence } = this
    this.memories.remove(version, key)
    if (typeof evidence !== 'number') {
      const ratings = update.kind === 'row' ? update.ratings : undefined
      evidence.place({ side: this.side, version, key, ratings, origin })
    }
    if (update.kind === 'remove') this.rows.remove(version, key)
    else this.rows.putBytes(version, key, update.floats, origin)
  }

  /** Floats of the rows of a version; undefined while it is not open here. */
  dimensionOf(version: number): number | undefined {
    return this.rows.dimensionOf(modelVersion(version))
  }

  /** Opens a version, also without a row of it here. `dimension`: floats of its rows. @default as usual */
  open(version: number, dimension?: number): void {
    this.rows.openVersion(modelVersion(version), dimension)
  }

  /** Deletes the rows of a version. */
  drop(version: number): void {
    this.rows.dropVersion(modelVersion(version))
    this.memories.dropVersion(modelVersion(version))
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

  /** Whether it is for rows of these lengths. */
  suits(memory: number, dimension: number): boolean {
    return this.row.memory.length === memory && this.row.row.length === dimension
  }
}
