import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Random, seededRandom } from '../src/core/random.ts'
import { LevelDbStateStore } from '../src/state/leveldb-state-store.ts'
import { RocksDbStateStore } from '../src/state/rocksdb-state-store.ts'
import type { StateStore, StoreChange } from '../src/state/state-store.ts'

/**
 * `npx node benchmarks/rocksdb-bindings.ts [--rows N]`: the figures of decision 0002. Each candidate
 * runs in a process of its own: rows of 400 random bytes written in batches of 256, then read at random
 * one by one, in batches, and for keys that do not exist. One JSON line per candidate.
 */
const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, only: { type: 'string' } },
})
const ROWS = Number(values.rows)
const BATCH = 256
const VALUE_BYTES = 400
const READS = Math.min(ROWS, 200_000)
const MEMORY = { blockCacheBytes: 32 * 1024 * 1024, writeBufferBytes: 32 * 1024 * 1024 }

type Figures = Record<string, number | string>

/** Keys look like those of the memory layer: a header, then text. */
function keyOf(n: number): Uint8Array {
  return Buffer.from(`\0\0\0\0user-${String(n).padStart(9, '0')}`)
}

function randomValue(random: Random): Uint8Array {
  const floats = new Float32Array(VALUE_BYTES / 4)
  for (let i = 0; i < floats.length; i++) floats[i] = random.next()
  return new Uint8Array(floats.buffer)
}

function perSecond(count: number, startedMs: number): number {
  return Math.round((count / (performance.now() - startedMs)) * 1000)
}

function randomKeys(random: Random, count: number, bound: number, from = 0): Uint8Array[] {
  return Array.from({ length: count }, () => keyOf(from + random.below(bound)))
}

function residentMb(): number {
  return Math.round(process.memoryUsage().rss / 1e6)
}

/** Measures a store through the port. */
function measureStore(store: StateStore): Figures {
  const random = seededRandom(1)
  const before = residentMb()
  let started = performance.now()
  for (let n = 0; n < ROWS; n += BATCH) {
    const changes: StoreChange[] = []
    for (let i = n; i < Math.min(n + BATCH, ROWS); i++) {
      changes.push({ key: keyOf(i), value: randomValue(random) })
    }
    store.apply(changes)
  }
  const writes = perSecond(ROWS, started)
  const afterWrites = residentMb()
  const singles = randomKeys(random, READS, ROWS)
  started = performance.now()
  for (const key of singles) store.get(key)
  const single = perSecond(READS, started)
  const many = randomKeys(random, READS, ROWS)
  started = performance.now()
  for (let n = 0; n < READS; n += 64) store.getMany(many.slice(n, n + 64))
  const batched = perSecond(READS, started)
  const missing = randomKeys(random, READS, ROWS, ROWS)
  started = performance.now()
  for (const key of missing) store.get(key)
  const misses = perSecond(READS, started)
  started = performance.now()
  let scanned = 0
  for (const _ of store.scan(keyOf(0), keyOf(Math.min(ROWS, 200_000)))) scanned += 1
  const scan = perSecond(scanned, started)
  return {
    writes,
    singleReads: single,
    readsOf64: batched,
    misses,
    scan,
    residentGrowthMb: afterWrites - before,
    residentAtEndMb: residentMb() - before,
  }
}

/** What is used here of a binding that has no synchronous calls. */
interface AsyncRocksDb {
  ready(): Promise<void>
  write(options: object): {
    tryPut(key: Uint8Array, value: Uint8Array): void
    flush(): Promise<void>
    destroy(): void
  }
  read(options: object): {
    get(key: Uint8Array): Promise<Uint8Array | null>
    flush(): Promise<void>
    destroy(): void
  }
  close(): Promise<void>
}

/** Measures `rocksdb-native`, whose calls all return promises, with the same batches. */
async function measureAsync(directory: string): Promise<Figures> {
  const RocksDb = createRequire(import.meta.url)('rocksdb-native') as new (
    path: string,
  ) => AsyncRocksDb
  const db = new RocksDb(directory)
  await db.ready()
  const random = seededRandom(1)
  const before = residentMb()
  const started = performance.now()
  for (let n = 0; n < ROWS; n += BATCH) {
    const batch = db.write({ capacity: BATCH })
    for (let i = n; i < Math.min(n + BATCH, ROWS); i++) batch.tryPut(keyOf(i), randomValue(random))
    await batch.flush()
    batch.destroy()
  }
  const writes = perSecond(ROWS, started)
  const afterWrites = residentMb()
  const single = await readAsync(db, randomKeys(random, Math.min(READS, 50_000), ROWS), 1)
  const batched = await readAsync(db, randomKeys(random, READS, ROWS), 64)
  const misses = await readAsync(db, randomKeys(random, READS, ROWS, ROWS), 64)
  await db.close()
  return {
    writes,
    singleReadsAwaited: single,
    readsOf64Awaited: batched,
    missesOf64Awaited: misses,
    residentGrowthMb: afterWrites - before,
    residentAtEndMb: residentMb() - before,
  }
}

async function readAsync(
  db: AsyncRocksDb,
  keys: readonly Uint8Array[],
  size: number,
): Promise<number> {
  const started = performance.now()
  for (let n = 0; n < keys.length; n += size) {
    const batch = db.read({ capacity: size })
    const reads = keys.slice(n, n + size).map((key) => batch.get(key))
    await batch.flush()
    await Promise.all(reads)
    batch.destroy()
  }
  return perSecond(keys.length, started)
}

const CANDIDATES: Readonly<Record<string, (directory: string) => Promise<Figures>>> = {
  '@nxtedition/rocksdb': async (directory) => {
    const store = await RocksDbStateStore.open(directory, {
      writeBufferBytes: MEMORY.writeBufferBytes,
    })
    const figures = measureStore(store)
    const tables = store.property('rocksdb.estimate-table-readers-mem')
    const buffers = store.property('rocksdb.cur-size-all-mem-tables')
    store.close()
    return { ...figures, tableReadersMb: tables / 1e6, writeBuffersMb: buffers / 1e6 }
  },
  'rocksdb-native': measureAsync,
  'classic-level': async (directory) => {
    const store = await LevelDbStateStore.open(directory, MEMORY)
    const figures = measureStore(store)
    store.close()
    return figures
  },
}

const only = values.only === undefined ? undefined : CANDIDATES[values.only]
if (only !== undefined) {
  const directory = mkdtempSync(join(tmpdir(), 'weir-bindings-'))
  try {
    console.log(JSON.stringify({ name: values.only, rows: ROWS, ...(await only(directory)) }))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
} else {
  for (const name of Object.keys(CANDIDATES)) {
    const args = [import.meta.filename, '--rows', String(ROWS), '--only', name]
    spawnSync(process.execPath, args, { stdio: 'inherit' })
  }
}
