import { describe, expect, it } from 'vitest'
import {
  type AlignmentAction,
  type AlignmentState,
  type AlignmentStep,
  newAlignment,
  onAborted,
  onBarrier,
  onCancelMarker,
} from '../../../../src/runtime/checkpoint/protocol/barrier-alignment.ts'
import type {
  Barrier,
  CheckpointMode,
} from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'

const barrier = (checkpointId: number, mode: CheckpointMode = 'exactly-once'): Barrier => ({
  checkpointId,
  timestampMs: 0,
  full: false,
  mode,
})

/** Applies transitions one after the other and returns the last state and all actions. */
function run(
  state: AlignmentState,
  ...transitions: ((state: AlignmentState) => AlignmentStep)[]
): { state: AlignmentState; actions: AlignmentAction[] } {
  const actions: AlignmentAction[] = []
  let current = state
  for (const transition of transitions) {
    const step = transition(current)
    current = step.state
    actions.push(...step.actions)
  }
  return { state: current, actions }
}

const arrives =
  (channel: number, id: number, nowMs = 0, mode: CheckpointMode = 'exactly-once') =>
  (state: AlignmentState) =>
    onBarrier(state, { channel, barrier: barrier(id, mode), nowMs })

describe('barrier alignment', () => {
  it('snapshots at once with a single channel', () => {
    const { actions, state } = run(newAlignment(1), arrives(0, 1))
    expect(actions).toEqual([
      { kind: 'snapshot', barrier: barrier(1), alignmentMs: 0 },
      { kind: 'unblock', channels: [0] },
    ])
    expect(state.lastSettled).toBe(1)
  })

  it('blocks channels that delivered the barrier until all have', () => {
    const first = run(newAlignment(3), arrives(0, 1, 100), arrives(2, 1, 130))
    expect(first.actions).toEqual([
      { kind: 'block', channel: 0 },
      { kind: 'block', channel: 2 },
    ])
    const last = run(first.state, arrives(1, 1, 150))
    expect(last.actions).toEqual([
      { kind: 'snapshot', barrier: barrier(1), alignmentMs: 50 },
      { kind: 'unblock', channels: [0, 2, 1] },
    ])
  })

  it('blocks nothing in at-least-once mode', () => {
    const mode = 'at-least-once'
    const first = run(newAlignment(2), arrives(0, 1, 0, mode))
    expect(first.actions).toEqual([])
    expect(run(first.state, arrives(1, 1, 7, mode)).actions).toEqual([
      { kind: 'snapshot', barrier: barrier(1, mode), alignmentMs: 7 },
    ])
  })

  it('aborts an alignment when a newer barrier comes', () => {
    const { actions, state } = run(newAlignment(2), arrives(0, 1), arrives(1, 2))
    expect(actions).toEqual([
      { kind: 'block', channel: 0 },
      { kind: 'abort', checkpointId: 1, reason: 'newer-barrier' },
      { kind: 'unblock', channels: [0] },
      { kind: 'block', channel: 1 },
    ])
    expect(run(state, arrives(0, 2)).actions[0]).toMatchObject({ kind: 'snapshot' })
  })

  it('ignores barriers that are late', () => {
    const { state } = run(newAlignment(2), arrives(0, 1), arrives(1, 2))
    expect(run(state, arrives(1, 1)).actions).toEqual([])
    expect(run(newAlignment(2, 5), arrives(0, 5)).actions).toEqual([])
  })

  it('ignores a barrier that comes twice on one channel', () => {
    expect(run(newAlignment(2), arrives(0, 1), arrives(0, 1)).actions.length).toBe(1)
  })

  it('aborts an alignment at a cancel marker and forwards the marker once', () => {
    const cancel = (state: AlignmentState) => onCancelMarker(state, 1)
    const { actions, state } = run(newAlignment(2), arrives(0, 1), cancel, cancel)
    expect(actions.slice(1)).toEqual([
      { kind: 'abort', checkpointId: 1, reason: 'cancel-marker' },
      { kind: 'unblock', channels: [0] },
    ])
    expect(run(state, arrives(1, 1)).actions).toEqual([])
  })

  it('forwards a cancel marker of a checkpoint whose barrier has not come', () => {
    const { actions, state } = run(newAlignment(2), (s) => onCancelMarker(s, 3))
    expect(actions).toEqual([{ kind: 'abort', checkpointId: 3, reason: 'cancel-marker' }])
    expect(run(state, arrives(0, 3)).actions).toEqual([])
    expect(run(state, arrives(0, 4)).actions).toEqual([{ kind: 'block', channel: 0 }])
  })

  it('ignores a cancel marker older than the alignment', () => {
    expect(run(newAlignment(2), arrives(0, 2), (s) => onCancelMarker(s, 1)).actions.length).toBe(1)
  })

  it('aborts an alignment when the coordinator does, and nothing else', () => {
    const { state } = run(newAlignment(2), arrives(0, 2))
    expect(onAborted(state, 1).actions).toEqual([])
    expect(onAborted(state, 2).actions).toEqual([
      { kind: 'abort', checkpointId: 2, reason: 'coordinator' },
      { kind: 'unblock', channels: [0] },
    ])
  })
})
