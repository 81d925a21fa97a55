import { EmbeddedLog } from '../src/connectors/log/embedded-log.ts'
import { murmur3 } from '../src/core/murmur3.ts'
import { generateAlsRow } from '../src/models/als-model-generator.ts'
import { alsKey, encodeFactors } from '../src/models/als-row.ts'
import type { RowUpdaterPlan, RowUpdaterReport } from './row-updater-messages.ts'

/*
 * Writes rows into a model topic at a steady rate, as a trainer or a learner in another process
 * does, until the benchmark ends it. Any message is answered with what was sent so far.
 */
const plan = JSON.parse(process.argv[2]!) as RowUpdaterPlan
/** As the linger of Kafka 4 producers. */
const TICK_MS = 5
const DIFFERENT_ROWS = 1024
/** A step that visits every row before it comes back, for it is prime and larger than any divisor. */
const STRIDE = 1_000_003

const log = await EmbeddedLog.open(plan.directory)
const { partitions } = log.describe(plan.topic)
const producer = log.producer(plan.topic)
const encoder = new TextEncoder()
const keyBytes = new Uint8Array(64)
const values = Array.from({ length: DIFFERENT_ROWS }, (_, index) => {
  const row = new Float32Array(plan.factors)
  generateAlsRow('U', index, 2, row)
  return encodeFactors(row)
})

let rows = 0
let nowMs = Date.now()

function send(): void {
  const id = String(((rows * STRIDE) % plan.users) + 1)
  const key = alsKey(id, 'U', 1)
  const { written } = encoder.encodeInto(key, keyBytes)
  // The version behind the "@" does not decide the partition.
  const partition = murmur3(keyBytes, 0, key.lastIndexOf('@')) % partitions
  producer.sendRecord(
    keyBytes.subarray(0, written),
    values[rows % DIFFERENT_ROWS]!,
    nowMs,
    partition,
    [],
  )
  rows += 1
}

const started = performance.now()
const report = (): RowUpdaterReport => ({ rows, seconds: (performance.now() - started) / 1000 })

setInterval(() => {
  nowMs = Date.now()
  const due = Math.floor(((performance.now() - started) / 1000) * plan.rowsPerSecond)
  while (rows < due && producer.ready()) send()
  producer.dispatch()
}, TICK_MS)
process.on('message', () => process.send!(report()))
process.on('disconnect', () => process.exit(0))
process.send!(report())
