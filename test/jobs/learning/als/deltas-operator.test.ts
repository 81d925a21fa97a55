import { describe, expect, it } from 'vitest'
import { DeltasOperator } from '../../../../src/jobs/learning/als/deltas-operator.ts'
import type { DeltaRecord } from '../../../../src/jobs/learning/als/records.ts'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import type { GateOrder } from '../../../../src/jobs/learning/messages.ts'
import {
  ModelDeltaBuffer,
  NO_SOURCE_KEY_GROUP,
} from '../../../../src/models/als/online/model-delta.ts'
import type { ModelTopicRecord } from '../../../../src/models/topic/record.ts'
import type { HarnessSnapshot } from '../../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../../src/testing/operator-harness.ts'

const encoder = new TextEncoder()

/** The operator, let through on version 2 with the deltas of versions 1 and 2. */
async function open(
  restore: readonly HarnessSnapshot[] = [],
  phases: readonly (readonly [number, number])[] = [],
  before: Partial<GateOrder> = {},
  sendsSums = false,
) {
  const operator = new DeltasOperator('step', 1, sendsSums)
  const harness = await OperatorHarness.open<ModelTopicRecord, DeltaRecord>({ operator, restore })
  const inFlight = InFlightLimit.newBuffer()
  operator.handleEvent({
    kind: 'let-through',
    version: 2,
    resumeOffsets: [],
    known: [1, 2],
    phases,
    inFlight,
    ...before,
  })
  return { harness, inFlight: new InFlightLimit(inFlight) }
}

interface Delta {
  readonly key?: string
  readonly sourceKeyGroup?: number
  readonly offset: number
  /** @default the one of the attempt that reads */
  readonly attemptTag?: number
  /** @default 0 */
  readonly phase?: number
  /** @default one, of 0.5 */
  readonly values?: readonly number[]
}

function record({
  key = '7-I@2',
  sourceKeyGroup = 3,
  offset,
  attemptTag = 1,
  phase = 0,
  values = [0.5],
}: Delta): ModelTopicRecord {
  const buffer = new ModelDeltaBuffer('step', values.length)
  buffer.setOrigin(sourceKeyGroup, 5, offset, attemptTag)
  buffer.phase = phase
  buffer.values.set(values)
  const keyBytes = encoder.encode(key)
  return {
    bytes: Uint8Array.of(...keyBytes, ...buffer.bytes),
    keyStart: 0,
    keyLength: keyBytes.length,
    valueStart: keyBytes.length,
    valueLength: buffer.bytes.length,
  }
}

const position = { partition: 1, offset: 0 }

describe('the reader of deltas', () => {
  it('sends a delta to the owner of its item, with the rating that it comes from', async () => {
    const { harness } = await open()
    harness.process(record({ offset: 9 }), 4, { position })
    const [delta] = harness.take()
    const { bytes, start, length } = delta!.key
    expect(new TextDecoder().decode(bytes.subarray(start, start + length))).toBe('7-I')
    expect(delta).toMatchObject({ kind: 'delta', version: 2, partition: 5, offset: 9 })
    expect([...delta!.values]).toEqual([0.5])
  })

  it('drops deltas of what was learned before learning was stopped, and they leave the flight', async () => {
    const { harness, inFlight } = await open([], [[2, 2]])
    for (let i = 0; i < 3; i++) inFlight.enter()
    // Those of version 1 are of its own phase.
    const taken = [
      { offset: 7, phase: 0 },
      { offset: 8, phase: 2 },
      { offset: 9, phase: 0 },
      { key: '7-I@1', offset: 9 },
    ].flatMap((delta) => {
      harness.process(record(delta), 4, { position })
      return harness.take().map(({ version, offset }) => [version, offset])
    })
    expect(taken).toEqual([
      [2, 8],
      [1, 9],
    ])
    expect(harness.metrics.snapshot()).toMatchObject({ deltasDuplicate: 0, deltasDropped: 2 })
    expect(inFlight.count).toBe(1)
  })

  it('drops duplicates, also those of a checkpoint before, and they leave the flight', async () => {
    const { harness } = await open()
    harness.process(record({ offset: 9 }), 4, { position })
    const { harness: restored, inFlight } = await open([await harness.snapshot()])
    for (let i = 0; i < 3; i++) inFlight.enter()
    for (const offset of [8, 9, 10]) restored.process(record({ offset }), 4, { position })
    expect(restored.take().map(({ offset }) => offset)).toEqual([10])
    expect(restored.metrics.snapshot()).toMatchObject({ deltasDuplicate: 2, deltasDropped: 0 })
    expect(inFlight.count).toBe(1)
  })

  it('counts a delta of another attempt until it is folded, and lets no rating of this one leave for it', async () => {
    const { harness, inFlight } = await open()
    inFlight.enter()
    for (const attemptTag of [0, 2]) {
      const before = inFlight.count
      const offset = 10 + attemptTag
      harness.process(record({ offset, attemptTag }), 4, { position })
      expect(inFlight.count).toBe(before + 1)
      // Once more, and of a version that no learner knows: nobody folds them.
      harness.process(record({ offset, attemptTag }), 4, { position })
      harness.process(record({ key: '7-I@3', offset, attemptTag }), 4, { position })
      expect(inFlight.count).toBe(before + 1)
    }
    expect(harness.take()).toHaveLength(2)
    harness.process(record({ key: '7-I@3', offset: 20 }), 4, { position })
    expect(inFlight.count).toBe(2)
  })

  it('drops deltas of unknown versions without recording them as seen', async () => {
    const { harness } = await open()
    harness.process(record({ key: '7-I@3', offset: 9 }), 4, { position })
    expect(harness.take()).toEqual([])
    expect(harness.metrics.snapshot()).toMatchObject({ deltasDuplicate: 0, deltasDropped: 1 })
    expect((await harness.snapshot()).operatorState).toEqual(
      (await (await open()).harness.snapshot()).operatorState,
    )
  })

  it('takes deltas of any length: versions may have rows of different lengths', async () => {
    const { harness } = await open()
    const taken = [[1], [2, 3, 4], [5]].map((values, n) => {
      const delta = record({ key: `7-I@${1 + (n % 2)}`, offset: n, values })
      harness.process(delta, 4, { position: { partition: 1, offset: n } })
      return harness.take().map(({ version, values: read }) => [version, ...read])
    })
    expect(taken).toEqual([[[1, 1]], [[2, 2, 3, 4]], [[1, 5]]])
  })

  describe('of sums', () => {
    /** The offsets of the deltas topic whose deltas are taken: each is of a rating of partition 5 at the same place below. */
    function takenAt(
      harness: Awaited<ReturnType<typeof open>>['harness'],
      deltas: readonly (readonly [at: number, rating: number])[],
      sourceKeyGroup = NO_SOURCE_KEY_GROUP,
    ): number[] {
      return deltas.flatMap(([at, offset]) => {
        const position = { partition: 1, offset: at }
        harness.process(record({ sourceKeyGroup, offset }), 4, { position })
        return harness.take().map(() => at)
      })
    }

    it('lets all through: transactions keep duplicates out', async () => {
      const { harness } = await open()
      expect(
        takenAt(harness, [
          [3, 9],
          [4, 9],
        ]),
      ).toEqual([3, 4])
    })

    it('leaves out those that the rows of a version include, and no others, also after a checkpoint', async () => {
      const folded = [
        {
          deltaPartition: 1,
          version: 2,
          partition: 0,
          sourceKeyGroup: NO_SOURCE_KEY_GROUP,
          offset: 4,
        },
      ]
      const { harness } = await open([], [], { folded })
      expect(
        takenAt(harness, [
          [3, 9],
          [4, 9],
          [5, 9],
        ]),
      ).toEqual([5])
      const { harness: restored } = await open([await harness.snapshot()])
      expect(
        takenAt(restored, [
          [5, 9],
          [6, 9],
        ]),
      ).toEqual([6])
    })

    it('leaves out those of ratings that the job learns itself, where a learner before it has sent them', async () => {
      const before = {
        deltaEnds: [0, 7],
        resumeOffsets: [{ partition: 5, start: 0, next: 100 }],
      }
      const { harness } = await open([], [], before)
      // Offset 7 and those behind it are of this job.
      const deltas = [
        [3, 99],
        [4, 100],
        [5, 250],
        [7, 100],
        [8, 101],
      ] as const
      expect(takenAt(harness, deltas.slice(0, 2))).toEqual([3])
      const { harness: restored } = await open([await harness.snapshot()])
      expect(takenAt(restored, deltas.slice(2))).toEqual([7, 8])
    })

    it('leaves out single deltas of such ratings, too, if the job sends sums', async () => {
      const before = { deltaEnds: [0, 7], resumeOffsets: [{ partition: 5, start: 0, next: 100 }] }
      const deltas = [
        [3, 99],
        [4, 100],
      ] as const
      const { harness } = await open([], [], before, true)
      expect(takenAt(harness, deltas, 3)).toEqual([3])
      const { harness: single } = await open([], [], before)
      expect(takenAt(single, deltas, 3)).toEqual([3, 4])
    })
  })

  it('counts what is no delta of the rule', async () => {
    const { harness } = await open()
    const broken = record({ offset: 9 })
    harness.process({ ...broken, valueLength: broken.valueLength - 1 }, 4, { position })
    harness.process({ ...broken, valueLength: -1 }, 4, { position })
    harness.process({ ...broken, keyLength: -1 }, 4, { position })
    expect(harness.take()).toEqual([])
    expect(harness.metrics.snapshot()).toMatchObject({ deltasDropped: 3 })
  })
})
