import type { Barrier } from './checkpoint-types.ts'

/**
 * Alignment of barriers over the input channels of one subtask, as pure transitions: what was
 * observed goes in, the next state and the actions to carry out (in order) come out.
 * Asynchronous Barrier Snapshotting (Carbone et al. 2015); Flink's SingleCheckpointBarrierHandler.
 */

/** What a subtask knows about barriers; start with `newAlignment`. */
export interface AlignmentState {
  /** Input channels are numbered 0 <= channel < channels. */
  readonly channels: number
  /** Channels that will deliver no more records; they count as aligned. */
  readonly ended: ReadonlySet<number>
  /** Newest checkpoint that was snapshotted or aborted here; its barriers are late. */
  readonly lastSettled: number
  /** The alignment in progress. */
  readonly pending: PendingAlignment | undefined
}

/** An alignment that still waits for barriers. */
export interface PendingAlignment {
  readonly barrier: Barrier
  readonly arrived: ReadonlySet<number>
  /** When the first barrier came, in the caller's milliseconds. */
  readonly startedAtMs: number
}

/** Why an alignment was given up. */
export type AlignmentAbortReason =
  /** A barrier of a newer checkpoint overtook it. */
  | 'newer-barrier'
  /** A cancel marker came from upstream. */
  | 'cancel-marker'
  /** The coordinator said so. */
  | 'coordinator'

/** What the subtask has to do. */
export type AlignmentAction =
  /** Take no more input from this channel until it is unblocked (exactly-once only). */
  | { readonly kind: 'block'; readonly channel: number }
  /** Take input from these channels again. */
  | { readonly kind: 'unblock'; readonly channels: readonly number[] }
  /** Every channel is aligned: fix the state, then forward the barrier. */
  | { readonly kind: 'snapshot'; readonly barrier: Barrier; readonly alignmentMs: number }
  /**
   * The checkpoint will not be taken here: forward a cancel marker and, unless the coordinator
   * itself asked, decline.
   */
  | {
      readonly kind: 'abort'
      readonly checkpointId: number
      readonly reason: AlignmentAbortReason
    }

/** A transition's result. */
export interface AlignmentStep {
  readonly state: AlignmentState
  readonly actions: readonly AlignmentAction[]
}

/** The state of a subtask that has seen no barrier. `lastSettled` is the restored checkpoint's id. */
export function newAlignment(channels: number, lastSettled = 0): AlignmentState {
  return { channels, ended: new Set(), lastSettled, pending: undefined }
}

/** A barrier came on a channel. Late and repeated barriers change nothing. */
export function onBarrier(
  state: AlignmentState,
  channel: number,
  barrier: Barrier,
  nowMs: number,
): AlignmentStep {
  if (barrier.checkpointId <= state.lastSettled) return { state, actions: [] }
  const current = state.pending
  if (current !== undefined && barrier.checkpointId < current.barrier.checkpointId) {
    return { state, actions: [] }
  }
  const overtaken =
    current !== undefined && barrier.checkpointId > current.barrier.checkpointId
      ? settle(state, current.barrier.checkpointId, 'newer-barrier')
      : { state, actions: [] }
  const step = arrive(overtaken.state, channel, barrier, nowMs)
  return { state: step.state, actions: [...overtaken.actions, ...step.actions] }
}

/** A channel ended: it counts as aligned from now on. */
export function onChannelEnded(
  state: AlignmentState,
  channel: number,
  nowMs: number,
): AlignmentStep {
  const next = { ...state, ended: new Set(state.ended).add(channel) }
  return next.pending === undefined ? { state: next, actions: [] } : finishIfAligned(next, nowMs)
}

/** Upstream gave up a checkpoint. The marker goes on downstream once. */
export function onCancelMarker(state: AlignmentState, checkpointId: number): AlignmentStep {
  if (isOutdated(state, checkpointId)) return { state, actions: [] }
  return settle(state, checkpointId, 'cancel-marker')
}

/** The coordinator gave up a checkpoint; only an alignment in progress is touched. */
export function onAborted(state: AlignmentState, checkpointId: number): AlignmentStep {
  if (state.pending?.barrier.checkpointId !== checkpointId) return { state, actions: [] }
  return settle(state, checkpointId, 'coordinator')
}

/** Whether input from the channel must wait. */
export function isBlocked(state: AlignmentState, channel: number): boolean {
  const pending = state.pending
  return pending?.barrier.mode === 'exactly-once' && pending.arrived.has(channel)
}

function isOutdated(state: AlignmentState, checkpointId: number): boolean {
  const pendingId = state.pending?.barrier.checkpointId ?? 0
  return checkpointId <= state.lastSettled || checkpointId < pendingId
}

function arrive(
  state: AlignmentState,
  channel: number,
  barrier: Barrier,
  nowMs: number,
): AlignmentStep {
  const before = state.pending
  if (before?.arrived.has(channel)) return { state, actions: [] }
  const arrived = new Set(before?.arrived).add(channel)
  const pending = { barrier, arrived, startedAtMs: before?.startedAtMs ?? nowMs }
  const step = finishIfAligned({ ...state, pending }, nowMs)
  if (step.state.pending === undefined || barrier.mode !== 'exactly-once') return step
  return { state: step.state, actions: [{ kind: 'block', channel }] }
}

function finishIfAligned(state: AlignmentState, nowMs: number): AlignmentStep {
  const pending = state.pending!
  for (let channel = 0; channel < state.channels; channel++) {
    if (!pending.arrived.has(channel) && !state.ended.has(channel)) return { state, actions: [] }
  }
  const { barrier } = pending
  const snapshot: AlignmentAction = {
    kind: 'snapshot',
    barrier,
    alignmentMs: nowMs - pending.startedAtMs,
  }
  return {
    state: { ...state, pending: undefined, lastSettled: barrier.checkpointId },
    actions: [snapshot, ...unblock(pending)],
  }
}

function settle(
  state: AlignmentState,
  checkpointId: number,
  reason: AlignmentAbortReason,
): AlignmentStep {
  const abort: AlignmentAction = { kind: 'abort', checkpointId, reason }
  return {
    state: { ...state, pending: undefined, lastSettled: checkpointId },
    actions: [abort, ...(state.pending === undefined ? [] : unblock(state.pending))],
  }
}

/** The last channel to arrive was never blocked; unblocking it again is harmless. */
function unblock(pending: PendingAlignment): AlignmentAction[] {
  if (pending.barrier.mode !== 'exactly-once') return []
  return [{ kind: 'unblock', channels: [...pending.arrived] }]
}
