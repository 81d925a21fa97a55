import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { ClassicLevel } from 'classic-level'
import {
  APPLIED,
  FAILED,
  type LevelDbRequest,
  type LevelDbThreadData,
  REPLIES,
  unpackChanges,
} from './leveldb-messages.ts'
import { advanceCounter } from './shared-counter.ts'

/*
 * The helper thread of one LevelDB store. LevelDB's binding reads synchronously, but writes and iterates
 * through promises only. This thread does both; the slot waits on a shared counter if it must.
 */

const { directory, options, control, port } = workerData as LevelDbThreadData
const counters = new Int32Array(control)
/** Bytes fetched per step of an iteration. */
const SCAN_BYTES = 256 * 1024
type Database = ClassicLevel<Uint8Array, Uint8Array>
type Scan = ReturnType<Database['iterator']>
const scans = new Map<number, { readonly rows: Scan; sent: number }>()
const database: Database = new ClassicLevel(directory, {
  ...options,
  keyEncoding: 'view',
  valueEncoding: 'view',
})

async function serve(to: MessagePort): Promise<void> {
  await database.open()
  parentPort!.postMessage('open')
  let last: Promise<void> = Promise.resolve()
  to.on('message', (request: LevelDbRequest) => {
    last = last.then(() => handle(request, to)).catch((error: unknown) => fail(error, to))
  })
}

async function handle(request: LevelDbRequest, to: MessagePort): Promise<void> {
  switch (request.kind) {
    case 'apply':
      await apply(request.changes)
      advanceCounter(counters, APPLIED)
      return
    case 'scan':
      scans.set(request.scan, {
        rows: database.iterator({
          gte: request.from,
          lt: request.to,
          highWaterMarkBytes: SCAN_BYTES,
        }),
        sent: 0,
      })
      return
    case 'next': {
      const scan = scans.get(request.scan)!
      const rows = await scan.rows.nextv(request.count)
      scan.sent += rows.length
      to.postMessage({ kind: 'rows', rows, sent: scan.sent })
      advanceCounter(counters, REPLIES)
      return
    }
    case 'end':
      await scans.get(request.scan)?.rows.close()
      scans.delete(request.scan)
      return
    case 'close':
      await database.close()
      to.close()
  }
}

async function apply(packed: Uint8Array): Promise<void> {
  const operations = []
  for (const { key, value } of unpackChanges(packed)) {
    if (value === undefined) operations.push({ type: 'del' as const, key })
    else operations.push({ type: 'put' as const, key, value })
  }
  await database.batch(operations)
}

function fail(error: unknown, to: MessagePort): void {
  to.postMessage({ kind: 'failed', message: String(error) })
  Atomics.store(counters, FAILED, 1)
  advanceCounter(counters, REPLIES)
  advanceCounter(counters, APPLIED)
}

await serve(port)
