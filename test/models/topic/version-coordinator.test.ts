import { describe, expect, it } from 'vitest'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'
import type { MarkerSeen } from '../../../src/models/topic/operator.ts'
import { VersionCoordinator } from '../../../src/models/topic/version-coordinator.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** A coordinator of one partition and one slot, whose readers are up to date when the test says so. */
function coordinate(partitions = 1) {
  const clock = new ManualClock()
  const board = ProgressBoard.create(1, partitions)
  const live: number[] = []
  const readers = { areUpToDate: true }
  const sent: unknown[] = []
  const missing: number[] = []
  const waiting: number[] = []
  const coordinator = new VersionCoordinator({
    model: 0,
    partitions,
    clock,
    onLive: (version) => live.push(version),
    onRegistryMissing: (version) => missing.push(version),
    onWaiting: (version) => waiting.push(version),
  })
  const begin = (attempt: number): void =>
    coordinator.start({
      operatorUid: 'model-rows',
      parallelism: 1,
      attempt,
      board,
      readersAreUpToDate: () => readers.areUpToDate,
      sendEvent: (_subtask, event) => void sent.push(event),
    })
  begin(1)
  return { clock, board, coordinator, live, missing, waiting, readers, sent, begin }
}

function ready(version: number, offset: number): MarkerSeen {
  return { kind: 'marker-seen', partition: 0, offset, marker: markerOf(version) }
}

function markerOf(version: number): ModelVersionMarker {
  return {
    event: 'ready',
    version,
    name: 'ALS_MODEL',
    dimension: 4,
    biased: false,
    users: 1,
    items: 1,
    globalMean: 0,
    hyperparameters: {},
    metrics: {},
  }
}

/** The marker of a write-back of version 1. */
function writtenBack(partition: number, offset: number, atMs: number): MarkerSeen {
  const learned = { atMs, observations: 'ratings', next: [atMs], folded: '' }
  return { kind: 'marker-seen', partition, offset, marker: { ...markerOf(1), learned } }
}

describe('a version', () => {
  it('that is loaded and not promoted is said to wait, once, while none is live', () => {
    const { clock, board, coordinator, live, waiting } = coordinate()
    coordinator.setDesired({ live: 0, rollback: 0 })
    board.setProgress(0, 0, 11, 0)
    coordinator.handleEvent(0, ready(1, 10))
    clock.advance(10)
    coordinator.setDesired({ live: 0, rollback: 0 })
    expect({ live, waiting }).toEqual({ live: [], waiting: [1] })
    coordinator.setDesired({ live: 1, rollback: 0 })
    board.setProgress(0, 0, 21, 0)
    coordinator.handleEvent(0, ready(2, 20))
    clock.advance(10)
    expect({ live, waiting }).toEqual({ live: [1], waiting: [1] })
  })

  it('goes live when every row before its marker is applied', () => {
    const { clock, board, coordinator, live } = coordinate()
    coordinator.handleEvent(0, ready(1, 10))
    clock.advance(10)
    expect(live).toEqual([])
    board.setProgress(0, 0, 11, 0)
    clock.advance(2)
    expect(live).toEqual([1])
    expect(board.liveVersion(0)).toBe(1)
  })

  it('waits for readers that cannot read all of its tables', () => {
    const { clock, board, coordinator, live, readers } = coordinate()
    readers.areUpToDate = false
    board.setProgress(0, 0, 11, 0)
    coordinator.handleEvent(0, ready(1, 10))
    clock.advance(10)
    expect([live, board.liveVersion(0)]).toEqual([[], 0])
    readers.areUpToDate = true
    clock.advance(2)
    expect([live, board.liveVersion(0)]).toEqual([[1], 1])
  })

  it('stays live while readers of the next one are behind', () => {
    const { clock, board, coordinator, live, readers } = coordinate()
    board.setProgress(0, 0, 21, 0)
    coordinator.handleEvent(0, ready(1, 10))
    readers.areUpToDate = false
    coordinator.handleEvent(0, ready(2, 20))
    clock.advance(4)
    expect(board.liveVersion(0)).toBe(1)
    readers.areUpToDate = true
    clock.advance(2)
    expect(live).toEqual([1, 2])
  })

  it('is live but incomplete after a restart, until its rows are read again', () => {
    const { clock, board, coordinator, begin } = coordinate()
    board.setSlotStatus(0, 'running')
    board.setProgress(0, 0, 11, 0)
    coordinator.handleEvent(0, ready(1, 10))
    expect([board.liveVersion(0), board.isLiveIncomplete(0)]).toEqual([1, false])
    begin(2)
    board.setProgress(0, 0, 5, 0)
    expect([board.liveVersion(0), board.isLiveIncomplete(0)]).toEqual([1, true])
    coordinator.handleEvent(0, ready(1, 10))
    clock.advance(10)
    expect(board.isLiveIncomplete(0)).toBe(true)
    board.setProgress(0, 0, 11, 0)
    clock.advance(2)
    expect([board.liveVersion(0), board.isLiveIncomplete(0)]).toEqual([1, false])
  })

  it('has the marker of the last write-back that was read in every partition', () => {
    const { coordinator } = coordinate(2)
    const atMs = () => coordinator.markerOf(1)?.learned?.atMs
    expect(coordinator.markerOf(1)).toBeUndefined()
    for (const partition of [0, 1]) coordinator.handleEvent(0, { ...ready(1, 10), partition })
    expect(coordinator.markerOf(1)).toEqual(markerOf(1))
    coordinator.handleEvent(0, writtenBack(0, 20, 1))
    coordinator.handleEvent(0, writtenBack(0, 30, 2))
    expect(atMs()).toBeUndefined()
    coordinator.handleEvent(0, writtenBack(1, 20, 1))
    expect(atMs()).toBe(1)
    coordinator.handleEvent(0, writtenBack(1, 30, 2))
    expect(atMs()).toBe(2)
  })

  it('knows what was written back of the others', () => {
    const { coordinator } = coordinate()
    coordinator.handleEvent(0, writtenBack(0, 20, 1))
    coordinator.handleEvent(0, ready(2, 30))
    expect(coordinator.learnedBesides(2).map(({ atMs }) => atMs)).toEqual([1])
    expect(coordinator.learnedBesides(1)).toEqual([])
  })

  it('reports when its topic is applied up to the offsets asked for and its markers are here', async () => {
    const { clock, board, coordinator, sent } = coordinate(2)
    let isApplied = false
    const applied = coordinator.whenApplied([3, 5]).then(() => {
      isApplied = true
    })
    board.setProgress(0, 0, 3, 0)
    clock.advance(2)
    await settled()
    expect([isApplied, sent]).toEqual([false, []])
    board.setProgress(0, 1, 5, 0)
    clock.advance(2)
    await settled()
    // The board is ahead of the marker of a write-back, which is on its way.
    expect([isApplied, sent]).toEqual([false, [{ kind: 'markers-asked' }]])
    coordinator.handleEvent(0, writtenBack(0, 2, 7))
    coordinator.handleEvent(0, { kind: 'markers-sent' })
    await applied
    expect(coordinator.markerOf(1)?.learned?.atMs).toBe(7)
  })

  it('asks for its markers again after a restart', async () => {
    const { clock, board, coordinator, sent, begin } = coordinate()
    let isApplied = false
    const applied = coordinator.whenApplied([3]).then(() => {
      isApplied = true
    })
    board.setProgress(0, 0, 3, 0)
    clock.advance(2)
    await settled()
    begin(2)
    await settled()
    clock.advance(2)
    await settled()
    expect([isApplied, sent.length]).toEqual([false, 2])
    coordinator.handleEvent(0, { kind: 'markers-sent' })
    await applied
    expect(isApplied).toBe(true)
  })
})

describe('the versions that are not complete', () => {
  const announced = (version: number, partition: number, atMs: number): MarkerSeen => {
    const publisher = { process: 'here/7-1/1', atMs }
    return { ...placed(partition), marker: { ...markerOf(version), event: 'announce', publisher } }
  }
  const placed = (partition: number) => ({ kind: 'marker-seen', partition, offset: 3 }) as const
  const numbers = ({ unfinished }: VersionCoordinator) =>
    unfinished.map(({ version, publisher }) => [version, publisher?.atMs])

  it('are the announced ones, with the last sign of life of any partition', () => {
    const { coordinator } = coordinate(2)
    coordinator.handleEvent(0, announced(1, 0, 30))
    coordinator.handleEvent(0, announced(1, 1, 10))
    coordinator.handleEvent(0, announced(2, 0, 20))
    expect(numbers(coordinator)).toEqual([
      [1, 30],
      [2, 20],
    ])
  })

  it('are no longer those that are ready in every partition, or retired', () => {
    const { coordinator } = coordinate(2)
    for (const version of [1, 2]) coordinator.handleEvent(0, announced(version, 0, 10))
    coordinator.handleEvent(0, { ...placed(0), marker: markerOf(1) })
    expect(numbers(coordinator)).toHaveLength(2)
    coordinator.handleEvent(0, { ...placed(1), marker: markerOf(1) })
    expect(numbers(coordinator)).toEqual([[2, 10]])
    coordinator.handleEvent(0, { ...placed(0), marker: { ...markerOf(2), event: 'retire' } })
    expect(numbers(coordinator)).toEqual([])
  })
})

it('two that wait until the topic is applied do not hold each other up', async () => {
  const { clock, board, coordinator, sent } = coordinate()
  const both = [coordinator.whenApplied([3]), coordinator.whenApplied([2])]
  board.setProgress(0, 0, 3, 0)
  clock.advance(2)
  await settled()
  expect(sent).toHaveLength(2)
  for (const _ of both) coordinator.handleEvent(0, { kind: 'markers-sent' })
  await Promise.all(both)
})

/** Lets promises that are due go on. */
async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve()
}

describe('a registry that is gone', () => {
  const registered = (version: number, offset: number): MarkerSeen => {
    const { marker, ...place } = ready(version, offset)
    return { ...place, marker: { ...marker, registered: true } }
  }

  it('leaves the version of the checkpoint live, also where a higher one was rejected', () => {
    const { clock, board, coordinator, live, missing } = coordinate()
    board.setProgress(0, 0, 100, 0)
    coordinator.handleEvent(0, { kind: 'live-by-registry', version: 1 })
    for (const version of [1, 2]) coordinator.handleEvent(0, registered(version, 10 * version))
    clock.advance(6000)
    expect({ live, missing }).toEqual({ live: [1], missing: [1] })
  })

  it('lets no version go live where no checkpoint knows what was', () => {
    const { clock, board, coordinator, live, missing } = coordinate()
    board.setProgress(0, 0, 100, 0)
    coordinator.handleEvent(0, registered(1, 10))
    clock.advance(6000)
    expect({ live, missing }).toEqual({ live: [], missing: [0] })
    coordinator.setDesired({ live: 1, rollback: 0 })
    expect(live).toEqual([1])
  })

  it('is not missed while a publisher has yet to write it', () => {
    const { clock, board, coordinator, live, missing } = coordinate()
    board.setProgress(0, 0, 100, 0)
    coordinator.handleEvent(0, registered(1, 10))
    clock.advance(1000)
    coordinator.setDesired({ live: 1, rollback: 0 })
    clock.advance(10_000)
    expect({ live, missing }).toEqual({ live: [1], missing: [] })
  })
})

it('the version that the registry made live is kept in checkpoints, once in each attempt', () => {
  const { board, coordinator, sent, begin } = coordinate()
  board.setProgress(0, 0, 100, 0)
  coordinator.handleEvent(0, ready(1, 10))
  coordinator.setDesired({ live: 1, rollback: 0 })
  coordinator.setDesired({ live: 1, rollback: 0 })
  const kept = { kind: 'live-by-registry', version: 1 }
  expect(sent).toEqual([kept])
  begin(2)
  coordinator.handleEvent(0, ready(1, 10))
  expect(sent).toEqual([kept, kept])
})
