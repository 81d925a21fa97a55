import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { NO_TIMESTAMP } from '../../../src/core/time.ts'
import { createWindowOperator } from '../../../src/dataflow/windows/plan.ts'
import { SessionFold } from '../../../src/operators/folding/session-fold.ts'
import { type Fold, reduceFold } from '../../../src/operators/folds/fold.ts'
import { FoldedPart } from '../../../src/operators/port/folded-part.ts'
import {
  dynamicEventTimeSessionWindows,
  eventTimeSessionWindows,
  processingTimeSessionWindows,
  type SessionWindows,
} from '../../../src/operators/windows/assigner.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import { campaignSize } from '../../run/campaign-size.ts'

interface Row {
  readonly key: string
  readonly n: number
}

const sum = reduceFold<Row>((a, b) => ({ key: a.key, n: a.n + b.n }), { parts: 'any-order' })
const rows = msgpackSerializer<Row>()
const row = (n: number, key = 'a'): Row => ({ key, n })

function foldOf(windows: SessionWindows, fold: Fold<Row, Row> = sum): SessionFold<Row, Row> {
  return new SessionFold<Row, Row>({
    windows,
    fold,
    keySerializer: plainKeySerializer(),
    records: rows,
    sums: rows,
    reusesObjects: false,
  })
}

type Sent = [key: unknown, n: number, records: number, start: number, end: number]

function drained(fold: SessionFold<Row, Row>): Sent[] {
  const sent: Sent[] = []
  fold.drain((key, part, timestamp) => {
    const { sum, records, spanMs } = part as FoldedPart<Row>
    sent.push([key, sum.n, records, timestamp, timestamp + spanMs])
  })
  return sent
}

describe('a fold of sessions at the sender', () => {
  it('makes one part of the records of a key that follow each other within the gap', () => {
    const fold = foldOf(eventTimeSessionWindows(10))
    for (const time of [50, 60, 45, 71, 5]) expect(fold.add('a', row(time), time)).toBe(true)
    expect(fold.add('b', row(1), 50)).toBe(true)
    expect(drained(fold)).toEqual([
      ['a', 155, 3, 45, 70],
      ['a', 71, 1, 71, 81],
      ['a', 5, 1, 5, 15],
      ['b', 1, 1, 50, 60],
    ])
    expect(drained(fold)).toEqual([])
  })

  it('takes the gap of each record', () => {
    const fold = foldOf(dynamicEventTimeSessionWindows<Row>(({ n }) => n))
    for (const [n, time] of [
      [20, 50],
      [3, 55],
      [1, 90],
    ] as const)
      fold.add('a', row(n), time)
    expect(drained(fold)).toEqual([
      ['a', 23, 2, 50, 70],
      ['a', 1, 1, 90, 91],
    ])
  })

  it('makes one part of each key in processing time', () => {
    const fold = foldOf(processingTimeSessionWindows(10))
    for (const time of [3, 250, NO_TIMESTAMP]) expect(fold.add('a', row(1), time)).toBe(true)
    expect(drained(fold)).toEqual([['a', 3, 3, 0, 10]])
  })

  it('sends a record as it is that the receiver may find late', () => {
    const fold = foldOf(eventTimeSessionWindows(10))
    fold.afterWatermark(100)
    expect(fold.add('a', row(1), 91)).toBe(false)
    expect(fold.add('a', row(1), 92)).toBe(true)
    expect(fold.add('a', row(1), NO_TIMESTAMP)).toBe(false)
  })

  it('ends when the sender is idle: then the watermark of the receiver is not known', () => {
    const fold = foldOf(eventTimeSessionWindows(10))
    fold.afterIdle()
    expect(fold.add('a', row(1), 1000)).toBe(false)
    const ofWallClock = foldOf(processingTimeSessionWindows(10))
    ofWallClock.afterIdle()
    expect(ofWallClock.add('a', row(1), 1000)).toBe(true)
  })
})

/** A session operator that adds rows; results are `key start-end: sum`. */
function sessions(windows: SessionWindows): Promise<OperatorHarness<unknown, string>> {
  const operator = createWindowOperator<string, Row>(
    {
      keySerializer: plainKeySerializer<string>(),
      serializer: rows,
      assigner: windows,
      allowedLatenessMs: 0,
      lateDataTag: undefined,
      trigger: undefined,
      evictor: undefined,
      fold: { fold: sum as never, serializer: rows as never },
    },
    {
      process: (key, { window }, [total], out) => {
        out.collect(`${key} ${window.start}-${window.end}: ${(total as unknown as Row).n}`)
      },
    },
    true,
  )
  const keyOf = (value: unknown): string =>
    ((value instanceof FoldedPart ? value.sum : value) as Row).key
  const keys = { selectors: [keyOf], serializer: plainKeySerializer<string>() }
  return OperatorHarness.open<unknown, string>({ operator, keys })
}

/** Feeds the same random records, a part of them late, with and without a fold in between. */
async function feedBoth(random: Random, windows: SessionWindows) {
  const [direct, folded] = [await sessions(windows), await sessions(windows)]
  const fold = foldOf(windows)
  const drain = (): void => {
    fold.drain((_key, part, timestamp) => folded.process(part, timestamp))
  }
  for (let i = 0; i < 2000; i++) {
    const time = Math.max(0, i - random.below(60))
    const record = row(1 + random.below(9), `key-${random.below(12)}`)
    direct.process(record, time)
    if (!fold.add(record.key, record, time)) {
      drain()
      folded.process(record, time)
    }
    if (random.below(8) === 0) drain()
    if (random.below(20) > 0) continue
    const watermark = i - 30
    drain()
    for (const harness of [direct, folded]) harness.watermark(watermark)
    fold.afterWatermark(watermark)
  }
  drain()
  for (const harness of [direct, folded]) harness.endInput()
  return { direct, folded }
}

describe('sessions of parts', () => {
  it.each([
    ['one gap', eventTimeSessionWindows(15)],
    ['the gap of each record', dynamicEventTimeSessionWindows<Row>(({ n }) => 2 * n)],
  ])('are those of the records, late ones too (%s)', async (_, windows) => {
    for (const seed of campaignSize([1], [1, 2, 3])) {
      const { direct, folded } = await feedBoth(seededRandom(seed), windows)
      const dropped = (harness: typeof direct) =>
        harness.metrics.counter('numLateRecordsDropped').value
      expect(direct.values.length).toBeGreaterThan(100)
      expect(dropped(direct)).toBeGreaterThan(0)
      // Of sessions that end in one moment, the first is the one of lower hash, which depends on the first record.
      expect(folded.values.toSorted()).toEqual(direct.values.toSorted())
      expect(dropped(folded)).toBe(dropped(direct))
    }
  })
})
