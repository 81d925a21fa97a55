import { expect, it } from 'vitest'
import { systemClock } from '../../../../src/core/clock.ts'
import { BIAS_FEATURE } from '../../../../src/core/feature.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import {
  LinearObservationsOperator,
  type LinearObservationsOptions,
} from '../../../../src/jobs/learning/linear/observations-operator.ts'
import { REFUSED } from '../../../../src/jobs/learning/refused.ts'
import type { LinearDelta } from '../../../../src/models/linear/delta.ts'
import type { TrainedWith } from '../../../../src/models/linear/trained-with.ts'
import type { ModelTopicRecord } from '../../../../src/models/topic/record.ts'
import type { OperatorContext } from '../../../../src/operators/port/operator.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'
import { BLOCK, ModelWorld } from '../../../contracts/model-reader-world.ts'
import { untilPasses } from '../../../run/until.ts'

const recordOf = (line: string | null): ModelTopicRecord => {
  const bytes = new TextEncoder().encode(line ?? '')
  const valueLength = line === null ? -1 : bytes.length
  return { bytes, keyStart: 0, keyLength: -1, valueStart: 0, valueLength }
}

/** Reads the weights of a model that has none, so that each example makes a step. */
class OperatorOfEmptyModel extends LinearObservationsOperator {
  override open(context: OperatorContext): void {
    super.open({ ...context, rowTables: new ModelWorld().catalog })
  }
}

/** Processes records at the offsets from 0 on. */
async function learned(
  lines: readonly (string | null)[],
  trainedWith?: TrainedWith,
  given: Partial<LinearObservationsOptions> = {},
) {
  const operator = new OperatorOfEmptyModel({
    range: BLOCK,
    rule: { loss: 'hinge', learningRate: 0.5 },
    modelUid: 'model',
    mostInFlight: 100,
    ...given,
  })
  const harness = await OperatorHarness.open<ModelTopicRecord, LinearDelta>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  const order = { kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight }
  operator.handleEvent({ ...order, ...(trainedWith === undefined ? {} : { trainedWith }) })
  for (const [offset, line] of lines.entries()) {
    harness.process(recordOf(line), 5000, { position: { partition: 0, offset } })
  }
  return harness
}

/** The reports of the operator that predictions are worse. */
const worseOf = (events: readonly unknown[]): unknown[] =>
  events.filter((event) => (event as { kind: string }).kind === 'worse')

/** Reads the weights of a world, which a test changes as learning does. */
class OperatorOfWorld extends LinearObservationsOperator {
  readonly world = new ModelWorld()

  override open(context: OperatorContext): void {
    super.open({ ...context, rowTables: this.world.catalog })
  }
}

/** The operator, on version 1 whose feature 3 decides, in a phase of learning. */
async function observing(given: Partial<LinearObservationsOptions> = {}) {
  const rule = { loss: 'logistic', learningRate: 0.5 } as const
  const operator = new OperatorOfWorld({
    ...{ range: BLOCK, rule, modelUid: 'model', mostInFlight: 10_000 },
    ...given,
  })
  const harness = await OperatorHarness.open<ModelTopicRecord, LinearDelta>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  let offset = 0
  return {
    operator,
    harness,
    flight: new InFlightLimit(inFlight),
    letThrough: (phase: number) => {
      const phases = phase === 0 ? {} : { phases: [[1, phase]] }
      const order = { kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight }
      operator.handleEvent({ ...order, ...phases })
    },
    /** Observes positive and negative examples in turn. */
    observe: (count: number) => {
      for (let n = 0; n < count; n++) {
        const line = n % 2 === 0 ? '1 3:1' : '-1 3:-1'
        harness.process(recordOf(line), 5000, { position: { partition: 0, offset: offset++ } })
      }
    },
    frozen: () => harness.metrics.snapshot()['prequentialFrozenLoss'],
  }
}

const WEIGHTS = [0, 0, 0, 2, 0, 0, 0, 0]
const RUINED = [0, 0, 0, -400, 0, 0, 0, 0]

it('reports that learning has made predictions worse than those of the weights as they were published', async () => {
  const { operator, harness, letThrough, observe, frozen } = await observing()
  operator.world.put('0', WEIGHTS)
  letThrough(0)
  observe(2000)
  expect(worseOf(harness.events)).toEqual([])
  operator.world.freeze('0', WEIGHTS)
  operator.world.put('0', RUINED)
  observe(200)
  // The loss of a margin of 2.
  expect(frozen()).toBeCloseTo(Math.log1p(Math.exp(-2)), 5)
  expect(worseOf(harness.events)).toEqual([
    {
      kind: 'worse',
      version: 1,
      phase: 0,
      loss: expect.any(Number),
      frozenLoss: expect.closeTo(frozen() as number, 9),
    },
  ])
})

it('reports nothing where learning is never stopped', async () => {
  const { operator, harness, letThrough, observe, frozen } = await observing({ neverStop: true })
  operator.world.freeze('0', WEIGHTS)
  operator.world.put('0', RUINED)
  letThrough(0)
  observe(2000)
  expect(worseOf(harness.events)).toEqual([])
  expect(frozen()).toBeNaN()
})

it('predicts and measures examples while learning is stopped, and learns them when it goes on', async () => {
  const { operator, harness, flight, letThrough, observe } = await observing()
  operator.world.put('0', WEIGHTS)
  letThrough(1)
  observe(100)
  expect(harness.values).toEqual([])
  expect(flight.count).toBe(0)
  expect(harness.metrics.snapshot()).toMatchObject({
    ...{ learningStopped: 1, observationsLeftOut: 100, observationsLearned: 0 },
    prequentialLoss: expect.closeTo(Math.log1p(Math.exp(-2)), 5),
  })
  letThrough(2)
  observe(10)
  expect(harness.values.map(({ phase }) => phase)).toEqual(Array(10).fill(2))
  expect(harness.metrics.snapshot()).toMatchObject({ learningStopped: 0, observationsLearned: 10 })
})

it('learns an example whose ids are in any order or come again, as one with the sums', async () => {
  const harness = await learned(['1 9:1 3:0.5 9:2', '1 3:0.5 9:3\n'])
  const [first, second] = harness.values
  expect(first!.ids).toEqual(Uint32Array.of(3, 9, BIAS_FEATURE))
  expect(first!.values).toEqual(Float32Array.of(0.5, 3, 1))
  expect({ ...second, offset: 0 }).toEqual(first)
  expect(harness.metrics.snapshot()).toMatchObject({
    observationsLearned: 2,
    observationsRefused: 0,
  })
})

it('refuses an example with an id that the model has no room for', async () => {
  const reasons = async (maxFeatures?: number): Promise<unknown[]> => {
    const lines = ['1 99:1', '1 5:1 100:1', '-1 0:1', `1 ${2 ** 27}:1`, `1 ${2 ** 27 - 1}:1`, '1']
    const given = maxFeatures === undefined ? {} : { maxFeatures }
    const harness = await learned(lines, undefined, given)
    return harness.sideOutput(REFUSED).map(({ value }) => [value.offset, value.reason])
  }
  expect(await reasons(100)).toEqual([1, 3, 4].map((offset) => [offset, 'too-many-features']))
  expect(await reasons()).toEqual([[3, 'too-many-features']])
})

it('refuses what is no example: counted, with its bytes and its place, and reported', async () => {
  const bad = ['1,2,5', '1 2:1\n-1 3:1\n', '', null]
  const harness = await learned([...bad, '1 2:1'])
  expect(harness.values.map(({ offset }) => offset)).toEqual([bad.length])
  const refused = harness.sideOutput(REFUSED).map(({ value }) => {
    return { ...value, value: new TextDecoder().decode(value.value) }
  })
  expect(refused).toEqual(
    bad.map((line, offset) => ({ value: line ?? '', reason: 'unparsable', partition: 0, offset })),
  )
  expect(harness.metrics.snapshot()).toMatchObject({ observationsRefused: 4 })
  const reports = harness.events.filter((event) => (event as { kind: string }).kind === 'refused')
  expect(reports.map((report) => (report as { count: number }).count)).toEqual([1, 2, 4])
})

it('learns the labels that the version was trained on, and refuses others', async () => {
  const lines = ['2 3:1', '1 3:1', '-1 3:1', '0 3:1']
  const harness = await learned(lines, { labels: { positive: 2, negative: 1 } })
  // The derivative of the hinge loss of a decision of 0 is minus the side.
  expect(harness.values.map(({ offset, derivative }) => [offset, derivative])).toEqual([
    [0, -1],
    [1, 1],
  ])
  const refused = harness.sideOutput(REFUSED).map(({ value }) => [value.offset, value.reason])
  expect(refused).toEqual([
    [2, 'unknown-label'],
    [3, 'unknown-label'],
  ])
})

it('takes the labels of a version that does not say its own as it is told', async () => {
  const sides = async (positiveLabel?: number): Promise<readonly number[]> => {
    const given = positiveLabel === undefined ? {} : { positiveLabel }
    const harness = await learned(['2 3:1', '1 3:1', '0 3:1'], undefined, given)
    return harness.values.map(({ derivative }) => -derivative)
  }
  expect(await sides()).toEqual([1, 1, -1])
  expect(await sides(2)).toEqual([1, -1, -1])
})

it('learns an example with a gradient as many times as long as its importance', async () => {
  const lines = ['1 |a x', "1 3 'tag|a x", '-1 0.5 |a x', '1 |a x']
  const harness = await learned(lines, { hashing: { bits: 8, crosses: '' } })
  expect(harness.values.map(({ derivative }) => derivative)).toEqual([-1, -3, 0.5, -1])
})

it('learns the loss that the version was trained with, if none is given', async () => {
  const derivative = async (
    trainedWith: TrainedWith | undefined,
    rule: LinearObservationsOptions['rule'],
  ): Promise<number> => (await learned(['1 3:1'], trainedWith, { rule })).values[0]!.derivative
  // Of a decision of 0 the logistic loss has the derivative -1/2, the hinge loss -1.
  expect(await derivative({ loss: 'logistic' }, {})).toBe(-0.5)
  expect(await derivative({ loss: 'hinge' }, {})).toBe(-1)
  expect(await derivative(undefined, {})).toBe(-1)
  expect(await derivative({ loss: 'logistic' }, { loss: 'hinge' })).toBe(-1)
})

/** Runs on its own what it suspends its chain for; `resumed`: the offsets that it goes on at. */
class SuspendedOperator extends LinearObservationsOperator {
  readonly world = new ModelWorld()
  readonly resumed: number[] = []
  suspended: Promise<void> | undefined

  override open(context: OperatorContext): void {
    super.open({
      ...context,
      clock: systemClock,
      rowTables: this.world.catalog,
      suspend: (work) => {
        this.suspended = work()
      },
      resumeAt: ({ offset }) => {
        this.resumed.push(offset)
        Object.assign(context.position(), { offset })
      },
    })
  }
}

/** The operator with a limit of examples in flight, which have the feature 3, by offset. */
async function suspending(mostInFlight: number) {
  const rule = { loss: 'hinge', learningRate: 0.5 } as const
  const operator = new SuspendedOperator({ range: BLOCK, rule, modelUid: 'model', mostInFlight })
  const harness = await OperatorHarness.open<ModelTopicRecord, LinearDelta>({ operator })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({ kind: 'let-through', version: 1, resumeOffsets: [], known: [1], inFlight })
  return {
    operator,
    harness,
    flight: new InFlightLimit(inFlight),
    learned: () => harness.values.map(({ offset }) => offset),
    learn: (offset: number) =>
      harness.process(recordOf('1 3:1'), 5000, { position: { partition: 0, offset } }),
  }
}

it('predicts no more examples than may be in flight, and the others in their order when some have left', async () => {
  const { operator, harness, flight, learned, learn } = await suspending(2)
  // The source delivers what it has read, whatever the gate says.
  for (let offset = 0; offset < 5; offset++) learn(offset)
  expect(learned()).toEqual([0, 1])
  flight.leave()
  await untilPasses(() => expect(learned()).toEqual([0, 1, 2]))
  expect(flight.count).toBe(2)
  // The next one is predicted from the weights of then: they have a margin of 1.
  operator.world.put('0', [0, 0, 0, 1, 0, 0, 0, 0])
  flight.leave()
  await operator.suspended
  expect(learned()).toEqual([0, 1, 2])
  expect(flight.count).toBe(1)
  expect(operator.resumed).toEqual([2, 3, 4])
  expect(harness.values.map(({ attemptTag }) => attemptTag)).toEqual([1, 1, 1])
  expect(harness.metrics.snapshot()).toMatchObject({ observationsLearned: 5, examplesAsked: 0 })
})

it('waits for no room when it is closed', async () => {
  const { operator, learned, learn } = await suspending(1)
  for (let offset = 0; offset < 3; offset++) learn(offset)
  await operator.close()
  await operator.suspended
  expect(learned()).toEqual([0])
})
