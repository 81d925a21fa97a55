import { describe, expect, it } from 'vitest'
import { BIAS_FEATURE } from '../../../../src/core/feature.ts'
import { rawKeySerializer } from '../../../../src/core/formats/plain-key-serializer.ts'
import { modelVersion } from '../../../../src/core/model-version.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import { LearnedWeightsOperator } from '../../../../src/jobs/learning/linear/model-operator.ts'
import { StepFolds } from '../../../../src/jobs/learning/linear/step-folds.ts'
import type { FtrlOptions } from '../../../../src/models/linear/ftrl.ts'
import type { WeightUpdate } from '../../../../src/models/linear/weight-update.ts'
import { vectorState } from '../../../../src/state/port/descriptors.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'

const RANGE = 8

/** The owner of all blocks, and the counts of an attempt with so many examples in flight. */
async function open(examples: number, neverStop = false, ftrl?: FtrlOptions) {
  const operator = new LearnedWeightsOperator({ range: RANGE, neverStop, ftrl })
  const selectors = [(update: WeightUpdate) => update.key]
  const keys = { selectors: selectors as never, serializer: rawKeySerializer as never }
  const harness = await OperatorHarness.open<WeightUpdate, never>({ operator, keys })
  const inFlight = InFlightLimit.newBuffer()
  const limit = new InFlightLimit(inFlight)
  for (let n = 0; n < examples; n++) limit.enter()
  const begin = (phase = 0): void => {
    const order = { kind: 'begin', metadata: { version: 1 }, constants: null, inFlight }
    operator.handleEvent(phase === 0 ? order : { ...order, phase })
  }
  return { operator, harness, limit, reader: new StepFolds(inFlight), begin }
}

function step(block: string, ticket: number, value = 1): WeightUpdate {
  const update = { kind: 'step', version: 1, ticket, derivative: -1, rate: 0.5 } as const
  const [indices, values] = [Uint16Array.of(3), Float32Array.of(value)]
  return { ...update, key: new TextEncoder().encode(block), indices, values }
}

it('an example is in flight until its blocks have folded, or refused, their parts', async () => {
  const { harness, limit, reader, begin } = await open(1)
  begin()
  const ticket = reader.begin(2)
  harness.process(step('0', ticket), 0)
  expect(limit.count).toBe(1)
  // Its square is not finite.
  harness.process(step('4', ticket, 1e30), 0)
  expect(limit.count).toBe(0)
  expect(harness.metrics.snapshot()).toMatchObject({ stepsFolded: 1, numRecordsDropped: 1 })
})

it('parts that come before the counts of the attempt are counted when these come', async () => {
  const { harness, limit, reader, begin } = await open(1)
  harness.process(step('0', reader.begin(1)), 0)
  expect(limit.count).toBe(1)
  begin()
  expect(limit.count).toBe(0)
})

it('steps without a ticket, rows and openings are in no count', async () => {
  const { harness, limit, begin } = await open(1)
  begin()
  const key = new TextEncoder().encode('0')
  harness.process({ kind: 'open', key, version: 1 }, 0)
  harness.process({ kind: 'row', key, version: 1, weights: new Float32Array(RANGE) }, 0)
  harness.process(step('0', 0), 0)
  expect(limit.count).toBe(1)
})

it('reports that it is open, and answers the orders of the coordinator', async () => {
  const { operator, harness, begin } = await open(0)
  operator.handleEvent({ kind: 'measure', metadata: { version: 1 } })
  begin()
  expect(harness.events).toEqual([
    { kind: 'opened', known: [], phases: [] },
    { kind: 'measured', version: 1, kept: false, constants: null },
    { kind: 'begun', version: 1 },
  ])
})

const PUBLISHED = Float32Array.from({ length: RANGE }, (_, i) => i / 8)

/** A row of a state of version 1, [RANGE] or of the memory beside it. */
function row(
  { keyedState }: Awaited<ReturnType<typeof open>>['harness'],
  state: string,
  block: string,
): Float32Array | undefined {
  const dimension = state.endsWith('memory') ? 2 * RANGE : RANGE
  const rows = keyedState!.vector(vectorState(state, { dimension }))
  return rows.get(modelVersion(1), key(block))?.vector
}

const key = (block: string): Uint8Array => new TextEncoder().encode(block)

/** An owner that has folded steps into a published block with a memory, one without, and one that was not published. */
async function learned(neverStop = false) {
  const opened = await open(0, neverStop)
  const { harness, begin } = opened
  const memory = Float32Array.from({ length: 2 * RANGE }, () => 2)
  harness.process({ kind: 'open', key: key('0'), version: 1 }, 0)
  harness.process({ kind: 'row', key: key('0'), version: 1, weights: PUBLISHED, memory }, 0)
  harness.process({ kind: 'row', key: key('1'), version: 1, weights: PUBLISHED }, 0)
  begin()
  for (const block of ['0', '1', '2', '0', '1', '2']) harness.process(step(block, 0), 0)
  return opened
}

it('a stop puts each block back to what was published, with what learning keeps beside it', async () => {
  const { operator, harness, begin } = await learned()
  expect(row(harness, 'weights', '0')).not.toEqual(PUBLISHED)
  begin(1)
  await operator.prepareSnapshot(1)
  expect(harness.events.at(-1)).toEqual({ kind: 'begun', version: 1 })
  expect(row(harness, 'weights', '0')).toEqual(PUBLISHED)
  expect(row(harness, 'weights', '1')).toEqual(PUBLISHED)
  expect(row(harness, 'weights', '2')).toEqual(new Float32Array(RANGE))
  expect(row(harness, 'weight-memory', '0')).toEqual(new Float32Array(2 * RANGE).fill(2))
  expect(row(harness, 'weight-memory', '1')).toBeUndefined()
  // Steps that were on their way are of what is forgotten.
  harness.process(step('0', 0), 0)
  expect(row(harness, 'weights', '0')).toEqual(PUBLISHED)
  expect(harness.metrics.snapshot()).toMatchObject({ stepsFolded: 6, numRecordsDropped: 1 })

  begin(2)
  harness.process(step('0', 0), 0)
  expect(row(harness, 'weights', '0')).not.toEqual(PUBLISHED)
  begin(3)
  await operator.prepareSnapshot(1)
  expect(row(harness, 'weights', '0')).toEqual(PUBLISHED)
})

it('a block that is published again while it is learned is put back to what was published last', async () => {
  const { operator, harness, begin } = await learned()
  const again = PUBLISHED.map((weight) => weight + 1)
  harness.process({ kind: 'row', key: key('0'), version: 1, weights: again }, 0)
  const [indices, weights] = [Uint16Array.of(2), Float32Array.of(9)]
  harness.process({ kind: 'some', key: key('1'), version: 1, indices, weights }, 0)
  for (const block of ['0', '1']) harness.process(step(block, 0), 0)
  begin(1)
  await operator.prepareSnapshot(1)
  expect(row(harness, 'weights', '0')).toEqual(again)
  expect(row(harness, 'weights', '1')).toEqual(PUBLISHED.with(2, 9))
})

it('a job that never stops keeps no copies', async () => {
  const { harness } = await learned(true)
  expect(row(harness, 'frozen-weights', '0')).toBeUndefined()
})

describe('a job that learns by FTRL-proximal', () => {
  /** A weight of Algorithm 1 after gradients of -1 from a weight of 0, alpha 1 and beta 1. */
  const plainWeight = (gradients: number, l1: number): number => {
    let [z, n, w] = [0, 0, 0]
    for (let k = 0; k < gradients; k++) {
      z += -1 - (Math.sqrt(n + 1) - Math.sqrt(n)) * w
      n += 1
      w = Math.abs(z) <= l1 ? 0 : -(z - Math.sign(z) * l1) / (1 + Math.sqrt(n))
    }
    return w
  }

  it('keeps weights at 0 until their gradients exceed l1, and the intercept never', async () => {
    const { harness, begin } = await open(0, false, { alpha: 1, beta: 1, l1: 2.5 })
    begin()
    const constant = String(Math.floor(BIAS_FEATURE / RANGE))
    const ofIntercept = { ...step(constant, 0), indices: Uint16Array.of(BIAS_FEATURE % RANGE) }
    harness.process(ofIntercept as WeightUpdate, 0)
    expect(row(harness, 'weights', constant)![BIAS_FEATURE % RANGE]).toBeCloseTo(
      plainWeight(1, 0),
      6,
    )
    for (const [n, expected] of [0, 0, 0.5 / (1 + Math.sqrt(3))].entries()) {
      harness.process(step('0', 0), 0)
      expect(row(harness, 'weights', '0')![3]).toBeCloseTo(expected, 6)
      expect(expected).toBeCloseTo(plainWeight(n + 1, 2.5), 9)
    }
  })

  it('goes on from a weight that is published alone, also after learning was stopped', async () => {
    const { operator, harness, begin } = await open(0, false, { alpha: 1, beta: 1 })
    begin()
    const weightOf = (): number => row(harness, 'weights', '0')![3]!
    const publish = (weight: number): void => {
      const [indices, weights] = [Uint16Array.of(3), Float32Array.of(weight)]
      harness.process({ kind: 'some', key: key('0'), version: 1, indices, weights }, 0)
    }
    harness.process({ kind: 'open', key: key('0'), version: 1 }, 0)
    for (let n = 0; n < 100; n++) harness.process(step('0', 0), 0)
    const before = weightOf()
    publish(-7)
    harness.process(step('0', 0, 0.01), 0)
    expect(before).toBeGreaterThan(1)
    expect(weightOf()).toBeCloseTo(-7, 2)
    begin(1)
    await operator.prepareSnapshot(1)
    expect(weightOf()).toBe(-7)
    begin(2)
    harness.process(step('0', 0, 0.01), 0)
    expect(weightOf()).toBeCloseTo(-7, 1)
  })

  it('puts a weight that was published alone back to it, where a write-back had sums of the weight before', async () => {
    const { operator, harness, begin } = await open(0, false, { alpha: 1, beta: 1 })
    begin()
    const memory = new Float32Array(2 * RANGE)
    // n is 4 and z is -6: a weight of 2.
    memory[3] = -4
    memory[RANGE + 3] = -6
    const weights = new Float32Array(RANGE).fill(2, 3, 4)
    harness.process({ kind: 'open', key: key('0'), version: 1 }, 0)
    harness.process({ kind: 'row', key: key('0'), version: 1, weights, memory }, 0)
    harness.process(step('0', 0), 0)
    expect(row(harness, 'weights', '0')![3]).toBeGreaterThan(2)
    const alone = { indices: Uint16Array.of(3), weights: Float32Array.of(9) }
    harness.process({ kind: 'some', key: key('0'), version: 1, ...alone }, 0)
    begin(1)
    await operator.prepareSnapshot(1)
    begin(2)
    harness.process(step('0', 0, 0.01), 0)
    expect(row(harness, 'weights', '0')![3]).toBeCloseTo(9, 1)
  })
})
