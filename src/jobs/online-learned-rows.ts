import type { ByteSpan } from '../core/byte-span.ts'
import { modelVersion } from '../core/identity.ts'
import type { ModelRow } from '../models/model-row.ts'
import type { LearnedRow } from '../models/online-rule.ts'
import { vectorState } from '../state/descriptors.ts'
import type { VectorRowTarget, VectorState, WriteOrigin } from '../state/handles.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'
import type { RowTableDirectory } from '../state/row-table-directory.ts'
import type { RowTableReader } from '../state/row-table-reader.ts'
import type { RowEvidence } from './online-evidence.ts'
import { OnlineRowReader } from './online-row-reader.ts'
import type { LearnedVersion } from './online-version.ts'

/** Where rows lie. */
export interface LearnedRowsOptions {
  readonly users: VectorState
  readonly items: VectorState
  readonly directory: RowTableDirectory
  /** Operator that owns the rows. */
  readonly uid: string
  /** Average ratings that a row of the batch model counts as: all the same, or each its own. */
  readonly evidence: number | RowEvidence
}

const LETTER_U = 0x55
const USER_MEMORY = 'user-memory'
const ITEM_MEMORY = 'item-memory'

/** One row of a side in the buffers of `LearnedRows`, and what is read into them. */
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

/** A row of this slot by name. */
interface OwnRow {
  readonly side: 'user' | 'item'
  readonly version: number
  readonly key: Uint8Array
}

/** Reads and writes the rows that a rule works on, in buffers that are filled anew for every rating. */
export class LearnedRows {
  /** Whether the last `item` could not be read in place, and the cold row stood in. */
  itemOutOfReach = false
  private readonly options: LearnedRowsOptions
  private readonly itemReader: OnlineRowReader
  private readonly userReader: OnlineRowReader
  private readonly memoryReader: OnlineRowReader
  private userMemory: VectorState | undefined
  private itemMemory: VectorState | undefined
  private userBuffer = new RowBuffer(0, 0)
  private itemBuffer = new RowBuffer(0, 0)
  private deltaBuffer = new Float32Array(0)

  constructor(options: LearnedRowsOptions) {
    const { directory, uid } = options
    this.options = options
    this.userReader = new OnlineRowReader(directory, uid, 'user-rows')
    this.itemReader = new OnlineRowReader(directory, uid, 'item-rows')
    this.memoryReader = new OnlineRowReader(directory, uid, ITEM_MEMORY)
  }

  /** Buffers and states for a version's rule. Throws STATE_CONFLICT when versions keep different memories. */
  prepareFor({ rule }: LearnedVersion, state: KeyedStateBackend): void {
    const { dimension } = rule.shape
    this.userBuffer = new RowBuffer(dimension, rule.userMemory)
    this.itemBuffer = new RowBuffer(dimension, rule.itemMemory)
    this.deltaBuffer = new Float32Array(rule.deltaLength)
    const memory = (name: string, length: number): VectorState | undefined =>
      length === 0 ? undefined : state.vector(vectorState(name, { dimension: length }))
    this.userMemory = memory(USER_MEMORY, rule.userMemory)
    this.itemMemory = memory(ITEM_MEMORY, rule.itemMemory)
  }

  /** The open table of a side's version in a slot. */
  tableOf(side: 'user' | 'item', version: number, slot: number): RowTableReader | undefined {
    const reader = side === 'user' ? this.userReader : this.itemReader
    return reader.at(version).all.find(({ share }) => share.slot === slot)
  }

  /** Stores or deletes a published row; what was learned of the row before is gone. */
  place(row: ModelRow, key: Uint8Array, origin: WriteOrigin): void {
    const isUser = key[key.length - 1] === LETTER_U
    const rows = isUser ? this.options.users : this.options.items
    const version = modelVersion(row.version)
    const memory = isUser ? this.userMemory : this.itemMemory
    memory?.remove(version, key)
    const { evidence } = this.options
    if (typeof evidence !== 'number') {
      const ratings = row.floats === undefined ? undefined : row.ratings
      evidence.place(isUser ? 'user' : 'item', row.version, key, ratings, origin)
    }
    if (row.floats === undefined) rows.remove(version, key)
    else rows.putBytes(version, key, row.floats, origin)
  }

  /** The version was retired: its rows go with all that was learned of them. */
  drop(version: number): void {
    const { users, items, evidence } = this.options
    for (const rows of [users, items, this.userMemory, this.itemMemory]) {
      rows?.dropVersion(modelVersion(version))
    }
    if (typeof evidence !== 'number') evidence.drop(version)
  }

  /** The delta that `learn` fills. */
  delta(_version: LearnedVersion): Float32Array {
    return this.deltaBuffer
  }

  /** The row of a user of this slot; the cold row for one never seen. */
  user(version: LearnedVersion, key: Uint8Array): LearnedRow {
    const { users } = this.options
    return this.own('user', version, key, users, this.userMemory, this.userBuffer, version.coldUser)
  }

  /** The row of an item of this slot. */
  ownItem(version: LearnedVersion, key: Uint8Array): LearnedRow {
    const { items } = this.options
    return this.own('item', version, key, items, this.itemMemory, this.itemBuffer, version.coldItem)
  }

  /** The row of an item of any slot, read in place. */
  item(version: LearnedVersion, { bytes, start, length }: ByteSpan): LearnedRow {
    const { row } = this.itemBuffer
    const id = version.facts.version
    const found = this.itemReader.read(id, bytes, start, length, row.row)
    this.itemOutOfReach = found === 'out-of-reach'
    if (found !== 'found') return this.cold(row, version.coldItem)
    row.updates = this.itemReader.updateCount
    row.evidence = this.evidenceOf(undefined)
    if (row.memory.length === 0 || version.rule.kind === 'gram') return row
    const kept = this.memoryReader.read(id, bytes, start, length, row.memory)
    if (kept !== 'found') row.memory.fill(0)
    return row
  }

  storeUser(version: LearnedVersion, key: Uint8Array, origin: WriteOrigin): void {
    const { row } = this.userBuffer
    const id = modelVersion(version.facts.version)
    this.options.users.put(id, key, row.row, origin)
    this.userMemory?.put(id, key, row.memory, origin)
  }

  storeItem(version: LearnedVersion, key: Uint8Array, origin: WriteOrigin): void {
    const { row } = this.itemBuffer
    const id = modelVersion(version.facts.version)
    this.options.items.put(id, key, row.row, origin)
    this.itemMemory?.put(id, key, row.memory, origin)
  }

  private own(
    side: 'user' | 'item',
    { facts }: LearnedVersion,
    key: Uint8Array,
    rows: VectorState,
    memories: VectorState | undefined,
    buffer: RowBuffer,
    cold: Float32Array,
  ): LearnedRow {
    const { row, target, memory } = buffer
    const id = modelVersion(facts.version)
    if (!rows.readInto(id, key, target)) return this.cold(row, cold)
    row.updates = target.updateCount
    const hasMemory = memories?.readInto(id, key, memory) === true
    if (!hasMemory) row.memory.fill(0)
    row.evidence = this.evidenceOf(hasMemory ? undefined : { side, version: facts.version, key })
    return row
  }

  /** What a row of the batch model counts as; a row that has a memory only needs to be told from a new one. */
  private evidenceOf(row: OwnRow | undefined): number {
    const { evidence } = this.options
    if (typeof evidence === 'number') return evidence
    return row === undefined ? 1 : evidence.of(row.side, row.version, row.key)
  }

  private cold(row: LearnedRow, cold: Float32Array): LearnedRow {
    row.row.set(cold)
    row.memory.fill(0)
    row.updates = 0
    row.evidence = 0
    return row
  }
}
