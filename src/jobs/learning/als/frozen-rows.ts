import type { ByteSpan } from '../../../core/byte-span.ts'
import { modelVersion } from '../../../core/model-version.ts'
import { type LearnedRow, type OnlineSide, scoreOf } from '../../../models/als/online/rule.ts'
import type { StoredRows } from '../../../operators/port/operator.ts'
import { SlotRowReader } from '../../../state/catalog/slot-row-reader.ts'
import type { StateCatalog } from '../../../state/catalog/state-catalog.ts'
import { vectorState } from '../../../state/port/descriptors.ts'
import type { VectorRow, VectorRowTarget, VectorState } from '../../../state/port/handles.ts'
import type { KeyedState } from '../../../state/port/keyed-state.ts'

/** One user of this number is in the sample, or one pair, where learning is stopped when it makes predictions worse. */
const SAMPLED = 16
/** Maximum number of copies of a side in a slot where not all rows are copied; later rows are not in the sample. */
const MAX_ROWS = 20_000
/** Updates of a row that was published and not learned since: its publication. A new row has none. */
const PUBLISHED = 1
const NOWHERE = { partition: -1, offset: 0, eventTime: -1 }

/** Where the copies are. */
export interface FrozenRowsOptions {
  readonly state: KeyedState
  /** Floats of a row of a version that does not say them. */
  readonly dimension: number
  readonly maxKeyBytes: number
  readonly catalog: StateCatalog
  /** Uid of the operator that owns the rows. */
  readonly uid: string
  /** The slot of these rows. */
  readonly slot: number
}

function frozenState(side: OnlineSide): string {
  return `frozen-${side}-rows`
}

/**
 * Copies of rows as they were published, for the predictions of a version without learning, and for its rows where learning
 * has made them worse: each in the slot that owns the row, made before its first change. Where learning is never stopped, they
 * are of a sample of the users, and of the items. They are state, so a restart and another parallelism keep them. A new row is
 * frozen as it starts.
 */
export class FrozenRows {
  private readonly uid: string
  private readonly slot: number
  private readonly users: VectorState
  private readonly items: VectorState
  private readonly itemReader: SlotRowReader
  private user: VectorRowTarget
  private item: VectorRowTarget
  /** Whether `item` is the copy of the item that was read last. */
  private isItemKept = false

  constructor({ state, dimension, maxKeyBytes, catalog, uid, slot }: FrozenRowsOptions) {
    this.uid = uid
    this.slot = slot
    const seldom = { dimension, dimensionByVersion: true, maxKeyBytes, isReadAhead: false }
    this.users = state.vector(vectorState(frozenState('user'), seldom))
    this.items = state.vector(vectorState(frozenState('item'), seldom))
    this.itemReader = new SlotRowReader(catalog, uid, frozenState('item'))
    this.user = targetOf(dimension)
    this.item = targetOf(dimension)
  }

  /**
   * Opens a version, so that the other slots know its copies before the first one is read. `dimension`: floats of its rows.
   * @default as usual
   */
  open(version: number, dimension?: number): void {
    for (const rows of [this.users, this.items]) rows.openVersion(modelVersion(version), dimension)
  }

  /** The target of a side, for rows of `dimension` floats. */
  private targetFor(side: OnlineSide, dimension: number): VectorRowTarget {
    if (this[side].vector.length !== dimension) this[side] = targetOf(dimension)
    return this[side]
  }

  /** Keeps a row of this slot before it changes; only the first time counts. `all`: however many they are. */
  keep(
    side: OnlineSide,
    version: number,
    key: Uint8Array,
    { row, updates }: LearnedRow,
    all: boolean,
  ): void {
    if (updates > PUBLISHED) return
    const id = modelVersion(version)
    const rows = this.of(side)
    const target = this.targetFor(side, row.length)
    if ((!all && rows.size(id) >= MAX_ROWS) || rows.readInto(id, key, target)) return
    rows.put(id, key, row, NOWHERE)
  }

  /** The keys of the rows of a side that have a copy in this slot; one may come twice. */
  keys(side: OnlineSide, version: number): IterableIterator<Uint8Array> {
    return this.of(side).keys(modelVersion(version))
  }

  /** The copy of a row of this slot, valid until the next call; undefined where there is none. */
  copyOf(side: OnlineSide, version: number, key: Uint8Array): Float32Array | undefined {
    const id = modelVersion(version)
    const rows = this.of(side)
    const target = this.targetFor(side, rows.dimensionOf(id) ?? rows.dimension)
    return rows.readInto(id, key, target) ? target.vector : undefined
  }

  private of(side: OnlineSide): VectorState {
    return side === 'user' ? this.users : this.items
  }

  /**
   * Reads the copy of an item of any slot, whose row was read before it, for the next `score`; false where another slot has
   * it in its store: `askedItem` is what to ask.
   */
  readItem(
    version: number,
    { bytes, start, length }: ByteSpan,
    { row, updates }: LearnedRow,
  ): boolean {
    const { itemReader } = this
    const item = this.targetFor('item', row.length)
    const found = itemReader.read(version, bytes, start, length, item.vector)
    this.isItemKept = found === 'found'
    // A row that was not learned has no copy.
    if (found !== 'out-of-reach' || updates <= PUBLISHED) return true
    if (itemReader.owner !== this.slot) return false
    const key = bytes.subarray(start, start + length)
    this.isItemKept = this.items.readInto(modelVersion(version), key, item)
    return true
  }

  /** What to ask of the slot of an item, after its row, as it was asked: a row that was learned by then has its copy. */
  askedItem({ version, slot, dimension }: StoredRows, key: Uint8Array): StoredRows {
    const { uid: operatorUid } = this
    return { slot, operatorUid, state: frozenState('item'), version, dimension, keys: [key] }
  }

  /** Takes the answer to `askedItem` for the next `score`. */
  answeredItem(kept: VectorRow | undefined): void {
    this.isItemKept = kept !== undefined
    if (kept !== undefined) this.targetFor('item', kept.vector.length).vector.set(kept.vector)
  }

  /** Score of the frozen rows of a user of this slot and of the item that was read last; undefined where one was not kept. */
  score(
    version: number,
    userKey: Uint8Array,
    user: LearnedRow,
    item: LearnedRow,
  ): number | undefined {
    const target = this.targetFor('user', user.row.length)
    const isKept = this.users.readInto(modelVersion(version), userKey, target)
    const left = isKept ? target.vector : publishedIn(user)
    const right = this.isItemKept ? this.item.vector : publishedIn(item)
    return left === undefined || right === undefined ? undefined : scoreOf(left, right)
  }

  /** Deletes the copy of a row that is deleted. */
  remove(side: OnlineSide, version: number, key: Uint8Array): void {
    this.of(side).remove(modelVersion(version), key)
  }

  /** Deletes the copies of a retired version. */
  drop(version: number): void {
    for (const rows of [this.users, this.items]) rows.dropVersion(modelVersion(version))
  }
}

function targetOf(dimension: number): VectorRowTarget {
  return { vector: new Float32Array(dimension), updateCount: 0 }
}

/**
 * Whether the predictions of a pair, by its keys, are in the sample where all rows have copies: of pairs and not of users, so
 * that a few users who rate a lot are not the whole sample.
 */
export function isPairInSample(user: Uint8Array, { bytes, start, length }: ByteSpan): boolean {
  let sum = 0
  for (let i = 0; i < user.length; i++) sum = (sum * 31 + user[i]!) | 0
  for (let i = start; i < start + length; i++) sum = (sum * 31 + bytes[i]!) | 0
  return isSampled(sum)
}

/** Whether predictions for a user, by key, are in the sample where only rows of the sample have copies. */
export function isInSample(user: Uint8Array): boolean {
  let sum = 0
  for (let i = 0; i < user.length; i++) sum = (sum * 31 + user[i]!) | 0
  return isSampled(sum)
}

function isSampled(sum: number): boolean {
  return ((sum ^ (sum >>> 15)) & (SAMPLED - 1)) === 0
}

/** A row that was not learned yet: it is as it was published. */
function publishedIn({ row, updates }: LearnedRow): Float32Array | undefined {
  return updates > PUBLISHED ? undefined : row
}
