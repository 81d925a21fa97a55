import type { Barrier } from './checkpoint-types.ts'

/*
 * Alignment of barriers over the input channels of one subtask, as pure transitions: from a state and
 * an event to the next state and the actions to execute, in order.
 * Asynchronous Barrier Snapshotting (Carbone et al. 2015); Flink's SingleCheckpointBarrierHandler.
 */

/** State of a subtask's alignment; the first one is `newAlignment`. */
export interface AlignmentState {
  /**
   * Number of input channels, 0 <= channel < channels. A channel that has ended still delivers
   * barriers.
   */
  readonly channels: number
  /**
   * Newest checkpoint of which the subtask has taken a snapshot or which it has aborted; barriers up to
   * it are late.
   */
  readonly lastSettled: number
  /** The alignment in progress. */
  readonly pending: PendingAlignment | undefined
}

/** An alignment that still waits for barriers. */
export interface PendingAlignment {
  readonly barrier: Barrier
  readonly arrived: ReadonlySet<number>
  /** Time of the first barrier, in milliseconds of the caller's clock. */
  readonly startedAtMs: number
}

/** Why an alignment was aborted. */
export type AlignmentAbortReason =
  /** A barrier of a newer checkpoint overtook it. */
  | 'newer-barrier'
  /** A cancel marker came from upstream. */
  | 'cancel-marker'
  /** The coordinator aborted the checkpoint. */
  | 'coordinator'

/** An action that the subtask must execute. */
export type AlignmentAction =
  /** Take no more input from this channel until it is unblocked (exactly-once only). */
  | { readonly kind: 'block'; readonly channel: number }
  /** Take input from these channels again. */
  | { readonly kind: 'unblock'; readonly channels: readonly number[] }
  /** Every channel is aligned: fix the state, then forward the barrier. */
  | { readonly kind: 'snapshot'; readonly barrier: Barrier; readonly alignmentMs: number }
  /**
   * The subtask does not take the checkpoint: forward a cancel marker and decline, unless the
   * coordinator aborted it.
   */
  | {
      readonly kind: 'abort'
      readonly checkpointId: number
      readonly reason: AlignmentAbortReason
    }

/** Result of a transition. */
export interface AlignmentStep {
  readonly state: AlignmentState
  readonly actions: readonly AlignmentAction[]
}

/**
 * The state of a subtask before its first barrier. `lastSettled` is the id of the restored checkpoint.
 */
export function newAlignment(channels: number, lastSettled = 0): AlignmentState {
  return { channels, lastSettled, pending: undefined }
}

/** A barrier that arrived on a channel. */
export interface BarrierArrival {
  readonly channel: number
  readonly barrier: Barrier
  readonly nowMs: number
}

/** A barrier arrived on a channel. Late and repeated barriers change nothing. */
export function onBarrier(state: AlignmentState, arrival: BarrierArrival): AlignmentStep {
  const { barrier } = arrival
  if (barrier.checkpointId <= state.lastSettled) return { state, actions: [] }
  const current = state.pending
  if (current !== undefined && barrier.checkpointId < current.barrier.checkpointId) {
    return { state, actions: [] }
  }
  const overtaken =
    current !== undefined && barrier.checkpointId > current.barrier.checkpointId
      ? settle(state, current.barrier.checkpointId, 'newer-barrier')
      : { state, actions: [] }
  const step = arrive(overtaken.state, arrival)
  return { state: step.state, actions: [...overtaken.actions, ...step.actions] }
}

/** A barrier that overtakes what waits in front of it. */
export interface OvertakingBarrier {
  readonly barrier: Barrier
  /** Time since the first barrier of the checkpoint came, in ms. */
  readonly alignmentMs: number
}

/**
 * A barrier overtakes: the snapshot is taken without the barriers that have not arrived, and the alignment ends.
 * A checkpoint that is settled, or older than the alignment in progress, changes nothing.
 */
export function onOvertaking(
  state: AlignmentState,
  { barrier, alignmentMs }: OvertakingBarrier,
): AlignmentStep {
  if (isOutdated(state, barrier.checkpointId)) return { state, actions: [] }
  const { pending } = state
  const older =
    pending !== undefined && pending.barrier.checkpointId < barrier.checkpointId
      ? settle(state, pending.barrier.checkpointId, 'newer-barrier').actions
      : []
  const unblocked = pending !== undefined && older.length === 0 ? unblock(pending) : []
  return {
    state: { ...state, pending: undefined, lastSettled: barrier.checkpointId },
    actions: [...older, { kind: 'snapshot', barrier, alignmentMs }, ...unblocked],
  }
}

/** Upstream aborted a checkpoint. The marker is forwarded downstream once. */
export function onCancelMarker(state: AlignmentState, checkpointId: number): AlignmentStep {
  if (isOutdated(state, checkpointId)) return { state, actions: [] }
  return settle(state, checkpointId, 'cancel-marker')
}

/** The coordinator aborted a checkpoint; this affects only an alignment in progress. */
export function onAborted(state: AlignmentState, checkpointId: number): AlignmentStep {
  if (state.pending?.barrier.checkpointId !== checkpointId) return { state, actions: [] }
  return settle(state, checkpointId, 'coordinator')
}

function isOutdated(state: AlignmentState, checkpointId: number): boolean {
  const pendingId = state.pending?.barrier.checkpointId ?? 0
  return checkpointId <= state.lastSettled || checkpointId < pendingId
}

function arrive(state: AlignmentState, { channel, barrier, nowMs }: BarrierArrival): AlignmentStep {
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
  if (pending.arrived.size < state.channels) return { state, actions: [] }
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
