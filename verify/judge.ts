import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../src/core/errors.ts'
import { consumeWithJava } from '../test/services/kafka/tools.ts'
import { checkHistory } from './checks/history.ts'
import type { KeyLedger, StateLedger, Violation } from './checks/observation.ts'
import { checkOutputs, type OutputCheck } from './checks/outputs.ts'
import { compareRows, type Input, type RowCheck } from './compare-rows.ts'
import { COUNT_ROWS, COUNTS } from './jobs/counts.ts'
import { ITEM_ROWS } from './jobs/deltas.ts'
import { END, type ReadRecord, readCommitted, readTopic } from './kafka/client.ts'
import type { QuerySession } from './query-session.ts'
import type { VerifyReport } from './report.ts'
import type { Verification } from './verification.ts'
import { countHashes, countLedger, deltaLedger, missingInput } from './workloads.ts'

const EXAMPLES_PER_KIND = 4

/**
 * Ends the load and compares rows, results and the history of answers with the input topics. The rows are
 * compared before and after one more crash and restore.
 */
export async function judge(verification: Verification): Promise<VerifyReport> {
  const { options, violations } = verification
  const startedMs = performance.now()
  options.say('the load has ended; comparing')
  await verification.stopLoads()
  const input = await readInput(verification)
  const rows = { lost: 0, duplicated: 0 }
  await compareRows(verification, input, rows)
  if (violations.length === 0) {
    await Promise.all(verification.jobs.map((job) => job.signal('SIGKILL')))
    await verification.until('both jobs run again', verification.limitMs, () =>
      verification.jobs.every(({ running }) => running),
    )
    await compareRows(verification, input, rows)
  }
  await Promise.all(verification.sessions.map((session) => session.stop()))
  const outputs = await readOutputs(verification, input)
  violations.push(...checkHistory(verification.history, ledgers(verification, input)))
  options.say(`judged in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  return reportOf(verification, input, { rows, outputs })
}

/** The report of a verification that could not be judged: its violations say why. */
export function unjudged(verification: Verification): VerifyReport {
  const input: Input = { counts: new Map(), items: new Map(), hashes: new Map() }
  const outputs: OutputCheck = { lost: 0, duplicated: 0, wrong: 0, examples: [] }
  return reportOf(verification, input, { rows: { lost: 0, duplicated: 0 }, outputs })
}

async function readInput(verification: Verification): Promise<Input> {
  const { world, countLoad, deltaLoad, violations } = verification
  const read = (kind: 'in' | 'deltas') => readTopic(world.directBrokers, verification.topic(kind))
  const [counted, deltas] = await Promise.all([read('in'), read('deltas')])
  const missing = missingInput(counted, countLoad) + missingInput(deltas, deltaLoad)
  if (missing > 0) {
    const detail = `${missing} acknowledged records are not in the input topics`
    violations.push({ kind: 'lost-input', detail })
  }
  return {
    counts: countLedger(counted, countLoad),
    items: deltaLedger(deltas, deltaLoad),
    hashes: countHashes(counted),
  }
}

function ledgers({ counts, deltas }: Verification, input: Input): ReadonlyMap<string, StateLedger> {
  const common = { positions: true }
  const ofCounts = { ...common, keys: input.counts, disturbances: counts.allDisturbances() }
  const ofItems = { ...common, keys: input.items, disturbances: deltas.allDisturbances() }
  return new Map([
    [COUNTS, { ...ofCounts, positions: false }],
    [COUNT_ROWS, ofCounts],
    [ITEM_ROWS, ofItems],
  ])
}

/** Stops the jobs with SIGTERM and checks the results that they committed. */
async function readOutputs(verification: Verification, input: Input): Promise<OutputCheck> {
  const { world, jobs, violations } = verification
  const ended = await Promise.all(jobs.map((job) => job.stop('SIGTERM')))
  if (ended.includes(false)) {
    violations.push({ kind: 'hangs', detail: 'a job did not end on SIGTERM' })
  }
  try {
    const topic = verification.topic('out')
    const { outputPartitions } = verification
    const records = await readCommitted(world.directBrokers, topic, outputPartitions)
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

/** Checks that Java's consumer reads the same records, because no single reader is trusted. */
async function compareWithJava(
  { world, violations, outputPartitions }: Verification,
  topic: string,
  records: readonly ReadRecord[],
): Promise<void> {
  const lines = await consumeWithJava(world.broker, topic, records.length + outputPartitions)
  const theirs = lines.filter((line) => !line.startsWith(END)).sort()
  const ours = records.map(({ key, value }) => `${key}\t${value}`).sort()
  if (theirs.length === ours.length && theirs.every((line, i) => line === ours[i])) return
  const detail = `Java reads ${theirs.length} committed results, the verifier ${ours.length}`
  violations.push({ kind: 'readers-differ', detail })
}

interface Results {
  readonly rows: RowCheck
  readonly outputs: OutputCheck
}

function reportOf(
  verification: Verification,
  input: Input,
  { rows, outputs }: Results,
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

/** The first few violations of each kind. */
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
