import { describe, expect, it } from 'vitest'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../../src/core/time.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { monotonousTimestamps } from '../../../src/dataflow/watermark-strategy.ts'
import { DiscardingSink } from '../../../src/operators/basic/discarding-sink.ts'
import { SourceAlignment } from '../../../src/runtime/source/alignment.ts'
import { AlignmentGroups } from '../../../src/runtime/source/alignment-groups.ts'
import { SourceWatermarks } from '../../../src/runtime/source/watermarks.ts'

describe('SourceAlignment', () => {
  function alignmentWithReports(boundedness: 'bounded' | 'unbounded' = 'unbounded') {
    const reports: number[] = []
    const alignment = new SourceAlignment(
      { group: 'g', maxDriftMs: 10, updateIntervalMs: 100 },
      boundedness,
      ({ sourceWatermark }) => reports.push(sourceWatermark),
    )
    return { alignment, reports }
  }

  it('reports once in its interval, and says when the next report is due', () => {
    const { alignment, reports } = alignmentWithReports()
    alignment.report(1000, 5, false)
    alignment.report(1099, 6, false)
    expect(alignment.nextReportMs(1050)).toBe(1100)
    alignment.report(1100, 7, false)
    expect(reports).toEqual([5, 7])
  })

  it('holds nothing back before its first record, while it is idle, and at its end', () => {
    const { alignment, reports } = alignmentWithReports()
    alignment.report(0, MIN_TIMESTAMP, false)
    expect(reports).toEqual([])
    alignment.report(1, 5, true)
    alignment.ended()
    expect(reports).toEqual([MAX_TIMESTAMP, MAX_TIMESTAMP])
  })

  it('may read up to the watermark that is allowed, and without one as far as it likes', () => {
    const { alignment } = alignmentWithReports()
    expect(alignment.excessOf(1e12)).toBeLessThan(0)
    alignment.allow({ allowedWatermark: 50 })
    expect(alignment.excessOf(50)).toBe(0)
    expect(alignment.excessOf(51)).toBe(1)
  })
})

describe('the partitions of an aligned source', () => {
  const watermarks = new SourceWatermarks(monotonousTimestamps<unknown>({ timestampOf: Number }))
  for (const [partition, time] of [10, 100, 200].entries()) {
    watermarks.timestampOf(time, -1, partition)
  }

  function aligned(boundedness: 'bounded' | 'unbounded') {
    const held: number[][] = []
    const reader = { holdBack: (partitions: ReadonlySet<number>) => held.push([...partitions]) }
    const alignment = { group: 'g', maxDriftMs: 10 }
    const source = new SourceAlignment(alignment, boundedness, () => {})
    const allow = (allowedWatermark: number): number[][] => {
      source.allow({ allowedWatermark })
      source.holdBack(reader, watermarks)
      return held.splice(0)
    }
    return { source, allow }
  }

  it('are held back where they are beyond what is allowed, and read on when it is more', () => {
    const { source, allow } = aligned('unbounded')
    expect(allow(50)).toEqual([[1, 2]])
    expect(source.held).toEqual(new Set([1, 2]))
    expect(allow(60)).toEqual([])
    expect(allow(150)).toEqual([[2]])
    source.readerOpened()
    expect(allow(150)).toEqual([[2]])
    expect(allow(MAX_TIMESTAMP)).toEqual([[]])
  })

  it('wait as a whole in a bounded source, of which one may be at its end', () => {
    expect(aligned('bounded').allow(50)).toEqual([])
  })
})

describe('AlignmentGroups', () => {
  function groupsOfTwo() {
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    for (const [uid, group, maxDriftMs] of [
      ['near', 'a', 10],
      ['far', 'a', 100],
      ['other', 'b', 5],
    ] as const) {
      env
        .fromSource(
          new MemorySource<number>([[], []]),
          monotonousTimestamps({ alignment: { group, maxDriftMs } }),
          uid,
        )
        .uid(uid)
        .sinkTo(new DiscardingSink())
    }
    const groups = new AlignmentGroups(env.graph().nodes)
    const sent: (readonly [string, number])[] = []
    groups.start((uid, { allowedWatermark }) => sent.push([uid, allowedWatermark]))
    return { groups, take: () => sent.splice(0) }
  }

  it('allow each source its own drift beyond the slowest subtask of the group', () => {
    const { groups, take } = groupsOfTwo()
    expect(groups.onEvent('near', 0, { sourceWatermark: 1000 })).toBe(true)
    expect(take()).toEqual([
      ['near', 1010],
      ['far', 1100],
    ])
    groups.onEvent('far', 1, { sourceWatermark: 400 })
    expect(take()).toEqual([
      ['near', 410],
      ['far', 500],
    ])
    groups.onEvent('near', 0, { sourceWatermark: 1005 })
    expect(take()).toEqual([])
  })

  it('forget what the subtasks of an earlier attempt have reported', () => {
    const { groups, take } = groupsOfTwo()
    groups.onEvent('other', 0, { sourceWatermark: 1 })
    const sent: number[] = []
    groups.start((_, { allowedWatermark }) => sent.push(allowedWatermark))
    groups.onEvent('other', 1, { sourceWatermark: 70 })
    expect(take()).toEqual([['other', 6]])
    expect(sent).toEqual([75])
  })

  it('leave events of other operators alone', () => {
    const { groups } = groupsOfTwo()
    expect(groups.onEvent('near', 0, { offset: 3 })).toBe(false)
    expect(groups.onEvent('sink', 0, { sourceWatermark: 3 })).toBe(false)
  })
})
