import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { float64Serializer, type Serializer } from '../../../src/core/serializer.ts'
import { createWindowOperator } from '../../../src/dataflow/windows/plan.ts'
import { aggregateFold, type Fold } from '../../../src/operators/folds/fold.ts'
import { AlignedWindowOperator } from '../../../src/operators/windows/aligned-operator.ts'
import { slidingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import { SlicedWindowOperator } from '../../../src/operators/windows/sliced-operator.ts'
import { type AggregateFunction, valueState } from '../../../src/state/port/descriptors.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { type Event, feed, open, type Place, type Plan } from './planned-windows.ts'

/** Sum of times, in an object that `add` and `merge` change in place. */
interface Sum {
  sum: number
}

const SUM: AggregateFunction<Event, Sum, number> = {
  createAccumulator: () => ({ sum: 0 }),
  add([, time], accumulator) {
    accumulator.sum += time
    return accumulator
  },
  merge(a, b) {
    a.sum += b.sum
    return a
  },
  getResult: ({ sum }) => sum,
}

const NUMBER: AggregateFunction<Event, number, number> = {
  createAccumulator: () => 0,
  add: ([, time], sum) => sum + time,
  merge: (a, b) => a + b,
  getResult: (sum) => sum,
}

/** An accumulator that no copier knows: state holds its bytes. */
class Box {
  readonly sum: number

  constructor(sum: number) {
    this.sum = sum
  }
}

const BOX: AggregateFunction<Event, Box, number> = {
  createAccumulator: () => new Box(0),
  add: ([, time], { sum }) => new Box(sum + time),
  merge: (a, b) => new Box(a.sum + b.sum),
  getResult: ({ sum }) => sum,
}

const boxSerializer: Serializer<Box> = {
  id: 'box/1',
  write: ({ sum }, writer) => writer.float64(sum),
  read: (reader) => new Box(reader.float64()),
}

const FOLDS = {
  'objects changed in place': { aggregate: SUM, serializer: msgpackSerializer<Sum>() },
  numbers: { aggregate: NUMBER, serializer: float64Serializer },
  'objects of a class': { aggregate: BOX, serializer: boxSerializer },
} as const

function foldOf<ACC>(
  aggregate: AggregateFunction<Event, ACC, number>,
  serializer: Serializer<ACC>,
): NonNullable<Plan['fold']> {
  return {
    fold: aggregateFold(aggregate) as Fold<Event, unknown>,
    serializer: serializer as Serializer<unknown>,
  }
}

function planOf(name: keyof typeof FOLDS, allowedLatenessMs = 0, slices = true): Plan {
  const { aggregate, serializer } = FOLDS[name]
  const whole = foldOf(aggregate as AggregateFunction<Event, unknown, number>, serializer)
  return {
    assigner: slidingEventTimeWindows(30, 10, 3),
    allowedLatenessMs,
    fold: slices ? whole : { ...whole, fold: { ...whole.fold, parts: 'never' } },
  }
}

const naming = {
  process(key, { window }, [sum], out): void {
    out.collect(`${key} ${window.start}-${window.end}: ${sum as unknown as number}`)
  },
} satisfies ProcessWindowFunction<string, Event, string>

/** A record or a watermark. */
type Step = Event | number

/** Records in random order with watermarks between them; some records are late. */
function stepsOf(random: Random): Step[] {
  const steps: Step[] = []
  let newest = 100
  for (let i = 0; i < 120; i++) {
    newest += random.below(5) === 0 ? random.below(90) : random.below(6)
    const time = newest - (random.below(3) === 0 ? random.below(60) : random.below(8))
    steps.push([`key-${random.below(3)}`, time])
    if (random.below(4) === 0) steps.push(newest - 8)
  }
  return steps
}

/** Lets each subtask take the steps; a record of a key that it does not own is not its own. */
async function runSteps(
  plan: Plan,
  steps: readonly Step[],
  { parallelism = 1, ...place }: Place,
  ends: boolean,
): Promise<{ readonly results: readonly string[]; readonly snapshots: HarnessSnapshot[] }> {
  const results: string[] = []
  const snapshots: HarnessSnapshot[] = []
  for (let subtask = 0; subtask < parallelism; subtask++) {
    const harness = await open(plan, { ...place, subtask, parallelism }, naming)
    for (const step of steps) {
      if (typeof step === 'number') {
        harness.watermark(step)
        continue
      }
      try {
        harness.process(step, step[1])
      } catch (error) {
        expect(error).toMatchObject({ code: 'NOT_OWNER' })
      }
    }
    snapshots.push(await harness.snapshot())
    if (ends) {
      harness.endInput()
      expect((await harness.snapshot(2)).entries).toEqual([])
    }
    results.push(...harness.values)
  }
  return { results: results.sort(), snapshots }
}

/** Results of a run that another plan and parallelism continue from halfway. */
async function runHalves(
  [first, second]: readonly [Plan, Plan],
  steps: readonly Step[],
  [from, to]: readonly [number, number],
): Promise<readonly string[]> {
  const half = steps.length / 2
  const earlier = steps.slice(0, half)
  const reached = earlier.findLast((step) => typeof step === 'number')
  const before = await runSteps(first, earlier, { parallelism: from }, false)
  const later = [...(reached === undefined ? [] : [reached]), ...steps.slice(half)]
  const place = { parallelism: to, restore: before.snapshots }
  const after = await runSteps(second, later, place, true)
  return [...before.results, ...after.results].sort()
}

const SEEDS = campaignSize(1, 3)

describe('sliding windows in slices', () => {
  for (const name of Object.keys(FOLDS) as (keyof typeof FOLDS)[]) {
    for (const lateness of [0, 25]) {
      it(`give the results of windows with their own contents (${name}, lateness ${lateness})`, async () => {
        for (let seed = 1; seed <= SEEDS; seed++) {
          const steps = stepsOf(seededRandom(seed))
          const sliced = planOf(name, lateness)
          const whole = planOf(name, lateness, false)
          const expected = (await runSteps(whole, steps, {}, true)).results
          expect((await runSteps(sliced, steps, {}, true)).results).toEqual(expected)
          expect(await runHalves([sliced, sliced], steps, [1, 2])).toEqual(expected)
          expect(await runHalves([sliced, sliced], steps, [2, 1])).toEqual(expected)
        }
      })

      it(`go on from a savepoint of windows with their own contents (${name}, lateness ${lateness})`, async () => {
        for (let seed = 1; seed <= SEEDS; seed++) {
          const steps = stepsOf(seededRandom(seed))
          const whole = planOf(name, lateness, false)
          const expected = await runHalves([whole, whole], steps, [1, 2])
          expect(await runHalves([whole, planOf(name, lateness)], steps, [1, 2])).toEqual(expected)
        }
      })
    }
  }

  it('keep one entry and one timer for a key', async () => {
    const harness = await open(planOf('numbers'), {}, naming)
    feed(harness, 'a', 3, 14, 25)
    const { entries } = await harness.snapshot()
    expect(entries.map(({ state }) => state).sort()).toEqual([
      'timers:event-timers',
      'window-slices',
    ])
  })

  it('drop a record only when its last window is past', async () => {
    const harness = await open(planOf('numbers'), {}, naming)
    harness.watermark(32)
    feed(harness, 'a', 13, 12)
    harness.endInput()
    expect(harness.values).toEqual(['a 13-43: 13'])
    expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(1)
  })

  it('let the function drop the state of each window', async () => {
    const fired = valueState<number>('fired')
    const function_: ProcessWindowFunction<string, Event, string> = {
      open: (context) => void context.windowState().getState(fired),
      process: (_key, context) => context.windowState().getState(fired).update(1),
      clear: (context) => context.windowState().getState(fired).clear(),
    }
    for (const lateness of [0, 25]) {
      const harness = await open(planOf('numbers', lateness), {}, function_)
      feed(harness, 'a', 3, 40)
      harness.watermark(33)
      expect((await harness.snapshot()).entries.map(({ state }) => state)).toContain(
        lateness > 0 ? 'window/fired' : 'window-slices',
      )
      harness.watermark(200)
      expect((await harness.snapshot(2)).entries).toEqual([])
    }
  })

  it('share no object with the records that come in', async () => {
    const latest: Fold<Event, unknown> = {
      parts: 'any-order',
      add: (value) => value,
      merge: (_a, b) => b,
      result: (sum) => (sum as Event)[1],
    }
    const fold = { fold: latest, serializer: msgpackSerializer<unknown>() }
    const harness = await open({ ...planOf('numbers'), fold }, {}, naming)
    const record: [string, number] = ['a', 5]
    harness.process(record, 5)
    harness.process(record, 6)
    record[1] = 99
    harness.watermark(12)
    expect(harness.values).toEqual(['a -17-13: 5'])
  })

  it('fire each of very many windows again for a late record', async () => {
    const plan = { ...planOf('numbers', 1000), assigner: slidingEventTimeWindows(600, 1) }
    const harness = await open(plan, {}, naming)
    harness.process(['a', 1000], 1000)
    harness.watermark(1700)
    harness.process(['a', 1000], 1000)
    const fired = (sum: number): string[] =>
      Array.from({ length: 600 }, (_, i) => `a ${401 + i}-${1001 + i}: ${sum}`)
    expect(harness.values.toSorted()).toEqual([...fired(1000), ...fired(2000)].toSorted())
  })

  it('are for folds that can be merged, without gaps, in event time', () => {
    const operatorOf = (plan: Plan): unknown =>
      createWindowOperator(
        {
          keySerializer: msgpackSerializer<string>(),
          serializer: msgpackSerializer<Event>(),
          allowedLatenessMs: 0,
          lateDataTag: undefined,
          trigger: undefined,
          evictor: undefined,
          fold: undefined,
          ...plan,
        },
        undefined,
        true,
      )
    const plan = planOf('numbers')
    expect(operatorOf(plan)).toBeInstanceOf(SlicedWindowOperator)
    const unmerged = {
      ...NUMBER,
      merge: (): number => {
        throw new Error('not here')
      },
    }
    const without: Plan[] = [
      { ...plan, fold: foldOf(unmerged, float64Serializer) },
      { ...plan, assigner: slidingEventTimeWindows(30, 20) },
      { ...plan, assigner: slidingEventTimeWindows(30, 30) },
    ]
    for (const each of without) expect(operatorOf(each)).toBeInstanceOf(AlignedWindowOperator)
  })
})
