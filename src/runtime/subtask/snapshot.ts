import type { Deadline } from '../../core/moment.ts'
import { STORED_WATERMARKS, watermarkEntries } from '../../operators/port/stored-watermark.ts'
import {
  type Barrier,
  type CheckpointTimings,
  type OperatorSnapshot,
  type OperatorStateEntries,
  OVERTAKEN_RECORDS,
} from '../checkpoint/protocol/checkpoint-types.ts'
import type { CheckpointedStateSnapshot } from './checkpointed-state.ts'
import { blame } from './operator-failure.ts'
import type { OperatorTask } from './operator-task.ts'
import { overtakeOutputs } from './overtaking.ts'
import type { Subtask } from './subtask.ts'

/** One operator's part, fixed at the barrier. */
interface Part {
  readonly task: OperatorTask
  readonly keyed: CheckpointedStateSnapshot | undefined
  operatorState: readonly OperatorStateEntries[]
}

/** Outcome of a snapshot. */
export type SnapshotOutcome =
  | {
      readonly kind: 'complete'
      readonly operators: readonly OperatorSnapshot[]
      readonly timings: CheckpointTimings
      readonly commitBy: readonly Deadline[]
    }
  | { readonly kind: 'failed'; readonly error: unknown }

/**
 * One subtask's part of a checkpoint. `begin` does everything that must happen at the barrier, in one
 * turn: operators flush, the barrier is forwarded, changes are fixed. `step` copies the state out,
 * between slices of processing; `done` resolves when everything is durable.
 */
export class SubtaskSnapshot {
  readonly barrier: Barrier
  readonly done: Promise<SnapshotOutcome>
  private readonly subtask: Subtask
  private readonly alignmentMs: number
  private readonly startDelayMs: number
  private readonly parts: Part[] = []
  private readonly resolve: (outcome: SnapshotOutcome) => void
  private prepared: Promise<void> = Promise.resolve()
  /** The records that the barrier has overtaken; undefined when it was aligned. */
  private overtaken: Promise<readonly Uint8Array[]> | undefined
  private beganMs = 0
  private syncMs = 0
  private current = 0
  private finishing = false
  private waiting = false

  constructor(subtask: Subtask, barrier: Barrier, alignmentMs: number) {
    this.subtask = subtask
    this.barrier = barrier
    this.alignmentMs = alignmentMs
    this.startDelayMs = Math.max(0, subtask.clock.nowMs() - barrier.timestampMs - alignmentMs)
    const { promise, resolve } = Promise.withResolvers<SnapshotOutcome>()
    this.done = promise
    this.resolve = resolve
  }

  /** Whether there is still something to copy out. */
  get copying(): boolean {
    return !this.finishing
  }

  /** Does what must happen at the barrier. Input waits until the operators have prepared their part. */
  begin(): void {
    const { subtask, barrier } = this
    this.beganMs = subtask.clock.monotonicMs()
    this.overtaken = subtask.input.overtaken?.(barrier.checkpointId)
    const preparations: Promise<void>[] = []
    for (const task of subtask.operators) {
      const prepared = task.call((operator) => operator.prepareSnapshot(barrier.checkpointId))
      if (prepared === undefined) continue
      preparations.push(
        prepared.catch((error) => {
          throw blame(error, task.node)
        }),
      )
    }
    subtask.control((channel) => ({ kind: 'barrier', channel, barrier }))
    overtakeOutputs(subtask, barrier)
    for (const task of subtask.operators) {
      const keyed = task.keyedState?.snapshot(barrier.checkpointId, barrier.full)
      this.parts.push({ task, keyed, operatorState: [] })
    }
    if (preparations.length === 0) this.fixOperatorState()
    else {
      this.prepared = subtask.calls.suspendWhile(async () => {
        await Promise.all(preparations)
        this.fixOperatorState()
      })
      this.prepared.catch((error) => subtask.fail(error))
    }
    this.syncMs = subtask.clock.monotonicMs() - this.beganMs
  }

  /** Copies out for about `budgetMs`; false when it could do nothing now. */
  step(budgetMs: number): boolean {
    if (this.finishing || this.waiting) return false
    while (this.current < this.parts.length) {
      const { keyed } = this.parts[this.current]!
      if (keyed !== undefined && !keyed.step(budgetMs)) {
        this.waitUntilReady(keyed)
        return true
      }
      this.current += 1
    }
    this.finishing = true
    void this.finish()
    return true
  }

  /** Copies out everything at once, because a newer barrier has arrived. */
  rush(): void {
    this.waiting = false
    if (this.finishing) return
    this.finishing = true
    void this.finish()
  }

  private waitUntilReady(keyed: CheckpointedStateSnapshot): void {
    this.waiting = true
    const goOn = (): void => {
      this.waiting = false
      this.subtask.host.wake()
    }
    keyed.whenReady().then(goOn, goOn)
  }

  private fixOperatorState(): void {
    for (const part of this.parts) part.operatorState = stateOf(part.task)
    this.syncMs = this.subtask.clock.monotonicMs() - this.beganMs
  }

  private async finish(): Promise<void> {
    const finishes = this.parts.map((part) => part.keyed?.finish() ?? Promise.resolve([]))
    // A segment may fail while the operators still prepare, before the `await` below. Without a handler
    // the rejection would end the thread.
    for (const finish of finishes) finish.catch(() => undefined)
    try {
      await this.prepared
      const segments = await Promise.all(finishes)
      const overtaken = overtakenState((await this.overtaken) ?? [])
      const operators = this.parts.map((part, i): OperatorSnapshot => {
        const { node, keyedState } = part.task
        return {
          uid: node.uid,
          subtask: this.subtask.index,
          parallelism: node.parallelism,
          maxParallelism: node.maxParallelism,
          declarations: keyedState?.backend.declarations() ?? [],
          segments: segments[i]!,
          isKeyed: keyedState !== undefined,
          // What was on its way to the subtask belongs to its first operator.
          operatorState: i === 0 ? [...part.operatorState, ...overtaken] : part.operatorState,
        }
      })
      const commitBy = this.parts.flatMap(({ task }) => task.operator.commitBy?.() ?? [])
      this.resolve({ kind: 'complete', operators, timings: this.timings(), commitBy })
    } catch (error) {
      await Promise.allSettled(finishes)
      this.resolve({ kind: 'failed', error })
    }
  }

  private timings(): CheckpointTimings {
    const { startDelayMs, alignmentMs, syncMs } = this
    const asyncMs = this.subtask.clock.monotonicMs() - this.beganMs - syncMs
    return { startDelayMs, alignmentMs, syncMs, asyncMs }
  }
}

/** The operator state of a task; with keyed state, also what that has seen of time. */
function stateOf({
  operatorState,
  keyedState,
  currentWatermark,
}: OperatorTask): OperatorStateEntries[] {
  if (keyedState === undefined) return operatorState.entries()
  const entries = watermarkEntries(keyedState.backend.keyGroups, currentWatermark)
  if (entries.length > 0) operatorState.update(STORED_WATERMARKS, 'union', entries)
  return operatorState.entries()
}

function overtakenState(entries: readonly Uint8Array[]): OperatorStateEntries[] {
  if (entries.length === 0) return []
  return [{ name: OVERTAKEN_RECORDS, redistribution: 'channels', entries }]
}
