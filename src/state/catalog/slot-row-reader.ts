import { murmur3 } from '../../core/hash/murmur3.ts'
import { MISSING, STUCK } from '../rows/view.ts'
import { WriterWait } from '../rows/writer-wait.ts'
import type { StateVersion } from './key-class.ts'
import type { StateCatalog } from './state-catalog.ts'

/** Result of reading a row of any slot. */
export type RowFound =
  | 'found'
  | 'missing'
  /** The row is in the store of its slot, or its slot has ended in the middle of a write. */
  | 'out-of-reach'

/**
 * Reads rows of one vector state of an operator from the memory of all slots, without asking these
 * slots. Takes the tables that are open at the time of each read. Waits where a slot is in the middle of a write.
 */
export class SlotRowReader {
  private readonly catalog: StateCatalog
  private readonly uid: string
  private readonly state: string
  private version = -1
  private changes = -1
  private open: StateVersion | undefined
  private readonly meta = { updateCount: 0, partition: 0, offset: 0, eventTime: 0 }

  /** The slot that owns the key that was read last; -1 where no table has it. */
  owner = -1

  /** `uid` and `state`: of the operator, and the name of its state. */
  constructor(catalog: StateCatalog, uid: string, state: string) {
    this.catalog = catalog
    this.uid = uid
    this.state = state
  }

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
    const read = (): number => reader.readLiveInto(bytes, start, length, hash, target, 0, this.meta)
    let row = read()
    // A wrong row would be learned from: so a slot that the system has stopped is waited for.
    if (row === STUCK)
      for (const wait = new WriterWait(); row === STUCK && wait.sleep(); ) row = read()
    if (row >= 0) return 'found'
    return row === MISSING ? 'missing' : 'out-of-reach'
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
