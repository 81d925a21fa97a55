import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { murmur3 } from '../../src/core/hash/murmur3.ts'
import { generateAlsRow } from '../../src/models/als/model-generator.ts'
import { encodeFactors } from '../../src/models/als/row.ts'
import { alsKey } from '../../src/models/als/row-key.ts'
import type { RowUpdaterPlan, RowUpdaterReport } from './row-updater-messages.ts'

/*
 * A process that writes rows into a model topic at a steady rate, as a trainer or a learner does, until the
 * benchmark ends it. It answers any message with a report.
 */
const plan = JSON.parse(process.argv[2]!) as RowUpdaterPlan
/** Equal to the linger of Kafka 4 producers. */
const TICK_MS = 5
const DIFFERENT_ROWS = 1024
/** A prime above the number of users, so that it visits every row before it repeats one. */
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
  // The partition does not depend on the version, which follows the "@".
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
