import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WeirClient } from '../src/client/weir-client.ts'
import { messageOf } from '../src/core/errors.ts'
import type { Consistency } from '../src/wire/model-reader.ts'
import { consumeWithJava } from '../test/services/kafka-tools.ts'
import { checkHistory } from './check-history.ts'
import { checkOutputs, type OutputCheck } from './check-outputs.ts'
import { COUNT_ROWS, COUNTS } from './counts-job.ts'
import { ITEM_ROWS } from './deltas-job.ts'
import { END, type ReadRecord, readCommitted, readTopic } from './kafkajs.ts'
import type { KeyLedger, StateLedger, Violation } from './observation.ts'
import { QUERY_HOST } from './query-line.ts'
import type { QuerySession } from './query-session.ts'
import type { SupervisedJob } from './supervised-job.ts'
import type { Verification } from './verification.ts'
import type { VerifyReport } from './verify-report.ts'
import {
  checkOfRow,
  countHashes,
  countLedger,
  deltaLedger,
  missingInput,
  PARTITIONS,
} from './workloads.ts'

const EXAMPLES_PER_KIND = 4
const ROWS_DEADLINE_MS = 30_000

/** The ledgers of both jobs, from what lies in the topics. */
interface Input {
  readonly counts: ReadonlyMap<string, KeyLedger>
  readonly items: ReadonlyMap<string, KeyLedger>
  readonly hashes: ReadonlyMap<string, readonly (number | undefined)[]>
}

/** Records by which rows fall short of the input or exceed it. */
interface RowCheck {
  lost: number
  duplicated: number
}

/**
 * Ends the load, compares rows (as they are, and after one more crash and restore), results and the
 * history of answers with what lies in the input topics.
 */
export async function judge(verification: Verification): Promise<VerifyReport> {
  const { options, violations } = verification
  const startedMs = performance.now()
  options.say('the load ends; comparing')
  await Promise.all([verification.countLoad.stop(), verification.deltaLoad.stop()])
  const input = await readInput(verification)
  const rows = { lost: 0, duplicated: 0 }
  await compareRows(verification, input, rows)
  if (violations.length === 0) {
    await Promise.all(verification.jobs.map((job) => job.signal('SIGKILL')))
    await verification.until('both jobs run again', 60_000, () =>
      verification.jobs.every(({ running }) => running),
    )
    await compareRows(verification, input, rows)
  }
  await Promise.all(verification.sessions.map((session) => session.stop()))
  const outputs = await readOutputs(verification, input)
  violations.push(...checkHistory(verification.history, ledgers(verification, input)))
  options.say(`judged in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  return report(verification, input, rows, outputs)
}

async function readInput(verification: Verification): Promise<Input> {
  const { world, countLoad, deltaLoad, violations } = verification
  const read = (kind: 'in' | 'deltas') => readTopic(world.directBrokers, verification.topic(kind))
  const [counted, deltas] = await Promise.all([read('in'), read('deltas')])
  const missing = missingInput(counted, countLoad) + missingInput(deltas, deltaLoad)
  if (missing > 0) {
    const detail = `${missing} acknowledged records do not lie in the input topics`
    violations.push({ kind: 'lost-input', detail })
  }
  return {
    counts: countLedger(counted, countLoad),
    items: deltaLedger(deltas, deltaLoad),
    hashes: countHashes(counted),
  }
}

function ledgers({ counts, deltas }: Verification, input: Input): ReadonlyMap<string, StateLedger> {
  const positions = true
  const ofCounts = { positions, keys: input.counts, disturbances: counts.allDisturbances() }
  const ofItems = { positions, keys: input.items, disturbances: deltas.allDisturbances() }
  return new Map([
    [COUNTS, { ...ofCounts, positions: false }],
    [COUNT_ROWS, ofCounts],
    [ITEM_ROWS, ofItems],
  ])
}

/** Compares the rows of both jobs with the input: as they are, and in the next checkpoint. */
async function compareRows(
  verification: Verification,
  input: Input,
  rows: RowCheck,
): Promise<void> {
  const { ports, counts, deltas, violations } = verification
  const all = [
    { job: counts, port: ports[0]!, state: COUNT_ROWS, keys: input.counts },
    { job: deltas, port: ports[1]!, state: ITEM_ROWS, keys: input.items },
  ]
  for (const { job, port, state, keys } of all) {
    try {
      await compareState(verification, job, port, { state, keys, rows })
    } catch (error) {
      const detail = `${state} could not be compared: ${messageOf(error)}`
      violations.push({ kind: 'hangs', detail })
    }
  }
}

interface RowComparison {
  readonly state: string
  readonly keys: ReadonlyMap<string, KeyLedger>
  readonly rows: RowCheck
}

async function compareState(
  verification: Verification,
  job: SupervisedJob,
  port: number,
  comparison: RowComparison,
): Promise<void> {
  const client = await WeirClient.connect({ host: QUERY_HOST, port, deadlineMs: ROWS_DEADLINE_MS })
  try {
    for (const partition of partitionsOf(comparison.keys)) {
      const offset = lastOffset(comparison.keys, partition)
      const consistency: Consistency = { level: 'at-least', partition, offset }
      await compareKeys(verification, client, comparison, partition, consistency)
    }
    const sinceMs = Date.now()
    await verification.until(`${job.name} has a last checkpoint`, ROWS_DEADLINE_MS, () => {
      return job.checkpointMs >= sinceMs
    })
    for (const partition of partitionsOf(comparison.keys)) {
      await compareKeys(verification, client, comparison, partition, { level: 'checkpoint' })
    }
  } finally {
    await client.close()
  }
}

async function compareKeys(
  { violations }: Verification,
  client: WeirClient,
  { state, keys, rows }: RowComparison,
  partition: number,
  consistency: Consistency,
): Promise<void> {
  const names = [...keys].filter(([, one]) => one.partition === partition).map(([key]) => key)
  const answers = await client.rows(state, names, { consistency, version: 1 })
  for (const [i, answer] of answers.entries()) {
    const key = names[i]!
    const { checks, offsets } = keys.get(key)!
    const version = answer.ok ? answer.value[0]! : -1
    const isRight =
      answer.ok && version === offsets.length && checkOfRow(answer.value) === checks.at(-1)
    if (isRight) continue
    if (version < offsets.length) rows.lost += offsets.length - Math.max(0, version)
    else rows.duplicated += version - offsets.length
    const said = answer.ok ? `holds ${version}` : `gives ${answer.error.code}`
    const detail = `${state} ${key} at ${consistency.level} ${said} of ${offsets.length} records`
    violations.push({ kind: 'wrong-row', detail })
  }
}

function partitionsOf(keys: ReadonlyMap<string, KeyLedger>): number[] {
  const partitions = new Set([...keys.values()].map(({ partition }) => partition))
  return [...partitions].filter((partition) => partition >= 0)
}

/** Offset of the last record that changes a row of the partition. */
function lastOffset(keys: ReadonlyMap<string, KeyLedger>, partition: number): number {
  const ofPartition = [...keys.values()].filter((one) => one.partition === partition)
  return Math.max(...ofPartition.map(({ offsets }) => offsets.at(-1) ?? 0))
}

/** Ends the jobs in good order and reads what they committed. */
async function readOutputs(verification: Verification, input: Input): Promise<OutputCheck> {
  const { world, jobs, violations } = verification
  const ended = await Promise.all(jobs.map((job) => job.stop('SIGTERM')))
  if (ended.includes(false)) {
    violations.push({ kind: 'hangs', detail: 'a job did not end on SIGTERM' })
  }
  try {
    const topic = verification.topic('out')
    const records = await readCommitted(world.directBrokers, topic, PARTITIONS)
    const results = records.map(({ key, value }) => {
      const [count, hash] = value.toString().split(' ').map(Number)
      return { key, count: count!, hash: hash! }
    })
    const check = checkOutputs(results, input.hashes)
    await compareWithJava(verification, topic, records)
    if (check.examples.length > 0) {
      const lines = records.map(({ partition, offset, key, value }) => {
        return `${partition}:${offset} ${key} ${value}\n`
      })
      writeFileSync(join(verification.options.folder, 'results.txt'), lines.join(''))
    }
    return check
  } catch (error) {
    violations.push({ kind: 'hangs', detail: messageOf(error) })
    return { lost: 0, duplicated: 0, wrong: 0, examples: [] }
  }
}

/** Java's reader must see the same records: neither of the two is taken at its word alone. */
async function compareWithJava(
  { world, violations }: Verification,
  topic: string,
  records: readonly ReadRecord[],
): Promise<void> {
  const lines = await consumeWithJava(world.broker, topic, records.length + PARTITIONS)
  const theirs = lines.filter((line) => !line.startsWith(END)).sort()
  const ours = records.map(({ key, value }) => `${key}\t${value}`).sort()
  if (theirs.length === ours.length && theirs.every((line, i) => line === ours[i])) return
  const detail = `Java reads ${theirs.length} committed results, the verifier ${ours.length}`
  violations.push({ kind: 'readers-differ', detail })
}

function report(
  verification: Verification,
  input: Input,
  rows: RowCheck,
  outputs: OutputCheck,
): VerifyReport {
  const { options, kills, violations, faults, sessions, jobs, history } = verification
  const lost = rows.lost + outputs.lost
  const duplicated = rows.duplicated + outputs.duplicated
  const total = violations.length + outputs.wrong
  return {
    verdict: lost + duplicated + total === 0 ? 'passed' : 'failed',
    seed: options.seed,
    kills,
    records: recordsOf(input.counts) + recordsOf(input.items),
    lost,
    duplicated,
    queriesChecked: history.length,
    violations: total,
    kinds: kindsOf(violations),
    details: [...examplesOf(violations), ...outputs.examples],
    seconds: Math.round((performance.now() - verification.startedMs) / 100) / 10,
    faults: Object.fromEntries(faults),
    queryErrors: errorsOf(sessions),
    jobs: Object.fromEntries(
      jobs.map(({ name, processes, attempts }) => [name, { processes, attempts }]),
    ),
  }
}

function kindsOf(violations: readonly Violation[]): Record<string, number> {
  const kinds: Record<string, number> = {}
  for (const { kind } of violations) kinds[kind] = (kinds[kind] ?? 0) + 1
  return kinds
}

/** The first few of each kind. */
function examplesOf(violations: readonly Violation[]): string[] {
  const shown: Record<string, number> = {}
  return violations.flatMap(({ kind, detail }) => {
    shown[kind] = (shown[kind] ?? 0) + 1
    return shown[kind] > EXAMPLES_PER_KIND ? [] : [`${kind}: ${detail}`]
  })
}

function recordsOf(keys: ReadonlyMap<string, KeyLedger>): number {
  let records = 0
  for (const { offsets } of keys.values()) records += offsets.length
  return records
}

function errorsOf(sessions: readonly QuerySession[]): Record<string, number> {
  const errors: Record<string, number> = {}
  for (const session of sessions) {
    for (const [code, times] of session.errors) errors[code] = (errors[code] ?? 0) + times
  }
  return errors
}
