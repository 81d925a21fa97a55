import { murmur3 } from '../../core/hash/murmur3.ts'
import { MISSING, STUCK } from '../rows/view.ts'
import type { StateVersion } from './key-class.ts'
import type { StateCatalog } from './state-catalog.ts'

/** Result of reading a row of any slot. */
export type RowFound =
  | 'found'
  | 'missing'
  /** The row is in the store of its slot, or was being written in every attempt. */
  | 'out-of-reach'

/** Attempts to read a row while its slot writes it; each is many short ones (`readLiveInto`). */
const ATTEMPTS = 4

/**
 * Reads rows of one vector state of an operator from the memory of all slots, without asking these
 * slots. Takes the tables that are open at the time of each read.
 */
export class SlotRowReader {
  private readonly catalog: StateCatalog
  private readonly uid: string
  private readonly state: string
  private version = -1
  private changes = -1
  private open: StateVersion | undefined
  private readonly meta = { updateCount: 0, partition: 0, offset: 0, eventTime: 0 }

  /** `uid` and `state`: of the operator, and the name of its state. */
  constructor(catalog: StateCatalog, uid: string, state: string) {
    this.catalog = catalog
    this.uid = uid
    this.state = state
  }

  /** The slot that owns the key that was read last; -1 where no table has it. */
  owner = -1

  /** Number of updates of the row that was read last. */
  get updateCount(): number {
    return this.meta.updateCount
  }

  /** Copies the row of the key `bytes[start .. start + length)` into `target`, [dimension]. */
  read(
    version: number,
    bytes: Uint8Array,
    start: number,
    length: number,
    target: Float32Array,
  ): RowFound {
    const hash = murmur3(bytes, start, length) | 0
    const reader = this.at(version)?.readerOf(hash)
    this.owner = reader?.share.slot ?? -1
    if (reader === undefined) return 'missing'
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = reader.readLiveInto(bytes, start, length, hash, target, 0, this.meta)
      if (row >= 0) return 'found'
      if (row === MISSING) return 'missing'
      if (row !== STUCK) return 'out-of-reach'
    }
    return 'out-of-reach'
  }

  /** The open tables of a version; undefined where there are none. */
  at(version: number): StateVersion | undefined {
    const { catalog } = this
    if (this.version !== version || this.changes !== catalog.changes) {
      this.version = version
      this.changes = catalog.changes
      this.open = catalog.version(this.uid, this.state, version)
    }
    return this.open
  }
}
