import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { Random } from '../../src/core/random.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../src/core/time.ts'
import { DelayedCoProcessOperator } from '../../src/operators/joins/delayed-co-process.ts'
import {
  IntervalJoinFunction,
  type JoinInterval,
  type ProcessJoinFunction,
} from '../../src/operators/joins/interval-join.ts'
import type { JoinKind } from '../../src/operators/joins/unmatched.ts'
import { type Difference, differenceOf } from './difference.ts'
import type { Reading } from './random-functions.ts'
import {
  openTwoInputs,
  randomTwoInputParts,
  runParts,
  stepsOf,
  type TwoInputStep,
} from './two-input-runs.ts'

const KINDS = ['left', 'right', 'full'] as const

type Maybe = Reading | undefined

/**
 * Outer interval joins at random, through restores and changes of parallelism, against all pairs and the records that are in
 * none. In the end nothing is left.
 */
export async function outerCase(random: Random): Promise<Difference> {
  const parts = randomTwoInputParts(random)
  const lowerMs = random.below(40) - 20
  const interval = { lowerMs, upperMs: lowerMs + random.below(30) }
  const kind = KINDS[random.below(3)]!
  const create = () => open(interval, kind)
  const { results, restore } = await runParts(parts, create)
  const end = await openTwoInputs(create(), { restore, subtask: 0, parallelism: 1 })
  end.watermark(MAX_TIMESTAMP)
  const left = end.numKeyedStateEntries() + end.numEventTimeTimers()
  const all = [...results, ...end.values]
  const { wrong, lost } = differenceOf(all, expectedOf(stepsOf(parts), interval, kind))
  await end.close()
  const tooMany = left === 0 ? [] : [`${left} entries and timers are left`]
  return { wrong: [...wrong, ...tooMany], lost }
}

function open(interval: JoinInterval, kind: JoinKind) {
  const join: ProcessJoinFunction<Maybe, Maybe, string> = {
    processElement: (left, right, { leftTimestamp, rightTimestamp, timestamp }, out) => {
      const [times, own] = [
        [leftTimestamp, rightTimestamp],
        [left?.time ?? -1, right?.time ?? -1],
      ]
      const latest = Math.max(...[left, right].flatMap((each) => each?.time ?? []))
      const isRight = `${times}` === `${own}` && timestamp === latest
      out.collect(isRight ? textOf(left, right) : `times ${times} ${timestamp}`)
    },
  }
  // It is as far behind as its records wait, which the job computes from the bounds.
  const { lowerMs, upperMs } = interval
  const watermarkDelayMs = Math.max(
    0,
    kind === 'right' ? 0 : upperMs,
    kind === 'left' ? 0 : -lowerMs,
  )
  return new DelayedCoProcessOperator(
    new IntervalJoinFunction<string, Reading, Reading, string>(interval, join, {}, kind),
    plainKeySerializer<string>(),
    { eventTime: true, watermarkDelayMs },
  )
}

function textOf(left: Maybe, right: Maybe): string {
  const sides = [left, right].map((each) =>
    each === undefined ? 'none' : `${each.time}=${each.value}`,
  )
  return `${(left ?? right)!.key}: ${sides.join(' ')}`
}

/** All pairs within the bounds, and each record of an outer side that goes without one. As in an inner join, it goes late. */
function expectedOf(
  steps: readonly TwoInputStep[],
  { lowerMs, upperMs }: JoinInterval,
  kind: JoinKind,
): string[] {
  const results: string[] = []
  const sides: [Reading[], Reading[]] = [[], []]
  const matched = new Set<Reading>()
  const keptMs = [Math.max(0, upperMs), Math.max(0, -lowerMs)] as const
  let watermark = MIN_TIMESTAMP
  const advance = (to: number): void => {
    watermark = to
    for (const input of [0, 1] as const) {
      const isOuter = kind === 'full' || kind === (input === 0 ? 'left' : 'right')
      const isGone = ({ time }: Reading): boolean => time + keptMs[input] <= to
      for (const each of sides[input].filter(isGone)) {
        if (!isOuter || matched.has(each)) continue
        results.push(input === 0 ? textOf(each, undefined) : textOf(undefined, each))
      }
      sides[input] = sides[input].filter((each) => !isGone(each))
    }
  }
  for (const step of [...steps, MAX_TIMESTAMP]) {
    if (typeof step === 'number') {
      if (step > watermark) advance(step)
      continue
    }
    const { input, reading } = step
    if (reading.time < watermark) continue
    for (const partner of sides[1 - input]!) {
      const [left, right] = input === 0 ? [reading, partner] : [partner, reading]
      const apart = right.time - left.time
      if (left.key !== right.key || apart < lowerMs || apart > upperMs) continue
      results.push(textOf(left, right))
      matched.add(reading).add(partner)
    }
    sides[input]!.push(reading)
  }
  return results
}
