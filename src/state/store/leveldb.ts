import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { ClassicLevel } from 'classic-level'
import { WeirError } from '../../core/errors.ts'
import { siblingModule } from '../../core/sibling-module.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import {
  APPLIED,
  COUNTERS,
  FAILED,
  type LevelDbOptions,
  type LevelDbReply,
  type LevelDbRequest,
  packChanges,
  REPLIES,
} from './leveldb-messages.ts'
import { waitForCounter } from './shared-counter.ts'
import type { StateStore, StoreChange } from './state-store.ts'

type Database = ClassicLevel<Uint8Array, Uint8Array>

/** Memory of an engine. */
export interface LevelDbMemory {
  readonly blockCacheBytes: number
  /** Size of one write buffer; LevelDB keeps at most two. */
  readonly writeBufferBytes: number
}

/** A change that the helper thread may not have written yet. */
interface Unwritten {
  readonly value: Uint8Array | undefined
  readonly batch: number
}

const MAX_UNWRITTEN_BYTES = 4 * 1024 * 1024
const SCAN_ROWS = 256
/** A helper thread that does not answer for so long counts as dead. */
const MAX_WAIT_MS = 30_000

/**
 * LevelDB behind the store port. Reads are synchronous calls of the binding in this thread; writes
 * and scans, which the binding offers through promises only, run in a helper thread that has the
 * same database open. Changes are visible at once: until the helper has written them they are read
 * from memory. That memory is limited; at the limit `apply` waits.
 */
export class LevelDbStateStore implements StateStore {
  private readonly database: Database
  private readonly port: MessagePort
  private readonly counters: Int32Array
  private readonly unwritten = new Map<string, Unwritten>()
  private readonly batches: { readonly keys: readonly string[]; readonly bytes: number }[] = []
  private firstBatch = 0
  private unwrittenBytes = 0
  private replies = 0
  private nextScan = 0
  private closed = false

  private constructor(database: Database, port: MessagePort, counters: Int32Array) {
    this.database = database
    this.port = port
    this.counters = counters
  }

  /**
   * Opens an engine in an existing, empty folder. `onClosed` is called once the engine has closed
   * the folder, some time after `close`. Throws STORE_FAILED.
   */
  static async open(
    directory: string,
    memory: LevelDbMemory,
    onClosed: () => void = () => {},
  ): Promise<LevelDbStateStore> {
    const options: LevelDbOptions = {
      multithreading: true,
      compression: false,
      cacheSize: memory.blockCacheBytes,
      writeBufferSize: memory.writeBufferBytes,
    }
    const control = new SharedArrayBuffer(COUNTERS * 4)
    const { port1, port2 } = new MessageChannel()
    const worker = new Worker(siblingModule('./leveldb-thread', import.meta.url), {
      workerData: { directory, options, control, port: port2 },
      transferList: [port2],
    })
    await opened(worker)
    worker.unref()
    port1.unref()
    const database: Database = new ClassicLevel(directory, {
      ...options,
      keyEncoding: 'view',
      valueEncoding: 'view',
    })
    await database.open()
    const store = new LevelDbStateStore(database, port1, new Int32Array(control))
    worker.once('exit', onClosed)
    return store
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.requireOpen()
    if (this.unwritten.size > 0) {
      const change = this.unwritten.get(latin1Of(key))
      if (change !== undefined) return change.value?.slice()
    }
    try {
      return this.database.getSync(key)
    } catch (cause) {
      throw failed('read', cause)
    }
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    return keys.map((key) => this.get(key))
  }

  apply(changes: readonly StoreChange[]): void {
    this.requireOpen()
    const batch = this.firstBatch + this.batches.length
    const keys: string[] = []
    const packed = packChanges(changes)
    for (const { key, value } of changes) {
      const text = latin1Of(key)
      keys.push(text)
      this.unwritten.set(text, { value: value?.slice(), batch })
    }
    this.batches.push({ keys, bytes: packed.length })
    this.unwrittenBytes += packed.length
    this.send({ kind: 'apply', changes: packed })
    this.forgetWritten()
    while (this.unwrittenBytes > MAX_UNWRITTEN_BYTES) this.waitForWrites()
  }

  scan(from: Uint8Array, to: Uint8Array): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    this.requireOpen()
    const scan = this.nextScan
    this.nextScan += 1
    // Requests are handled in order, so that the view is fixed between the changes around this call.
    this.send({ kind: 'scan', scan, from: from.slice(), to: to.slice() })
    return this.rows(scan)
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.unwritten.clear()
    // The helper closes last: it deletes nothing while this thread may still read.
    this.database.close().finally(() => this.send({ kind: 'close' }))
  }

  private *rows(scan: number): IterableIterator<readonly [Uint8Array, Uint8Array]> {
    let sent = 0
    try {
      for (;;) {
        this.requireOpen()
        this.send({ kind: 'next', scan, count: SCAN_ROWS })
        const rows = this.waitForRows(sent)
        if (rows.length === 0) return
        sent += rows.length
        yield* rows
      }
    } finally {
      if (!this.closed) this.send({ kind: 'end', scan })
    }
  }

  /** The next reply of a scan; `sent` counts the rows of the scan so far, as the helper does. */
  private waitForRows(sent: number): readonly (readonly [Uint8Array, Uint8Array])[] {
    this.wait(REPLIES, this.replies)
    this.replies = Atomics.load(this.counters, REPLIES)
    this.requireHealthy()
    const received = receiveMessageOnPort(this.port) as { message: LevelDbReply } | undefined
    const reply = received?.message
    if (reply?.kind !== 'rows' || reply.sent !== sent + reply.rows.length) {
      throw failed('iterate', 'a reply of the helper thread is missing')
    }
    return reply.rows
  }

  private waitForWrites(): void {
    this.wait(APPLIED, this.firstBatch)
    this.forgetWritten()
  }

  private wait(counter: number, seen: number): void {
    if (waitForCounter(this.counters, counter, seen, MAX_WAIT_MS)) return
    throw failed('answer', `no sign of life for ${MAX_WAIT_MS} ms`)
  }

  private forgetWritten(): void {
    this.requireHealthy()
    const applied = Atomics.load(this.counters, APPLIED)
    while (this.firstBatch < applied) {
      const { keys, bytes } = this.batches.shift()!
      for (const key of keys) {
        if (this.unwritten.get(key)?.batch === this.firstBatch) this.unwritten.delete(key)
      }
      this.unwrittenBytes -= bytes
      this.firstBatch += 1
    }
  }

  private send(request: LevelDbRequest): void {
    this.port.postMessage(request)
  }

  private requireHealthy(): void {
    if (Atomics.load(this.counters, FAILED) === 0) return
    const received = receiveMessageOnPort(this.port) as { message: LevelDbReply } | undefined
    const reply = received?.message
    throw failed('write or iterate', reply?.kind === 'failed' ? reply.message : 'unknown reason')
  }

  private requireOpen(): void {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the LevelDB store is closed')
  }
}

async function opened(worker: Worker): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    worker.once('error', (error) => reject(failed('open', error)))
    worker.once('message', () => resolve())
  })
}

function failed(action: string, cause: unknown): WeirError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new WeirError(
    'STORE_FAILED',
    `LevelDB could not ${action}: ${reason}; is the disk full?`,
    {
      cause,
    },
  )
}
