import type { ByteSpan } from '../../../core/byte-span.ts'
import { modelVersion } from '../../../core/model-version.ts'
import type { LearnedRow, OnlineSide } from '../../../models/als/online/rule.ts'
import { kindOfKeyBytes } from '../../../models/als/row-key.ts'
import type { PublishedRow, RemovedRow } from '../../../models/als/row-update.ts'
import type { StoredRows } from '../../../operators/port/operator.ts'
import { SlotRowReader } from '../../../state/catalog/slot-row-reader.ts'
import type { StateCatalog } from '../../../state/catalog/state-catalog.ts'
import type { VectorRow, VectorState, WriteOrigin } from '../../../state/port/handles.ts'
import type { KeyedState } from '../../../state/port/keyed-state.ts'
import type { RowTableReader } from '../../../state/rows/reader.ts'
import type { RowEvidence } from './evidence.ts'
import { FrozenRows } from './frozen-rows.ts'
import { memoryState, OwnRows } from './own-rows.ts'
import type { LearnedVersion } from './version.ts'

/** Where the rows are. */
export interface LearnedRowsOptions {
  readonly users: VectorState
  readonly items: VectorState
  /** Where what a rule keeps beside the rows is declared. */
  readonly state: KeyedState
  readonly catalog: StateCatalog
  /** Uid of the operator that owns the rows. */
  readonly uid: string
  /** Average ratings that a row of the batch model counts as: the same for all, or one number a row. */
  readonly evidence: number | RowEvidence
  readonly maxKeyBytes: number
  /** The slot of these rows. */
  readonly slot: number
}

/** Reads and writes the rows that a rule works on, in buffers that every rating fills again. */
export class LearnedRows {
  /** The rows as they were published. */
  readonly frozen: FrozenRows
  private readonly evidence: number | RowEvidence
  private readonly slot: number
  private readonly uid: string
  private readonly users: OwnRows
  private readonly items: OwnRows
  private readonly itemReader: SlotRowReader
  private readonly userReader: SlotRowReader
  private readonly memoryReader: SlotRowReader
  private deltaBuffer = new Float32Array(0)

  constructor(options: LearnedRowsOptions) {
    const { users, items, state, catalog, uid, evidence, maxKeyBytes, slot } = options
    this.evidence = evidence
    this.slot = slot
    this.uid = uid
    this.users = new OwnRows({ side: 'user', rows: users, state, evidence, maxKeyBytes })
    this.items = new OwnRows({ side: 'item', rows: items, state, evidence, maxKeyBytes })
    const { dimension } = users
    this.frozen = new FrozenRows({ state, dimension, maxKeyBytes, catalog, uid, slot })
    this.userReader = new SlotRowReader(catalog, uid, 'user-rows')
    this.itemReader = new SlotRowReader(catalog, uid, 'item-rows')
    this.memoryReader = new SlotRowReader(catalog, uid, memoryState('item'))
  }

  /** Prepares for a version; returns whether memory of another rule was dropped. */
  prepareFor({ rule, metadata: { version } }: LearnedVersion): boolean {
    const ofUsers = this.users.prepareFor(version, rule.userMemory)
    const ofItems = this.items.prepareFor(version, rule.itemMemory)
    return ofUsers || ofItems
  }

  /** Drops what another rule has kept beside the rows of all versions; the rows stay as they are. */
  dropMemories(): void {
    this.users.dropMemories()
    this.items.dropMemories()
  }

  /** The open table of a version's rows of a side in a slot. */
  tableOf(side: OnlineSide, version: number, slot: number): RowTableReader | undefined {
    const reader = side === 'user' ? this.userReader : this.itemReader
    return reader.at(version)?.readers.find(({ share }) => share.slot === slot)
  }

  /** Stores or deletes a published row; what was learned of the row before is deleted. */
  place(update: PublishedRow | RemovedRow, key: Uint8Array, origin: WriteOrigin): void {
    const side = kindOfKeyBytes(key) === 'U' ? 'user' : 'item'
    const rows = side === 'user' ? this.users : this.items
    rows.place(update, key, origin)
    if (update.kind === 'remove') this.frozen.remove(side, update.version, key)
  }

  /**
   * Opens a published version, also without a row of it here. One that was published again with rows of another length
   * begins again. `dimension`: floats of its rows. @default as usual
   */
  open(version: number, dimension?: number): void {
    const held = this.users.dimensionOf(version) ?? this.items.dimensionOf(version)
    if (held !== undefined && dimension !== undefined && held !== dimension) this.drop(version)
    this.users.open(version, dimension)
    this.items.open(version, dimension)
    this.frozen.open(version, dimension)
  }

  /** Deletes the rows of a retired version with everything that was learned of them. */
  drop(version: number): void {
    this.users.drop(version)
    this.items.drop(version)
    this.frozen.drop(version)
    if (typeof this.evidence !== 'number') this.evidence.drop(version)
  }

  /** Puts every row of a version in this slot back to what it was before it was learned. A step is a row. */
  *beginAgain(version: number, origin: WriteOrigin): Generator<void, void> {
    const id = modelVersion(version)
    for (const [side, rows] of [['user', this.users] as const, ['item', this.items] as const]) {
      for (const key of this.frozen.keys(side, version)) {
        const copy = this.frozen.copyOf(side, version, key)
        if (copy !== undefined) rows.beginAgain(id, key, copy, origin)
        yield
      }
    }
  }

  /** The buffer for the delta of a rating. */
  deltaOf({ rule: { deltaLength } }: LearnedVersion): Float32Array {
    if (this.deltaBuffer.length !== deltaLength) this.deltaBuffer = new Float32Array(deltaLength)
    return this.deltaBuffer
  }

  /** The row of a user of this slot; the cold row for a new user. */
  user(version: LearnedVersion, key: Uint8Array): LearnedRow {
    this.users.select(version.rule.userMemory, version.rule.shape.dimension)
    return this.users.read(version.metadata.version, key, version.coldUser)
  }

  /** The row of an item of this slot; the cold row for a new item. */
  ownItem(version: LearnedVersion, key: Uint8Array): LearnedRow {
    this.items.select(version.rule.itemMemory, version.rule.shape.dimension)
    return this.items.read(version.metadata.version, key, version.coldItem)
  }

  /**
   * The row of an item of any slot: read in place, and of this slot also from its store. Undefined where another slot has
   * it in its store: `askedItem` is what to ask.
   */
  item(version: LearnedVersion, key: ByteSpan): LearnedRow | undefined {
    this.items.select(version.rule.itemMemory, version.rule.shape.dimension)
    const { bytes, start, length } = key
    const id = version.metadata.version
    const found = this.itemReader.read(id, bytes, start, length, this.items.row.row)
    if (found === 'missing') return this.items.cold(version.coldItem)
    if (found === 'found' && this.readMemory(version, key)) {
      return this.known(this.itemReader.updateCount)
    }
    if (this.itemReader.owner !== this.slot) return undefined
    // It is in this slot's store, or nowhere.
    return this.items.read(id, bytes.subarray(start, start + length), version.coldItem)
  }

  /** What to ask of the last `item`, whose key is `key`; the answers are those of `answeredItem`. */
  askedItem(version: LearnedVersion, key: Uint8Array): readonly StoredRows[] {
    const { owner: slot } = this.itemReader
    const { row, memory } = this.items.row
    const asked = { slot, operatorUid: this.uid, version: version.metadata.version, keys: [key] }
    const rows = { ...asked, state: 'item-rows', dimension: row.length }
    if (!usesMemory(version)) return [rows]
    return [rows, { ...asked, state: memoryState('item'), dimension: memory.length }]
  }

  /** The row of the answers to `askedItem`; the cold row where there is none. */
  answeredItem(version: LearnedVersion, answers: readonly (VectorRow | undefined)[]): LearnedRow {
    this.items.select(version.rule.itemMemory, version.rule.shape.dimension)
    const { row } = this.items
    const [found, kept] = answers
    if (found === undefined) return this.items.cold(version.coldItem)
    row.row.set(found.vector)
    if (kept === undefined) row.memory.fill(0)
    else row.memory.set(kept.vector)
    return this.known(found.updateCount)
  }

  /** The item in the buffer, which has a row. */
  private known(updates: number): LearnedRow {
    const { row } = this.items
    row.updates = updates
    // The rules only need to know that the row is not a new one.
    row.evidence = typeof this.evidence === 'number' ? this.evidence : 1
    return row
  }

  /** Reads what the rule keeps beside an item's row into the buffer; false where that is not in memory. */
  private readMemory(version: LearnedVersion, { bytes, start, length }: ByteSpan): boolean {
    if (!usesMemory(version)) return true
    const { memory } = this.items.row
    const id = version.metadata.version
    const kept = this.memoryReader.read(id, bytes, start, length, memory)
    if (kept === 'missing') memory.fill(0)
    return kept !== 'out-of-reach'
  }

  storeUser(version: LearnedVersion, key: Uint8Array, origin: WriteOrigin): void {
    this.users.store(modelVersion(version.metadata.version), key, origin)
  }

  storeItem(version: LearnedVersion, key: Uint8Array, origin: WriteOrigin): void {
    this.items.store(modelVersion(version.metadata.version), key, origin)
  }
}

/** Whether a step of the rule reads what is kept beside an item's row. */
function usesMemory({ rule }: LearnedVersion): boolean {
  return rule.itemMemory > 0 && rule.kind !== 'gram'
}
