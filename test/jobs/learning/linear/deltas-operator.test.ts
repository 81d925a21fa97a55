import { describe, expect, it } from 'vitest'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import {
  decodeSeen,
  encodeSeen,
  LinearDeltasOperator,
  SEEN_LINEAR_DELTAS,
} from '../../../../src/jobs/learning/linear/deltas-operator.ts'
import { StepFolds } from '../../../../src/jobs/learning/linear/step-folds.ts'
import type { VersionPhase } from '../../../../src/jobs/learning/messages.ts'
import { encodeLinearDelta } from '../../../../src/models/linear/delta.ts'
import type { WeightUpdate } from '../../../../src/models/linear/weight-update.ts'
import type { ModelTopicRecord } from '../../../../src/models/topic/record.ts'
import type { HarnessSnapshot } from '../../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'

/** The operator with blocks of 10 features, let through on version 2. */
async function open(
  restore: readonly HarnessSnapshot[] = [],
  phases: readonly VersionPhase[] = [],
) {
  const operator = new LinearDeltasOperator(10)
  const harness = await OperatorHarness.open<ModelTopicRecord, WeightUpdate>({ operator, restore })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({
    kind: 'let-through',
    version: 2,
    resumeOffsets: [],
    known: [2],
    phases,
    inFlight,
  })
  return { harness, inFlight: new InFlightLimit(inFlight), folds: new StepFolds(inFlight) }
}

function recordOf(value: Uint8Array): ModelTopicRecord {
  return { bytes: value, keyStart: 0, keyLength: -1, valueStart: 0, valueLength: value.length }
}

/** A delta of the attempt of `InFlightLimit.newBuffer()`, or of another one. */
const delta = (offset: number, version = 2, attemptTag = 1, phase = 0): ModelTopicRecord =>
  recordOf(
    encodeLinearDelta({
      attemptTag,
      phase,
      version,
      partition: 5,
      offset,
      derivative: -0.5,
      rate: 0.25,
      ids: Uint32Array.of(3, 7, 42),
      values: Float32Array.of(1, -2, 4),
    }),
  )

const position = { partition: 1, offset: 0 }

describe('the reader of deltas of a linear model', () => {
  it('sends each block its part of the step', async () => {
    const { harness } = await open()
    harness.process(delta(9), 4, { position })
    const ticket = (harness.values[0] as { ticket: number }).ticket
    const step = { kind: 'step', version: 2, ticket, derivative: -0.5, rate: 0.25 } as const
    expect(harness.take()).toEqual([
      {
        ...step,
        key: new TextEncoder().encode('0'),
        indices: Uint16Array.of(3, 7),
        values: Float32Array.of(1, -2),
      },
      {
        ...step,
        key: new TextEncoder().encode('4'),
        indices: Uint16Array.of(2),
        values: Float32Array.of(4),
      },
    ])
  })

  it('drops the deltas of another phase of learning, which have then left the flight', async () => {
    const { harness, inFlight } = await open([], [[2, 258]])
    for (const phase of [0, 1, 257]) {
      inFlight.enter()
      harness.process(delta(9, 2, 1, phase), 4, { position })
    }
    expect(inFlight.count).toBe(0)
    expect(harness.take()).toEqual([])
    harness.process(delta(9, 2, 1, 258), 4, { position })
    expect(harness.take()).toHaveLength(2)
    expect(harness.metrics.snapshot()).toMatchObject({ numRecordsDropped: 3, deltasDuplicate: 0 })
  })

  it('drops duplicates of a version, also those of a checkpoint before', async () => {
    const { harness } = await open()
    harness.process(delta(9), 4, { position })
    const { harness: restored } = await open([await harness.snapshot()])
    for (const offset of [8, 9, 10]) restored.process(delta(offset), 4, { position })
    expect(restored.take()).toHaveLength(2)
    expect(restored.metrics.snapshot()).toMatchObject({ deltasDuplicate: 2 })
  })

  it('folds an observation into each version that learns it', async () => {
    const { harness } = await open()
    for (const version of [1, 2, 2, 1]) harness.process(delta(9, version), 4, { position })
    expect(harness.metrics.snapshot()).toMatchObject({ deltasDuplicate: 2 })
  })

  it('keeps its entries of a checkpoint in fixed bytes, and reads those without a version', () => {
    const seen = { deltaPartition: 1, version: 7, partition: 5, sourceKeyGroup: 0, offset: 9 }
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
    expect(hex(encodeSeen(seen))).toBe('0100000005000000000000000000224007000000')
    expect(decodeSeen(encodeSeen(seen))).toEqual(seen)
    const before = Buffer.from('01000000050000000000000000002240', 'hex')
    expect(decodeSeen(before)).toEqual({ ...seen, version: 0 })
    expect(hex(encodeSeen(decodeSeen(before)))).toBe(hex(before))
  })

  it('takes an entry without a version for one of the version of the next delta', async () => {
    const before = Uint8Array.from(Buffer.from('01000000050000000000000000002240', 'hex'))
    const { harness } = await open()
    harness.process(delta(1, 3), 4, { position })
    const snapshot = await harness.snapshot()
    const operatorState = snapshot.operatorState.map((each) =>
      each.name === SEEN_LINEAR_DELTAS ? { ...each, entries: [before] } : each,
    )
    const { harness: restored } = await open([{ ...snapshot, operatorState }])
    expect((await restored.snapshot()).operatorState).toEqual(operatorState)
    for (const offset of [9, 10]) restored.process(delta(offset), 4, { position })
    restored.process(delta(9, 3), 4, { position })
    expect(restored.metrics.snapshot()).toMatchObject({ deltasDuplicate: 1 })
  })

  it('leaves an example in flight until the last of its blocks has folded its step', async () => {
    const { harness, inFlight, folds } = await open()
    inFlight.enter()
    harness.process(delta(9), 4, { position })
    const [first, second] = harness.take() as { ticket: number }[]
    expect(inFlight.count).toBe(1)
    folds.folded(second!.ticket)
    expect(inFlight.count).toBe(1)
    folds.folded(first!.ticket)
    expect(inFlight.count).toBe(0)
  })

  it('counts a duplicate of its attempt, and one that it cannot read, out of the flight at once', async () => {
    const { harness, inFlight } = await open()
    for (let i = 0; i < 4; i++) inFlight.enter()
    harness.process(delta(9), 4, { position })
    harness.process(delta(9), 4, { position })
    const spoilt = delta(10)
    spoilt.bytes.fill(0xff, 28, 32)
    harness.process(spoilt, 4, { position })
    expect(inFlight.count).toBe(2)
    expect(harness.metrics.snapshot()).toMatchObject({ numRecordsDropped: 1, deltasDuplicate: 1 })
  })

  it('counts deltas of other attempts only from their reading to their fold', async () => {
    const { harness, inFlight, folds } = await open()
    inFlight.enter()
    for (const tag of [0, 7]) harness.process(delta(9 + tag, 2, tag), 4, { position })
    const steps = harness.take() as { ticket: number }[]
    expect(inFlight.count).toBe(3)
    for (const { ticket } of steps) folds.folded(ticket)
    expect(inFlight.count).toBe(1)
    // Duplicates of them, and what is no delta, were never counted.
    for (const tag of [0, 7]) harness.process(delta(9 + tag, 2, tag), 4, { position })
    harness.process(recordOf(Uint8Array.of(1, 2, 3)), 4, { position })
    expect(inFlight.count).toBe(1)
  })
})
