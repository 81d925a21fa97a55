import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { OperatorContext } from '../../../src/index.ts'
import {
  DeltaDeduplicator,
  type GateOrder,
  InFlightLimit,
  LearningGate,
  type ModelTopicRecord,
  ObservationsGate,
  valueBytesOf,
} from '../../../src/learning.ts'
import { OperatorHarness } from '../../../src/testing/index.ts'

/** A delta of a model that learns the mean value of each item. */
interface MeanDelta {
  readonly version: number
  readonly partition: number
  readonly offset: number
  readonly item: string
  readonly value: number
}

/** Reads `item,value` lines and sends a delta for each. */
class MeanObservations extends ObservationsGate {
  processElement(_input: number, record: unknown, timestamp: number): void {
    const bytes = valueBytesOf(record as ModelTopicRecord)
    const [item = '', value = ''] = new TextDecoder().decode(bytes ?? undefined).split(',')
    const { partition, offset } = this.context.position()
    this.inFlight?.enter()
    const delta: MeanDelta = {
      version: this.version,
      partition,
      offset,
      item,
      value: Number(value),
    }
    this.context.output.collect(delta, timestamp)
  }
}

/** Folds the deltas into means, each once. */
class MeanDeltas extends LearningGate {
  readonly means = new Map<string, { count: number; mean: number }>()
  private readonly deduplicator = new DeltaDeduplicator()

  override open(context: OperatorContext): void {
    super.open(context)
    context.metrics.gauge('items', () => this.means.size)
  }

  processElement(_input: number, value: unknown): void {
    this.inFlight?.leave()
    const { version, partition, offset, item, value: observed } = value as MeanDelta
    if (!this.deduplicator.isNew(0, version, partition, 0, offset)) return
    const { count, mean } = this.means.get(item) ?? { count: 0, mean: 0 }
    this.means.set(item, { count: count + 1, mean: mean + (observed - mean) / (count + 1) })
  }
}

it('a user can write a learner with what the package exports', async () => {
  const inFlight = InFlightLimit.newBuffer()
  const order: GateOrder = {
    kind: 'let-through',
    version: 1,
    resumeOffsets: [],
    known: [1],
    inFlight,
  }
  const [observations, deltas] = [new MeanObservations(8), new MeanDeltas()]
  const first = await OperatorHarness.open<ModelTopicRecord, MeanDelta>({ operator: observations })
  const second = await OperatorHarness.open<MeanDelta, never>({ operator: deltas })
  expect(observations.ready()).toBe(false)
  for (const operator of [observations, deltas]) operator.handleEvent(order)
  expect(observations.ready()).toBe(true)
  for (const [offset, line] of ['a,1', 'a,4', 'b,2', 'a,1'].entries()) {
    const bytes = new TextEncoder().encode(line)
    const span = { keyStart: 0, keyLength: -1, valueStart: 0, valueLength: bytes.length }
    first.process({ bytes, ...span }, 0, { position: { partition: 0, offset } })
  }
  expect(new InFlightLimit(inFlight).count).toBe(4)
  const sent = first.take()
  // After a failure the first two come again.
  for (const delta of [...sent, ...sent.slice(0, 2)]) second.process(delta)
  expect(deltas.means).toEqual(
    new Map([
      ['a', { count: 3, mean: 2 }],
      ['b', { count: 1, mean: 2 }],
    ]),
  )
  expect(second.metrics.snapshot()).toMatchObject({ items: 2 })
})

it('this file imports nothing else', () => {
  const text = readFileSync(import.meta.filename, 'utf8')
  const sources = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path]) => path)
  const entries = ['index.ts', 'learning.ts', 'testing/index.ts']
  expect(sources).toEqual(entries.map((entry) => `../../../src/${entry}`))
})
