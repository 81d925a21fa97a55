import { messageOf } from '../../core/errors.ts'
import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import type { SlotDeployment, SlotReport } from '../protocol/slot-messages.ts'
import { InputProcessor } from '../subtask/input-processor.ts'
import { blame } from '../subtask/operator-failure.ts'
import type { OperatorTask } from '../subtask/operator-task.ts'
import { SubtaskSnapshot } from '../subtask/snapshot.ts'
import { SourceInput } from '../subtask/source-input.ts'
import type { Subtask } from '../subtask/subtask.ts'
import type { CheckpointedStates } from './checkpointed-states.ts'

/** Options of a slot's part in checkpoints. */
export interface SlotCheckpointsOptions {
  readonly deployment: SlotDeployment
  readonly subtasks: readonly Subtask[]
  readonly states: CheckpointedStates
  readonly report: (report: SlotReport) => void
}

/** Takes a slot's part in checkpoints and reports the outcome to the main thread. */
export class SlotCheckpoints {
  private readonly deployment: SlotDeployment
  private readonly subtasks: readonly Subtask[]
  private readonly states: CheckpointedStates
  private readonly report: (report: SlotReport) => void
  /** The snapshots that are being written, at most one of a subtask. */
  private readonly snapshots = new Map<Subtask, SubtaskSnapshot>()

  constructor({ deployment, subtasks, states, report }: SlotCheckpointsOptions) {
    this.deployment = deployment
    this.subtasks = subtasks
    this.states = states
    this.report = report
  }

  /** Injects a barrier at the slot's sources, which deliver nothing after it if `stopAfter`. */
  trigger(barrier: Barrier, stopAfter: boolean): void {
    for (const subtask of this.subtasks) {
      if (!(subtask.input instanceof SourceInput)) continue
      if (stopAfter) subtask.input.pause()
      this.begin(subtask, barrier, 0)
    }
  }

  /** A subtask has received every barrier: its snapshot begins as soon as no asynchronous call runs. */
  begin(subtask: Subtask, barrier: Barrier, alignmentMs: number): void {
    subtask.calls.whenFree(() => this.snapshot(subtask, barrier, alignmentMs))
  }

  /** Copies out for about `budgetMs` per subtask; false when there was nothing to copy. */
  copy(budgetMs: number): boolean {
    if (this.snapshots.size === 0) return false
    let copied = false
    for (const snapshot of this.snapshots.values()) {
      if (snapshot.copying && snapshot.step(budgetMs)) copied = true
    }
    return copied
  }

  /** A subtask does not take part in a checkpoint. */
  decline(subtask: Subtask, checkpointId: number, reason: string): void {
    const { jobId, attempt } = this.deployment
    const decline = { jobId, attempt, checkpointId, task: subtask.name, reason }
    this.report({ kind: 'decline', attempt, decline })
  }

  /** The coordinator aborted a checkpoint. */
  aborted(checkpointId: number): void {
    for (const { input } of this.subtasks) {
      if (input instanceof InputProcessor) input.aborted(checkpointId)
    }
  }

  /** Sources deliver again after a stop that failed, and what a barrier has halted goes on. */
  resume(): void {
    for (const { input, gates } of this.subtasks) {
      gates.letGo()
      if (input instanceof SourceInput) input.resume()
    }
  }

  /** The checkpoint is durable: operators commit their part of it. */
  async completed(checkpointId: number): Promise<void> {
    this.states.completed(checkpointId)
    const commits = this.subtasks.map((subtask) =>
      subtask.calls.run(async () => {
        for (const task of subtask.operators) await commit(task, checkpointId)
      }),
    )
    await Promise.all(commits)
    this.report({ kind: 'committed', attempt: this.deployment.attempt, checkpointId })
  }

  /**
   * At the end of a job without checkpoints: prepares and commits as for a checkpoint, but stores
   * nothing.
   */
  async commitDirectly(checkpointId: number): Promise<void> {
    for (const subtask of this.subtasks) {
      await subtask.calls.suspendWhile(async () => {
        for (const task of subtask.operators) {
          await task.operator.prepareSnapshot(checkpointId)
          await commit(task, checkpointId)
        }
      })
    }
    this.report({ kind: 'committed', attempt: this.deployment.attempt, checkpointId })
  }

  private snapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void {
    if (!subtask.running) return
    // The snapshot of an aborted checkpoint may still be copied out; its segment counts for this one.
    this.snapshots.get(subtask)?.rush()
    const snapshot = new SubtaskSnapshot(subtask, barrier, alignmentMs)
    this.snapshots.set(subtask, snapshot)
    try {
      subtask.clearPosition()
      snapshot.begin()
      // What a timer or a late result did now would be lost, or done again by who continues the job.
      if (barrier.halts === true) subtask.gates.hold()
    } catch (error) {
      subtask.fail(error)
      return
    }
    void this.reportOutcome(subtask, snapshot)
    subtask.host.wake()
  }

  private async reportOutcome(subtask: Subtask, snapshot: SubtaskSnapshot): Promise<void> {
    const outcome = await snapshot.done
    if (this.snapshots.get(subtask) === snapshot) this.snapshots.delete(subtask)
    const { checkpointId } = snapshot.barrier
    if (outcome.kind === 'failed') {
      this.decline(subtask, checkpointId, messageOf(outcome.error))
      return
    }
    const { operators, timings, commitBy } = outcome
    const { jobId, attempt } = this.deployment
    const ack = { jobId, attempt, checkpointId, task: subtask.name, operators, timings, commitBy }
    this.report({ kind: 'ack', attempt, ack })
  }
}

async function commit(task: OperatorTask, checkpointId: number): Promise<void> {
  try {
    await task.operator.checkpointCompleted(checkpointId)
  } catch (error) {
    throw blame(error, task.node)
  }
}
