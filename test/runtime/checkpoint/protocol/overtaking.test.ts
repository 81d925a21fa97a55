import { describe, expect, it } from 'vitest'
import {
  newAlignment,
  onBarrier,
  onOvertaking,
} from '../../../../src/runtime/checkpoint/protocol/barrier-alignment.ts'
import type { Barrier } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import {
  channelsRead,
  onQueuedBarrier,
  overtakesAfter,
} from '../../../../src/runtime/checkpoint/protocol/overtaking.ts'

const barrier = (checkpointId: number, alignedTimeoutMs?: number): Barrier => ({
  checkpointId,
  timestampMs: 1000,
  full: false,
  mode: 'exactly-once',
  ...(alignedTimeoutMs === undefined ? {} : { alignedTimeoutMs }),
})

const queued = (facts: { id: number; timeoutMs?: number; newest?: number; nowMs?: number }) =>
  onQueuedBarrier({
    barrier: barrier(facts.id, facts.timeoutMs),
    newest: facts.newest ?? 0,
    alignment: newAlignment(2, 4),
    nowMs: facts.nowMs ?? 1000,
  })

describe('a barrier in the queue of a channel', () => {
  it('overtakes at once without a timeout for the alignment', () => {
    expect(queued({ id: 5, timeoutMs: 0 })).toEqual({ kind: 'overtake', afterMs: 0 })
  })

  it('overtakes when the timeout has passed since the checkpoint began', () => {
    expect(queued({ id: 5, timeoutMs: 300, nowMs: 1100 })).toEqual({
      kind: 'overtake',
      afterMs: 200,
    })
    expect(queued({ id: 5, timeoutMs: 300, nowMs: 1500 })).toEqual({ kind: 'overtake', afterMs: 0 })
  })

  it('never overtakes if it is that of an aligned checkpoint or of a savepoint', () => {
    expect(queued({ id: 5 })).toEqual({ kind: 'none' })
  })

  it('never overtakes where duplicates are allowed, because nothing is aligned there', () => {
    expect(overtakesAfter({ ...barrier(5, 0), mode: 'at-least-once' }, 1000)).toBeUndefined()
  })

  it('decides nothing when the checkpoint is settled, or its first barrier has decided', () => {
    expect(queued({ id: 4, timeoutMs: 0 })).toEqual({ kind: 'none' })
    expect(queued({ id: 5, timeoutMs: 0, newest: 5 })).toEqual({ kind: 'none' })
    expect(queued({ id: 5, timeoutMs: 0, newest: 6 })).toEqual({ kind: 'none' })
  })
})

describe('a barrier that overtakes', () => {
  const overtaking = { barrier: barrier(5, 0), alignmentMs: 30 }

  it('takes the snapshot without the other barriers, which are late then', () => {
    const step = onOvertaking(newAlignment(2), overtaking)
    expect(step.actions).toEqual([{ kind: 'snapshot', ...overtaking }])
    const late = onBarrier(step.state, { channel: 1, barrier: barrier(5, 0), nowMs: 1 })
    expect(late.actions).toEqual([])
  })

  it('frees the channels that waited, which have no record in flight', () => {
    const waiting = onBarrier(newAlignment(2), { channel: 1, barrier: barrier(5, 0), nowMs: 1 })
    expect(channelsRead(waiting.state, 5)).toEqual(new Set([1]))
    expect(channelsRead(waiting.state, 6)).toEqual(new Set())
    expect(onOvertaking(waiting.state, overtaking).actions).toEqual([
      { kind: 'snapshot', ...overtaking },
      { kind: 'unblock', channels: [1] },
    ])
  })

  it('aborts an older checkpoint that still waits', () => {
    const waiting = onBarrier(newAlignment(2), { channel: 1, barrier: barrier(4), nowMs: 1 })
    expect(onOvertaking(waiting.state, overtaking).actions).toEqual([
      { kind: 'abort', checkpointId: 4, reason: 'newer-barrier' },
      { kind: 'unblock', channels: [1] },
      { kind: 'snapshot', ...overtaking },
    ])
  })

  it('changes nothing when the checkpoint is settled, or a newer one waits', () => {
    expect(onOvertaking(newAlignment(2, 5), overtaking).actions).toEqual([])
    const newer = onBarrier(newAlignment(2), { channel: 1, barrier: barrier(6), nowMs: 1 })
    expect(onOvertaking(newer.state, overtaking).actions).toEqual([])
  })
})
