import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { Random } from '../../src/core/random.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../src/core/time.ts'
import { DelayedCoProcessOperator } from '../../src/operators/joins/delayed-co-process.ts'
import { TemporalTableJoin } from '../../src/operators/joins/temporal-join.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import type { OperatorHarness } from '../../src/testing/operator-harness.ts'
import { type Difference, differenceOf } from './difference.ts'
import type { Reading } from './random-functions.ts'
import {
  openTwoInputs,
  randomTwoInputParts,
  runParts,
  stepsOf,
  type TwoInputStep,
} from './two-input-runs.ts'

const LATE = new OutputTag<Reading>('late')

/** How a join of the case reaches back, and whether records without a row have results. */
interface Reach {
  readonly graceMs: number
  readonly historyMs: number
  readonly isLeft: boolean
}

/** The value of a row that a change sets; the change of a low one deletes the row. */
const rowOf = ({ value }: Reading): number | null => (value < 20 ? null : value)

const textOf = ({ key, time, value }: Reading, row: number | undefined): string =>
  `${key}: ${time}=${value} ${row}`

/**
 * Joins with versions of rows at random, through restores and changes of parallelism, against a look-up in the list of all
 * changes. In the end only the newest versions are left.
 */
export async function temporalCase(random: Random): Promise<Difference> {
  const parts = randomTwoInputParts(random)
  const reach = {
    graceMs: random.below(2) * random.below(30),
    historyMs: random.below(2) * random.below(50),
    isLeft: random.below(2) === 0,
  }
  const create = () => open(reach)
  const othersOf = (harness: OperatorHarness<Reading, string>): string[] =>
    harness.sideOutput(LATE).map(({ value }) => `late ${textOf(value, undefined)}`)
  const { results, restore } = await runParts(parts, create, {
    othersOf,
    mostBehindMs: reach.historyMs,
  })
  const end = await openTwoInputs(create(), { restore, subtask: 0, parallelism: 1 })
  const { last } = parts.at(-1)!
  if (last !== undefined) end.watermark(last.watermark)
  end.watermark(1e6)
  const { expected, rows } = expectedOf(stepsOf(parts), reach)
  const left = end.numKeyedStateEntries() + end.numEventTimeTimers()
  const { wrong, lost } = differenceOf([...results, ...end.values], expected)
  await end.close()
  const tooMany = left === rows ? [] : [`${left} entries and timers are left, not ${rows}`]
  return { wrong: [...wrong, ...tooMany], lost }
}

function open({ isLeft, ...reach }: Reach) {
  const join = new TemporalTableJoin<Reading, string, number, string>(
    { keyOf: ({ key }) => key, join: textOf, isLeft },
    { ...reach, lateTag: LATE },
  )
  const onReadings = {
    initializeState: join.initializeState.bind(join),
    open: join.open.bind(join),
    snapshotState: join.snapshotState.bind(join),
    processElement1: join.processElement1.bind(join),
    processElement2: (change: Reading, context: Parameters<typeof join.processElement2>[1]) =>
      join.processElement2({ key: change.key, value: rowOf(change) }, context),
    onTimer: join.onTimer.bind(join),
  }
  return new DelayedCoProcessOperator(onReadings, plainKeySerializer<string>(), {
    eventTime: true,
    watermarkDelayMs: reach.graceMs,
  })
}

/** What comes out by a look through all changes that came in time, and how many rows there are in the end. */
function expectedOf(
  steps: readonly TwoInputStep[],
  { graceMs, historyMs, isLeft }: Reach,
): { readonly expected: readonly string[]; readonly rows: number } {
  const expected: string[] = []
  const changes: Reading[] = []
  let waiting: Reading[] = []
  let watermark = MIN_TIMESTAMP
  const join = (reading: Reading): void => {
    const row = rowAt(changes, reading.key, reading.time)
    if (row !== undefined || isLeft) expected.push(textOf(reading, row))
  }
  const advance = (to: number): void => {
    watermark = Math.max(watermark, to)
    for (const each of waiting) if (each.time + graceMs <= watermark) join(each)
    waiting = waiting.filter(({ time }) => time + graceMs > watermark)
  }
  for (const step of steps) {
    if (typeof step === 'number') {
      advance(step)
      continue
    }
    const { input, reading } = step
    const isTooOld = reading.time < watermark - graceMs - historyMs
    if (isTooOld && input === 0) expected.push(`late ${textOf(reading, undefined)}`)
    if (isTooOld) continue
    if (input === 1) changes.push(reading)
    else if (reading.time + graceMs <= watermark) join(reading)
    else waiting.push(reading)
  }
  advance(MAX_TIMESTAMP)
  const keys = new Set(changes.map(({ key }) => key))
  const rows = [...keys].filter((key) => rowAt(changes, key, MAX_TIMESTAMP) !== undefined).length
  return { expected, rows }
}

/** The row of the last change up to a time; of several of one time the one that came last. */
function rowAt(changes: readonly Reading[], key: string, time: number): number | undefined {
  let newest: Reading | undefined
  for (const change of changes) {
    if (change.key !== key || change.time > time) continue
    if (newest === undefined || change.time >= newest.time) newest = change
  }
  return newest === undefined ? undefined : (rowOf(newest) ?? undefined)
}
