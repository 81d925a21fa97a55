import { parentPort, workerData } from 'node:worker_threads'
import type { ModelVersion } from '../../../src/core/model-version.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { HeapStateStore } from '../../../src/state/store/heap.ts'
import { VersionedRows } from '../../../src/state/vector/versioned-rows.ts'
import {
  COMPLETED,
  DIMENSION,
  KEYS,
  ROUNDS,
  STOP,
  type StressWriterData,
  stressKeys,
} from './plan.ts'

/**
 * The writer of the stress test: puts, additions and removals of rows whose elements are all equal. Eviction
 * recycles rows for other keys, checkpoints make images, and new versions make memory and index grow under
 * the readers.
 */
const { counters, seed, writesPerVersion } = workerData as StressWriterData
const words = new Int32Array(counters)
const random = seededRandom(seed)
const keys = stressKeys()
const rounds = new Int32Array(KEYS)
const vector = new Float32Array(DIMENSION)
const sink = { append: (): void => {} }

const tables = new VersionedRows({
  operatorUid: 'stress',
  descriptor: { kind: 'vector', name: 'rows', dimension: DIMENSION, queryableName: 'STRESS' },
  keyGroups: { first: 0, last: 127 },
  maxParallelism: 128,
  slot: 0,
  memoryBudgetBytes: 600_000,
  store: new HeapStateStore(),
  listener: {
    tableOpened: (share) => parentPort!.postMessage(share),
    tableDropped: () => {},
  },
  spillSink: () => sink,
  rowShift: 5,
})

let version = 0 as ModelVersion
let checkpoint = 0
let snapshot = tables.snapshot(++checkpoint, sink, false)

const begin = (): void => {
  if (version > 0) tables.dropVersion(version)
  version = (version + 1) as ModelVersion
  rounds.fill(-1)
  tables.openVersion(version)
}

const write = (key: number): void => {
  const bytes = keys[key]!
  const dice = random.below(16)
  if (dice === 0) {
    tables.remove(version, bytes)
    rounds[key] = -1
    return
  }
  const round = rounds[key]!
  if (dice < 8 || round < 0 || round > ROUNDS - 2) {
    const next = random.below(ROUNDS)
    rounds[key] = next
    vector.fill(next * KEYS + key)
    tables.put(version, bytes, vector, originOf(next, key))
  } else {
    rounds[key] = round + 1
    vector.fill(KEYS)
    tables.add(version, bytes, vector, originOf(round + 1, key))
  }
}

const originOf = (round: number, key: number) => ({
  partition: key,
  offset: round * KEYS + key,
  eventTime: -1,
})

const checkpointStep = (): void => {
  if (!snapshot.step(0.2)) return
  Atomics.store(words, COMPLETED, checkpoint)
  tables.checkpointCompleted(checkpoint)
  snapshot = tables.snapshot(++checkpoint, sink, random.below(8) === 0)
}

begin()
for (let n = 1; Atomics.load(words, STOP) === 0; n++) {
  // Half of the writes go to few keys, so that readers and writer meet often.
  write(random.below(random.below(2) === 0 ? 64 : KEYS))
  if (n % 4096 === 0) checkpointStep()
  if (n % writesPerVersion === 0) begin()
}
