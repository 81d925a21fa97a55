import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { Random } from '../../src/core/random.ts'
import { stringSerializer } from '../../src/core/serializer.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../src/core/time.ts'
import { compilePattern } from '../../src/operators/cep/automaton.ts'
import { PatternOperator } from '../../src/operators/cep/operator.ts'
import { type PatternSpec, type RecordsByStage, stageNames } from '../../src/operators/cep/term.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'
import { type Difference, differenceOf } from './difference.ts'
import { matchesOf, type TimedRecord } from './pattern-model.ts'
import { randomPattern, randomRecords } from './random-patterns.ts'
import { randomParts } from './steps.ts'

/** A record of a key, or a watermark. */
type PatternStep = { readonly key: string; readonly of: TimedRecord } | number

const KEYS = ['x', 'y', 'z']
const LATE = new OutputTag<string>('late')
const TIMED_OUT = new OutputTag<RecordsByStage<string>>('timed-out')

/**
 * Patterns at random against all ways to match them: records out of order and late ones of several keys, through restores and
 * changes of parallelism. In the end nothing is left.
 */
export async function patternCase(random: Random): Promise<Difference> {
  const spec = withEnd(randomPattern(random).spec, random)
  const steps = randomSteps(random)
  const results: string[] = []
  let restore: HarnessSnapshot[] = []
  for (const part of randomParts(random, steps)) {
    const snapshots: HarnessSnapshot[] = []
    for (let subtask = 0; subtask < part.parallelism; subtask++) {
      const harness = await open(spec, restore, { ...part, subtask })
      for (const step of part.steps) feed(harness, step)
      snapshots.push(await harness.snapshot())
      results.push(...resultsOf(harness))
      await harness.close()
    }
    restore = snapshots
  }
  const harness = await open(spec, restore, { parallelism: 1, subtask: 0 })
  harness.watermark(MAX_TIMESTAMP)
  results.push(...resultsOf(harness))
  const left = harness.numKeyedStateEntries() + harness.numEventTimeTimers()
  await harness.close()
  const { wrong, lost } = differenceOf(...comparable(spec, results, expectedOf(spec, steps)))
  return { wrong: left === 0 ? wrong : [...wrong, `${left} entries and timers are left`], lost }
}

/** Without a time, partial matches stay. */
function withEnd(spec: PatternSpec<string>, random: Random): PatternSpec<string> {
  return { ...spec, withinMs: spec.withinMs ?? 2 + random.below(9) }
}

/** Records a few ms out of order, and watermarks some of which are ahead of records that come. */
function randomSteps(random: Random): readonly PatternStep[] {
  const arrivals = KEYS.flatMap((key) =>
    randomRecords(random, 8).map(({ record, time }, i) => ({
      key,
      // Conditions see the first letter and the last digit.
      of: { record: `${record[0]}.${key}${i}.${record[1]}`, time },
      at: time + random.below(6),
    })),
  ).sort((a, b) => a.at - b.at)
  return arrivals.flatMap(({ key, of, at }): PatternStep[] => {
    return random.below(3) === 0 ? [{ key, of }, at - 1 - random.below(5)] : [{ key, of }]
  })
}

const keyOf = (record: string): string => record[2]!

function open(
  spec: PatternSpec<string>,
  restore: readonly HarnessSnapshot[],
  { parallelism, subtask }: { readonly parallelism: number; readonly subtask: number },
): Promise<OperatorHarness<string, string>> {
  const operator = new PatternOperator<string, string, string>({
    automaton: compilePattern(spec),
    userFunction: { processMatch: (match, _context, out) => out.collect(wordsOf(match)) },
    keySerializer: plainKeySerializer<string>(),
    serializer: stringSerializer,
    lateDataTag: LATE,
    timedOutTag: TIMED_OUT,
    maxPartialMatches: 100_000,
    whenFull: 'fail',
  })
  const keys = { selectors: [keyOf], serializer: plainKeySerializer() }
  return OperatorHarness.open<string, string>({ operator, keys, restore, subtask, parallelism })
}

function feed(harness: OperatorHarness<string, string>, step: PatternStep): void {
  if (typeof step === 'number') {
    harness.watermark(step)
    return
  }
  try {
    harness.process(step.of.record, step.of.time)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'NOT_OWNER') throw error
  }
}

function resultsOf(harness: OperatorHarness<string, string>): readonly string[] {
  return [
    ...harness.values,
    ...harness.sideOutput(TIMED_OUT).map(({ value }) => `timed out: ${wordsOf(value)}`),
    ...harness.sideOutput(LATE).map(({ value }) => `late: ${value}`),
  ]
}

/** The records of a match in their order, each with its stage. */
function wordsOf(match: RecordsByStage<string>): string {
  return Object.entries(match)
    .flatMap(([stage, records]) => records.map((record) => `${stage}:${record}`))
    .join(' ')
}

function expectedOf(spec: PatternSpec<string>, steps: readonly PatternStep[]): readonly string[] {
  const results: string[] = []
  const inTime = new Map<string, TimedRecord[]>(KEYS.map((key) => [key, []]))
  let watermark = MIN_TIMESTAMP
  for (const step of steps) {
    if (typeof step === 'number') watermark = Math.max(watermark, step)
    else if (step.of.time <= watermark) results.push(`late: ${step.of.record}`)
    else inTime.get(step.key)!.push(step.of)
  }
  for (const records of inTime.values()) {
    const { matches, timedOut = [] } = matchesOf(
      spec,
      records.toSorted((a, b) => a.time - b.time),
    )
    results.push(...matches.map(byStage(spec)))
    results.push(...timedOut.map((words) => `timed out: ${byStage(spec)(words)}`))
  }
  return results
}

/** The words of the model in the order of the stages, without places. */
const byStage =
  ({ terms }: PatternSpec<string>) =>
  (words: string): string => {
    const stages = stageNames(terms)
    const placeOf = (word: string): number => stages.indexOf(word.slice(0, word.indexOf(':')))
    return words
      .replaceAll(/:\d+=/g, ':')
      .split(' ')
      .sort((a, b) => placeOf(a) - placeOf(b))
      .join(' ')
  }

/** What can be compared: where a match removes others, partial matches that time out are not known. */
function comparable(
  { terms, afterMatch }: PatternSpec<string>,
  ...lists: readonly [readonly string[], readonly string[]]
): [string[], string[]] {
  const isKnown = (line: string): boolean =>
    afterMatch.kind === 'none' || !line.startsWith('timed out')
  const [actual, expected] = lists.map((list) => list.filter(isKnown)) as [string[], string[]]
  if (!terms.some(({ kind }) => kind === 'group')) return [actual, expected]
  // A loop within a group that repeats can give the same records in two ways, once as a match and once as a part of one.
  const whole = new Set(expected)
  const isPart = (line: string): boolean =>
    !whole.has(line.replace('timed out: ', '')) || whole.has(line)
  return [[...new Set(actual.filter(isPart))], [...whole]]
}
