import { expect, it } from 'vitest'
import { rawKeySerializer } from '../../../../src/dataflow/key-serializer.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import { LearnedWeightsOperator } from '../../../../src/jobs/learning/linear/model-operator.ts'
import { StepFolds } from '../../../../src/jobs/learning/linear/step-folds.ts'
import type { WeightUpdate } from '../../../../src/models/linear/weight-update.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'

const RANGE = 8

/** The owner of all blocks, and the counts of an attempt with so many examples in flight. */
async function open(examples: number) {
  const operator = new LearnedWeightsOperator(RANGE)
  const selectors = [(update: WeightUpdate) => update.key]
  const keys = { selectors: selectors as never, serializer: rawKeySerializer as never }
  const harness = await OperatorHarness.open<WeightUpdate, never>({ operator, keys })
  const inFlight = InFlightLimit.newBuffer()
  const limit = new InFlightLimit(inFlight)
  for (let n = 0; n < examples; n++) limit.enter()
  const letThrough = (): void =>
    operator.handleEvent({
      kind: 'let-through',
      version: 1,
      resumeOffsets: [],
      known: [1],
      inFlight,
    })
  return { harness, limit, reader: new StepFolds(inFlight), letThrough }
}

function step(block: string, ticket: number, value = 1): WeightUpdate {
  const update = { kind: 'step', version: 1, ticket, derivative: -1, rate: 0.5 } as const
  const [indices, values] = [Uint16Array.of(3), Float32Array.of(value)]
  return { ...update, key: new TextEncoder().encode(block), indices, values }
}

it('an example is in flight until its blocks have folded, or refused, their parts', async () => {
  const { harness, limit, reader, letThrough } = await open(1)
  letThrough()
  const ticket = reader.begin(2)
  harness.process(step('0', ticket), 0)
  expect(limit.count).toBe(1)
  // Its square is not finite.
  harness.process(step('4', ticket, 1e30), 0)
  expect(limit.count).toBe(0)
  expect(harness.metrics.snapshot()).toMatchObject({ stepsFolded: 1, numRecordsDropped: 1 })
})

it('parts that come before the counts of the attempt are counted when these come', async () => {
  const { harness, limit, reader, letThrough } = await open(1)
  harness.process(step('0', reader.begin(1)), 0)
  expect(limit.count).toBe(1)
  letThrough()
  expect(limit.count).toBe(0)
})

it('steps without a ticket, rows and openings are in no count', async () => {
  const { harness, limit, letThrough } = await open(1)
  letThrough()
  const key = new TextEncoder().encode('0')
  harness.process({ kind: 'open', key, version: 1 }, 0)
  harness.process({ kind: 'row', key, version: 1, weights: new Float32Array(RANGE) }, 0)
  harness.process(step('0', 0), 0)
  expect(limit.count).toBe(1)
})

it('reports that it is open, as the gates do: observations wait for it', async () => {
  const { harness } = await open(0)
  expect(harness.events).toEqual([{ kind: 'gate-opened' }])
})
