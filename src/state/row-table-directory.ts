import { RowTableReader } from './row-table-reader.ts'
import type { RowTableShare } from './row-table-share.ts'

/** Readers of one state version by slot, found by the hash of a key. */
export class RowTableReaders {
  /** Open tables, one for each slot that has rows. */
  readonly all: readonly RowTableReader[]
  private readonly byKeyGroup: (RowTableReader | undefined)[]

  constructor(all: readonly RowTableReader[]) {
    this.all = all
    const groups = all[0]?.share.maxParallelism ?? 1
    this.byKeyGroup = new Array<RowTableReader | undefined>(groups).fill(undefined)
    for (const reader of all) {
      const { firstKeyGroup, lastKeyGroup } = reader.share
      this.byKeyGroup.fill(reader, firstKeyGroup, lastKeyGroup + 1)
    }
  }

  /** The table that has keys with this murmur3 hash (as int32); undefined where none is open. */
  of(hash: number): RowTableReader | undefined {
    return this.byKeyGroup[(hash >>> 0) % this.byKeyGroup.length]
  }
}

/**
 * The row tables of all slots of an attempt, read in place by any operator: rows of other slots
 * without asking them. A slot hears of another slot's table before it is told anything that the
 * coordinator did after it heard of the table itself.
 */
export class RowTableDirectory {
  private readonly shares = new Map<string, RowTableShare>()
  private readonly opened = new Map<string, RowTableReaders>()
  /** Grows with every change: what was looked up before may be stale. */
  changes = 0

  add(share: RowTableShare): void {
    this.changes++
    this.opened.clear()
    this.shares.set(`${tableName(share)}/${share.slot}`, share)
  }

  drop(operatorUid: string, state: string, version: number, slot: number): void {
    this.changes++
    this.opened.clear()
    this.shares.delete(`${tableName({ operatorUid, state, version })}/${slot}`)
  }

  /** Readers of a state version; keep them until `changes` grows. */
  readers(operatorUid: string, state: string, version: number): RowTableReaders {
    const name = tableName({ operatorUid, state, version })
    let found = this.opened.get(name)
    if (found === undefined) {
      const shares = [...this.shares.values()].filter((share) => tableName(share) === name)
      found = new RowTableReaders(shares.map((share) => new RowTableReader(share)))
      this.opened.set(name, found)
    }
    return found
  }
}

function tableName(table: Pick<RowTableShare, 'operatorUid' | 'state' | 'version'>): string {
  return `${table.operatorUid}/${table.state}@${table.version}`
}
