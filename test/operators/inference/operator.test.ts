import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import type { FailedInference } from '../../../src/operators/inference/function.ts'
import {
  InferOperator,
  type InferOperatorOptions,
} from '../../../src/operators/inference/operator.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const FAILURES = new OutputTag<FailedInference<number>>('failures')

const REFUSED = {
  kind: 'no-route',
  code: 'UNKNOWN_MODEL',
  message: 'no model is named "ranker"',
} as const

async function open(options: Partial<InferOperatorOptions<number, string>> = {}) {
  const operator = new InferOperator<number, string>({
    model: 'ranker@stable',
    inputs: (value) => [{ name: 'x', shape: [1, 1], data: Float32Array.of(value) }],
    result: (value) => `answer ${value}`,
    mode: 'ordered',
    capacity: 10,
    deadlineMs: 1000,
    serializer: msgpackSerializer(),
    ...options,
  })
  const clock = new ManualClock()
  const harness = await OperatorHarness.open<number, string>({ operator, clock })
  return { operator, clock, harness }
}

describe('the operator of infer', () => {
  it('asks its coordinator for the way to the model', async () => {
    const { harness } = await open()
    expect(harness.events).toEqual([{ kind: 'link', model: 'ranker@stable' }])
  })

  it('fails the job when the model does not exist and nothing says what becomes of the record', async () => {
    const { operator, harness } = await open()
    harness.process(1)
    operator.handleEvent(REFUSED)
    await expect(harness.settle()).rejects.toMatchObject({ code: 'UNKNOWN_MODEL' })
  })

  it('emits the result of onFailure for a record that the model refuses', async () => {
    const { operator, harness } = await open({
      onFailure: (value, error) => `${value}: ${error.code}`,
    })
    harness.process(1)
    operator.handleEvent(REFUSED)
    await harness.settle()
    expect(harness.values).toEqual(['1: UNKNOWN_MODEL'])
  })

  it('emits such a record to the side output, with the code and the sentence', async () => {
    const { operator, harness } = await open({ failures: FAILURES })
    harness.process(7, 70)
    operator.handleEvent(REFUSED)
    await harness.settle()
    expect(harness.values).toEqual([])
    const { code, message } = REFUSED
    expect(harness.sideOutput(FAILURES)).toEqual([
      { value: { value: 7, code, message }, timestamp: 70 },
    ])
  })

  it('asks again while no version is loaded, until the deadline of the record', async () => {
    const { operator, clock, harness } = await open({
      onFailure: (value, error) => `${value}: ${error.code}`,
    })
    operator.handleEvent({ ...REFUSED, code: 'MODEL_NOT_LOADED' })
    harness.process(1)
    await harness.settle()
    for (let waited = 0; waited < 999; waited += 37) {
      clock.advance(37)
      await harness.settle()
      if (waited + 37 < 999) expect(harness.values).toEqual([])
    }
    clock.advance(1)
    await harness.settle()
    expect(harness.values).toEqual(['1: DEADLINE_EXCEEDED'])
  })

  it('keeps records without an answer in a checkpoint, and asks for them again', async () => {
    const { harness } = await open()
    for (const value of [1, 2, 3]) harness.process(value)
    const snapshot = await harness.snapshot()
    const operator = new InferOperator<number, string>({
      model: 'ranker',
      inputs: () => [],
      result: () => '',
      mode: 'ordered',
      capacity: 2,
      deadlineMs: 1000,
      serializer: msgpackSerializer(),
      onFailure: (value) => `again ${value}`,
    })
    const restored = await OperatorHarness.open<number, string>({ operator, restore: [snapshot] })
    operator.handleEvent(REFUSED)
    // The third one is asked when the first two are out of the way.
    await restored.settle()
    await restored.settle()
    expect(restored.values).toEqual(['again 1', 'again 2', 'again 3'])
  })

  it('fails the job when the inputs of a record cannot be made', async () => {
    const { harness } = await open({
      inputs: () => {
        throw new Error('no features')
      },
      onFailure: () => 'hidden',
    })
    harness.process(1)
    await expect(harness.settle()).rejects.toThrow('no features')
  })
})
