import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import type { ControlMessage } from '../../../src/runtime/channel/message.ts'
import { SourceLoad, TableLoad } from '../../../src/runtime/source/loads.ts'
import { SourceProgress } from '../../../src/runtime/source/progress.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

function subtask() {
  const clock = new ManualClock(1_000)
  const sent: ControlMessage[] = []
  const events: unknown[] = []
  return {
    clock,
    sent,
    events,
    deferred: { afterAll: (action: () => void) => action() },
    control: (make: (channel: number) => ControlMessage) => void sent.push(make(3)),
    sendEvent: (uid: string, event: unknown) => void events.push([uid, event]),
  }
}

const plan = { sources: [5], reportsLoads: true, waitsForTables: false }
const unbounded = new GeneratorSource<number>({ generate: (index) => index })
const bounded = new GeneratorSource<number>({ generate: (index) => index, countPerPartition: 9 })
const LOADED = { kind: 'loaded', channel: 3, source: 5 }

/** Progress over two partitions of a reader that sees their ends. */
function progress(): SourceProgress {
  const reported = new SourceProgress(() => {}, true)
  reported.found([0, 1].map((partition) => ({ partition, nextOffset: 0 })))
  return reported
}

describe('the load of a source', () => {
  it('ends when each partition was seen at its end after the reader was opened', () => {
    const of = subtask()
    of.clock.advance(100)
    const load = new SourceLoad(of, { source: unbounded, plan })
    load.begin()
    const read = progress()
    read.update(0, 10, 100, true)
    load.check(read)
    // An end that was seen before is that of another time, and an age by timestamps is none.
    read.update(1, 10, 99, true)
    read.update(1, 20, 500, false)
    load.check(read)
    expect(of.sent).toEqual([])
    read.update(1, 20, 101, true)
    load.check(read)
    load.check(read)
    expect(of.sent).toEqual([LOADED])
  })

  it('of a bounded one ends with it', () => {
    const of = subtask()
    const load = new SourceLoad(of, { source: bounded, plan })
    load.begin()
    const read = progress()
    for (const partition of [0, 1]) read.update(partition, 1, 50, true)
    load.check(read)
    expect(of.sent).toEqual([])
    load.report()
    load.report()
    expect(of.sent).toEqual([LOADED])
  })

  it('is not said where no operator waits', () => {
    const of = subtask()
    const load = new SourceLoad(of, { source: bounded, plan: { ...plan, reportsLoads: false } })
    load.report()
    expect(of.sent).toEqual([])
    expect(load.mayRead).toBe(true)
  })

  it('holds a source that waits until the job lets it read', () => {
    const load = new SourceLoad(subtask(), {
      source: bounded,
      plan: { ...plan, waitsForTables: true },
    })
    expect(load.mayRead).toBe(false)
    expect(load.handleEvent({ allowedWatermark: 7 })).toBe(false)
    expect(load.mayRead).toBe(false)
    expect(load.handleEvent({ mayRead: true })).toBe(true)
    expect(load.mayRead).toBe(true)
  })
})

it('the load of a table is reported once', () => {
  const of = subtask()
  const load = new TableLoad(of, 'join')
  load.end()
  load.end()
  expect(of.events).toEqual([['join', { tableLoaded: true }]])
})
