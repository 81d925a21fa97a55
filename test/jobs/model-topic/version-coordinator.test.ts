import { describe, expect, it } from 'vitest'
import type { MarkerSeen } from '../../../src/jobs/model-topic/operator.ts'
import { VersionCoordinator } from '../../../src/jobs/model-topic/version-coordinator.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** A coordinator of one partition and one slot, whose readers are up to date when the test says so. */
function coordinate() {
  const clock = new ManualClock()
  const board = ProgressBoard.create(1, 1)
  const live: number[] = []
  const readers = { areUpToDate: true }
  const coordinator = new VersionCoordinator({
    model: 0,
    partitions: 1,
    clock,
    onLive: (version) => live.push(version),
  })
  coordinator.start({
    operatorUid: 'model-rows',
    parallelism: 1,
    attempt: 1,
    board,
    readersAreUpToDate: () => readers.areUpToDate,
    sendEvent() {},
  })
  return { clock, board, coordinator, live, readers }
}

function ready(version: number, offset: number): MarkerSeen {
  const marker = {
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
  } as const
  return { kind: 'marker-seen', partition: 0, offset, marker }
}

describe('a version', () => {
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
})
