import { describe, expect, it } from 'vitest'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { waitIn } from '../../../src/core/lifetime/wait.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness, noWatermarks } from '../../../src/dataflow/watermark-strategy.ts'
import {
  HeldBackSources,
  joinedSources,
  tellsSilence,
} from '../../../src/runtime/source/silence.ts'
import { SourceWatermarks } from '../../../src/runtime/source/watermarks.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const MINUTE_MS = 60_000

/** The sources of a job, and what was said of them. */
function bench() {
  const said: string[] = []
  const waits: boolean[] = []
  const clock = new ManualClock()
  const joined = new Map([['clicks', ['ratings']]])
  const sources = new HeldBackSources(clock, joined, ({ message, details }) => {
    said.push(message)
    waits.push(waitIn(details)?.wait !== undefined)
  })
  sources.start()
  const report = (
    subtask: number,
    silentPartitions: number[],
    hasActive: boolean,
    uid = 'clicks',
  ): void => {
    const event = { silentPartitions, sinceMs: 0, hasActive }
    expect(sources.onEvent(uid, subtask, event)).toBe(true)
  }
  return { said, waits, sources, report, clock }
}

describe('a source of which some partitions are silent', () => {
  it('is named with the partitions, also where they are in another subtask than those with records', () => {
    const { said, waits, report, clock } = bench()
    report(0, [], true)
    clock.advance(1_000)
    expect(said).toEqual([])
    report(1, [2], false)
    clock.advance(1_000)
    expect(said).toEqual([
      'no output: partition 2 of clicks has had no record for 60 s and no idle timeout is set; set idleAfterMs of the watermarks of this source, or send records to each partition',
    ])
    // What several subtasks report at a time is said in one line.
    report(0, [], true)
    report(0, [0], true)
    clock.advance(1_000)
    expect(said.at(-1)).toMatch(/^no output: partitions 0 and 2 of clicks have had no record/)
    report(0, [0], true)
    clock.advance(1_000)
    report(0, [], true)
    report(1, [], true)
    clock.advance(1_000)
    expect(said.at(-1)).toBe('event time of source clicks goes on')
    expect(waits).toEqual([true, true, false])
  })

  it('is not named while no partition has a record, and forgotten with the attempt', () => {
    const { said, sources, report, clock } = bench()
    report(0, [0, 1], false)
    clock.advance(1_000)
    expect(said).toEqual([])
    sources.start()
    report(1, [], true)
    clock.advance(1_000)
    expect(said).toEqual([])
    expect(sources.onEvent('clicks', 0, { sourceWatermark: 3 })).toBe(false)
  })
})

describe('a silent source whose stream meets that of another source', () => {
  it('is named while the other one has records, and not where that is silent, too', () => {
    const { said, waits, report, clock } = bench()
    report(0, [0, 1], false)
    report(0, [0], false, 'ratings')
    clock.advance(1_000)
    expect(said).toEqual([])
    report(0, [], true, 'ratings')
    clock.advance(1_000)
    expect(said).toEqual([
      'no output: partitions 0 and 1 of clicks have had no record for 60 s, while source ratings has records, and no idle timeout is set; set idleAfterMs of the watermarks of this source, or send records to each partition',
    ])
    report(0, [0], false, 'ratings')
    clock.advance(1_000)
    expect(said.at(-1)).toBe('event time of source clicks goes on')
    expect(waits).toEqual([true, false])
  })

  it('is not named for a source that it does not meet', () => {
    const { said, report, clock } = bench()
    report(0, [0, 1], false)
    report(0, [], true, 'other')
    clock.advance(1_000)
    expect(said).toEqual([])
  })

  it('is one of a join or a union, also behind other operators', () => {
    const env = new StreamExecutionEnvironment()
    const stream = (uid: string) =>
      env.fromSource(new MemorySource([[1]]), noWatermarks<number>(), uid).uid(uid)
    const clicks = stream('clicks')
      .map((value) => value)
      .uid('mapped')
    clicks.union(stream('ratings')).print().uid('both')
    stream('alone').print().uid('one')
    const joined = joinedSources(env.graph('joined'))
    expect(Object.fromEntries(joined)).toEqual({
      clicks: ['ratings'],
      ratings: ['clicks'],
      alone: [],
    })
  })
})

describe('the silence of the partitions of a subtask', () => {
  it('begins a minute after the last record, and ends with the next one', () => {
    const watermarks = new SourceWatermarks(boundedOutOfOrderness(0))
    watermarks.addPartition(0, 0)
    watermarks.addPartition(1, 0)
    watermarks.timestampOf('a', 5, 0)
    const at = (nowMs: number) => watermarks.silence(nowMs, MINUTE_MS)
    expect(at(MINUTE_MS - 1)).toMatchObject({ silentPartitions: [], hasActive: true })
    expect(at(MINUTE_MS)).toEqual({ silentPartitions: [1], sinceMs: 0, hasActive: true })
    expect(at(3 * MINUTE_MS)).toMatchObject({ silentPartitions: [0, 1], hasActive: false })
    watermarks.timestampOf('b', 6, 1)
    expect(at(3 * MINUTE_MS)).toMatchObject({ silentPartitions: [0], hasActive: true })
  })

  it('matters only without an end and with watermarks', () => {
    const unbounded = { boundedness: 'unbounded' } as const
    expect(tellsSilence(unbounded, boundedOutOfOrderness(0))).toBe(true)
    expect(tellsSilence(unbounded, noWatermarks())).toBe(false)
    expect(tellsSilence({ boundedness: 'bounded' }, boundedOutOfOrderness(0))).toBe(false)
  })

  it('holds nothing back with an idle timeout', () => {
    const watermarks = new SourceWatermarks(
      boundedOutOfOrderness(0, { idleAfterMs: 10 * MINUTE_MS }),
    )
    watermarks.addPartition(0, 0)
    watermarks.addPartition(1, 0)
    watermarks.timestampOf('a', 5, 0)
    const at = (nowMs: number) => watermarks.silence(nowMs, MINUTE_MS)
    expect(at(1)).toMatchObject({ silentPartitions: [], hasActive: true })
    expect(at(2 * MINUTE_MS)).toMatchObject({ silentPartitions: [], hasActive: false })
  })
})
