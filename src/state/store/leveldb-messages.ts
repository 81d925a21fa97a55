import type { MessagePort } from 'node:worker_threads'
import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import type { StoreChange } from './state-store.ts'

/** Words of the shared counters: batches applied, replies sent, whether the thread failed. */
export const APPLIED = 0
export const REPLIES = 1
export const FAILED = 2
export const COUNTERS = 4

/** Options of classic-level that both threads open the database with. */
export interface LevelDbOptions {
  readonly multithreading: true
  readonly compression: boolean
  readonly cacheSize: number
  readonly writeBufferSize: number
}

/** Start data of the helper thread. */
export interface LevelDbThreadData {
  readonly directory: string
  readonly options: LevelDbOptions
  readonly control: SharedArrayBuffer
  readonly port: MessagePort
}

/** Slot to helper thread; handled strictly in order. */
export type LevelDbRequest =
  | { readonly kind: 'apply'; readonly changes: Uint8Array }
  | {
      readonly kind: 'scan'
      readonly scan: number
      readonly from: Uint8Array
      readonly to: Uint8Array
    }
  | { readonly kind: 'next'; readonly scan: number; readonly count: number }
  | { readonly kind: 'end'; readonly scan: number }
  | { readonly kind: 'close' }

/** Helper thread to slot. */
export type LevelDbReply =
  | {
      readonly kind: 'rows'
      readonly rows: readonly (readonly [Uint8Array, Uint8Array])[]
      /** Rows of the scan sent so far, these included. */
      readonly sent: number
    }
  | { readonly kind: 'failed'; readonly message: string }

/** Changes in one buffer, to be transferred: presence byte, key, value, each sized. */
export function packChanges(changes: readonly StoreChange[]): Uint8Array<ArrayBuffer> {
  const writer = new ByteWriter(4096)
  for (const { key, value } of changes) {
    writer.uint8(value === undefined ? 0 : 1)
    writer.sized(key)
    if (value !== undefined) writer.sized(value)
  }
  return new Uint8Array(writer.toBytes())
}

/** The changes that `packChanges` packed; keys and values are views. */
export function unpackChanges(packed: Uint8Array): StoreChange[] {
  const reader = new ByteReader(packed)
  const changes: StoreChange[] = []
  while (reader.remaining > 0) {
    const hasValue = reader.uint8() === 1
    const key = reader.sized()
    changes.push({ key, value: hasValue ? reader.sized() : undefined })
  }
  return changes
}
