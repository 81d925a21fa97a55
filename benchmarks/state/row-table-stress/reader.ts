import { parentPort, workerData } from 'node:worker_threads'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { RowTableReader } from '../../../src/state/rows/reader.ts'
import type { RowTableShare } from '../../../src/state/rows/share.ts'
import {
  COMPLETED,
  DIMENSION,
  KEYS,
  READS,
  READS_PER_COUNT,
  STOP,
  type StressReaderData,
  stressKeys,
  VIOLATIONS,
} from './plan.ts'

/** Look-ups between two reads of messages and counters. */
const BATCH = 1 << 16

/**
 * A reader of the stress test, at the levels live and checkpoint. A violation is a row whose elements differ,
 * that has a value of another key, or whose metadata is of another write.
 */
const { counters, seed, share } = workerData as StressReaderData
const words = new Int32Array(counters)
const random = seededRandom(seed)
const keys = stressKeys()
const hashes = Int32Array.from(keys, (key) => murmur3(key) | 0)
const row = new Float32Array(DIMENSION)
const meta = { updateCount: 0, partition: 0, offset: 0, eventTime: 0 }
let reader = new RowTableReader(share)
let uncounted = 0

const isMixed = (key: number): boolean => {
  const value = row[0]!
  for (let i = 1; i < DIMENSION; i++) if (row[i] !== value) return true
  return value % KEYS !== key || meta.offset !== value || meta.partition !== key
}

/** 1 for a violation, 0 for a correct row, -1 when there is no row. */
const readLive = (key: number): number => {
  const bytes = keys[key]!
  const number = reader.find(bytes, 0, bytes.length, hashes[key]!)
  if (number < 0) return -1
  const sequence = reader.foundSequence
  if (!reader.metaInto(number, sequence, meta)) return -1
  if (!reader.readInto(number, sequence, row, 0)) return -1
  return isMixed(key) ? 1 : 0
}

const readAtCheckpoint = (key: number): number => {
  const bytes = keys[key]!
  const id = Atomics.load(words, COMPLETED)
  const { length } = bytes
  const outcome = reader.readAtInto(id, bytes, 0, length, hashes[key]!, row, 0, meta)
  if (outcome < 0) return -1
  return isMixed(key) ? 1 : 0
}

const batch = (): void => {
  let violations = 0
  for (let n = 0; n < BATCH; n++) {
    const key = (n & 1) === 0 ? n & 63 : random.below(KEYS)
    const outcome = (n & 15) === 15 ? readAtCheckpoint(key) : readLive(key)
    if (outcome >= 0) uncounted++
    if (outcome > 0) violations++
  }
  if (violations > 0) Atomics.add(words, VIOLATIONS, violations)
  Atomics.add(words, READS, Math.floor(uncounted / READS_PER_COUNT))
  uncounted %= READS_PER_COUNT
  if (Atomics.load(words, STOP) === 0) setImmediate(batch)
  else parentPort!.close()
}

parentPort!.on('message', (next: RowTableShare) => {
  reader = new RowTableReader(next)
})
batch()
