import type { ServingPort } from '../../src/runtime/protocol/serving-port.ts'
import type { SlotTables } from '../../src/state/catalog/job-catalog.ts'
import type { RowTableReader } from '../../src/state/rows/reader.ts'
import type { RowTableShare } from '../../src/state/rows/share.ts'
import { WriterWait } from '../../src/state/rows/writer-wait.ts'

const decoder = new TextDecoder()

/** A row in a slot's table. */
export interface StoredRow {
  readonly vector: Float32Array
  readonly updateCount: number
}

/**
 * Copies a row into `rows`, by its key, unless it is removed. Leaves out one that a slot which was killed has left in the
 * middle of a write: the table of the slot that takes over comes while this thread does not wait here.
 */
export function readRow(reader: RowTableReader, row: number, rows: Map<string, StoredRow>): void {
  const key = new Uint8Array(64)
  const vector = new Float32Array(reader.layout.dimension)
  const meta = { updateCount: 0, partition: 0, offset: 0, eventTime: 0 }
  let wait: WriterWait | undefined
  for (;;) {
    const sequence = reader.openRow(row)
    if ((sequence & 1) !== 0) {
      wait ??= new WriterWait()
      if (!wait.sleep()) return
      continue
    }
    if (!reader.isLive(row)) return
    const length = reader.keyInto(row, key, 0)
    if (!reader.metaInto(row, sequence, meta)) continue
    if (!reader.readInto(row, sequence, vector, 0)) continue
    const { updateCount } = meta
    rows.set(decoder.decode(key.subarray(0, length)), { vector, updateCount })
    return
  }
}

/**
 * A listener that collects the tables of the latest attempt, and what the running slots have opened. It does
 * not query slots.
 */
export function tableCollector(
  shares: Map<string, RowTableShare>,
  complete = new Map<number, SlotTables>(),
): ServingPort {
  const name = (share: RowTableShare): string => `${share.state}@${share.version}/${share.slot}`
  return {
    threads: 0,
    jobStarted() {},
    tableOpened: (share) => shares.set(name(share), share),
    tableDropped(share) {
      if (shares.get(name(share))?.memory === share.memory) shares.delete(name(share))
    },
    tablesComplete: (tables) => complete.set(tables.slot, tables),
    attachSlot() {},
    onThreadReplaced() {},
    tableReaders: () => [],
    slotStatus() {},
    typedStateDeclared() {},
  }
}
