import { WeirClient } from '../src/client/weir-client.ts'
import { messageOf } from '../src/core/errors.ts'
import type { Consistency } from '../src/wire/model-reader.ts'
import type { KeyLedger, Violation } from './checks/observation.ts'
import { COUNT_ROWS, TIMER_ROWS } from './jobs/counts.ts'
import { ITEM_ROWS } from './jobs/deltas.ts'
import type { SupervisedJob } from './jobs/supervised-job.ts'
import type { Verification } from './verification.ts'
import { checkOfRow } from './workloads.ts'
import { QUERY_HOST } from './world/query-line.ts'

/** Time in which the timers of the last records must fire. */
const TIMERS_MS = 5_000
const ROWS_DEADLINE_MS = 120_000
/** Partition of keys that have no record. */
const NO_PARTITION = -1
/** A key after every other, and more rows than there are. */
const LAST_KEY = '~'
const MOST_ROWS = 100_000

/** The ledgers of both jobs, read from the input topics. */
export interface Input {
  readonly counts: ReadonlyMap<string, KeyLedger>
  readonly items: ReadonlyMap<string, KeyLedger>
  readonly hashes: ReadonlyMap<string, readonly (number | undefined)[]>
}

/** Number of records that rows lack, and that they have twice. */
export interface RowCheck {
  lost: number
  duplicated: number
}

/** Compares the rows of both jobs with the input: the current rows, and those of the next checkpoint. */
export async function compareRows(
  verification: Verification,
  input: Input,
  rows: RowCheck,
): Promise<void> {
  const { counts, deltas, violations } = verification
  const all = [
    { job: counts, port: counts.port, state: COUNT_ROWS, keys: input.counts },
    { job: deltas, port: deltas.port, state: ITEM_ROWS, keys: input.items },
  ]
  for (const { job, port, state, keys } of all) {
    try {
      await compareState(verification, { job, port, state, keys, rows })
    } catch (error) {
      const detail = `${state} could not be compared: ${messageOf(error)}`
      violations.push({ kind: 'hangs', detail })
    }
  }
  await compareTimers(verification, input, counts.port)
}

/** Checks that each record's timer fired once. The last ones fire a moment after the last record. */
async function compareTimers(
  { violations }: Verification,
  { counts }: Input,
  port: number,
): Promise<void> {
  const client = await WeirClient.connect({ host: QUERY_HOST, port, deadlineMs: ROWS_DEADLINE_MS })
  try {
    const giveUpMs = Date.now() + TIMERS_MS
    for (;;) {
      const wrong = await wrongTimers(client, counts)
      if (wrong.length === 0) return
      if (Date.now() > giveUpMs) {
        for (const detail of wrong) violations.push({ kind: 'wrong-timers', detail })
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  } catch (error) {
    const detail = `${TIMER_ROWS} could not be compared: ${messageOf(error)}`
    violations.push({ kind: 'hangs', detail })
  } finally {
    await client.close()
  }
}

async function wrongTimers(
  client: WeirClient,
  counts: ReadonlyMap<string, KeyLedger>,
): Promise<string[]> {
  const keys = [...counts.keys()]
  const answers = await client.rows(TIMER_ROWS, keys, { version: 1 })
  return answers.flatMap((answer, i) => {
    const records = counts.get(keys[i]!)!.offsets.length
    const fired = answer.ok ? answer.value[0]! : 0
    return fired === records ? [] : [`${keys[i]!}: ${fired} timers of ${records} records fired`]
  })
}

interface RowComparison {
  readonly job: SupervisedJob
  /** Bootstrap port of queries. */
  readonly port: number
  readonly state: string
  readonly keys: ReadonlyMap<string, KeyLedger>
  readonly rows: RowCheck
}

async function compareState(verification: Verification, comparison: RowComparison): Promise<void> {
  const { job, port } = comparison
  const { violations } = verification
  const client = await WeirClient.connect({ host: QUERY_HOST, port, deadlineMs: ROWS_DEADLINE_MS })
  try {
    for (const partition of partitionsOf(comparison.keys)) {
      const offset = lastOffset(comparison.keys, partition)
      const consistency: Consistency = { level: 'at-least', partition, offset }
      violations.push(...(await compareKeys(client, comparison, { partition, consistency })))
    }
    const live = { partition: NO_PARTITION, consistency: { level: 'live' } } as const
    violations.push(...(await compareKeys(client, comparison, live)))
    violations.push(...(await compareScan(client, comparison)))
    const sinceMs = Date.now()
    await verification.until(`${job.name} has a last checkpoint`, ROWS_DEADLINE_MS, () => {
      return job.checkpointMs >= sinceMs
    })
    for (const partition of [...partitionsOf(comparison.keys), NO_PARTITION]) {
      const consistency: Consistency = { level: 'checkpoint' }
      violations.push(...(await compareKeys(client, comparison, { partition, consistency })))
    }
  } finally {
    await client.close()
  }
}

/** Checks that a scan shows a row of each key that has one, and of no other key. */
async function compareScan(
  client: WeirClient,
  { state, keys }: RowComparison,
): Promise<Violation[]> {
  const range = { from: '', to: LAST_KEY, limit: MOST_ROWS }
  const found = await client.scan(state, range, { version: 1 })
  const shown = new Set(found.map(({ key }) => key))
  const expected = new Set(
    [...keys].filter(([, { checks }]) => checks.at(-1) !== undefined).map(([key]) => key),
  )
  const wrongKeys = [...new Set([...shown, ...expected])].filter(
    (key) => !(shown.has(key) && expected.has(key)),
  )
  const doubled = found.length - shown.size
  const details = [
    ...wrongKeys.map((key) => `a scan of ${state} ${shown.has(key) ? 'invents' : 'lacks'} ${key}`),
    ...(doubled === 0 ? [] : [`a scan of ${state} shows ${doubled} rows twice`]),
  ]
  return details.map((detail) => ({ kind: 'wrong-row', detail }))
}

interface PartitionRead {
  readonly partition: number
  readonly consistency: Consistency
}

/** Compares the rows of one input partition. Returns violations, and adds to `rows`. */
async function compareKeys(
  client: WeirClient,
  { state, keys, rows }: RowComparison,
  { partition, consistency }: PartitionRead,
): Promise<Violation[]> {
  const violations: Violation[] = []
  const names = [...keys].filter(([, one]) => one.partition === partition).map(([key]) => key)
  if (names.length === 0) return []
  const answers = await client.rows(state, names, { consistency, version: 1 })
  for (const [i, answer] of answers.entries()) {
    const key = names[i]!
    const { checks, offsets } = keys.get(key)!
    const version = answer.ok ? answer.value[0]! : -1
    const expected = checks.at(-1)
    const isRight = answer.ok
      ? version === offsets.length && checkOfRow(answer.value) === expected
      : expected === undefined && answer.error.code === 'UNKNOWN_KEY'
    if (isRight) continue
    if (version < offsets.length) rows.lost += offsets.length - Math.max(0, version)
    else rows.duplicated += version - offsets.length
    const said = answer.ok ? `holds ${version}` : `gives ${answer.error.code}`
    const detail = `${state} ${key} at ${consistency.level} ${said} of ${offsets.length} records`
    violations.push({ kind: 'wrong-row', detail })
  }
  return violations
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
