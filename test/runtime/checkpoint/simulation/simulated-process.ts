import { isWeirError, messageOf } from '../../../../src/core/errors.ts'
import type { Random } from '../../../../src/core/random.ts'
import { CheckpointCoordinator } from '../../../../src/runtime/checkpoint/coordinator/coordinator.ts'
import { readManifest } from '../../../../src/runtime/checkpoint/manifest/read.ts'
import type { CheckpointManifest } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { planRestore } from '../../../../src/runtime/checkpoint/protocol/restore-plan.ts'
import type { ManualClock } from '../../../../src/testing/manual-clock.ts'
import type { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { type Fault, FaultyStorage } from './faulty-storage.ts'
import type { SeededScheduler } from './scheduler.ts'
import { type Counters, MAX_PARALLELISM, SimulatedSubtask } from './simulated-subtask.ts'

/** Id of the job that every simulated process runs. */
export const JOB_ID = '5'.repeat(32)

/** The state of a job, and how far each partition was read. */
export interface JoinedState {
  readonly counters: Counters
  readonly offsets: ReadonlyMap<number, number>
}

/** The world as a process in it sees it. */
export interface ProcessWorld {
  readonly disk: MemoryCheckpointStorage
  readonly clock: ManualClock
  readonly random: Random
  readonly scheduler: SeededScheduler
  readonly violations: string[]
  readonly savepoints: { path: string; manifest: CheckpointManifest }[]
  readonly newestGeneration: number
  /** Sends a message between coordinator and subtasks, which may be lost, late, doubled or reordered. */
  send(deliver: () => void): void
  /** The fault of the coordinator's next storage call. */
  nextFault(name: string): Fault
  /** The fault of a subtask's next storage call. */
  subtaskFault(): Fault
  /** Pauses a process, which counts as dead; a new one starts. */
  pause(process: SimulatedProcess): Promise<void>
  /** The process has ended. */
  ended(process: SimulatedProcess): void
  onClaimed(generation: number): void
  onCut(owner: string, checkpointId: number, partition: number, offset: number): void
  onAnnounced(generation: number, manifest: CheckpointManifest): void
  onRestored(generation: number, manifest: CheckpointManifest | undefined, found: JoinedState): void
}

/** One process: a coordinator and the attempts of the job. */
export class SimulatedProcess {
  alive = true
  private readonly world: ProcessWorld
  private coordinator: CheckpointCoordinator | undefined
  private subtasks: SimulatedSubtask[] = []
  private attempt = 0
  private failed: (() => void) | undefined

  constructor(world: ProcessWorld) {
    this.world = world
  }

  /** Runs the job until the process ends. */
  async run(): Promise<void> {
    while (this.alive) {
      try {
        this.coordinator ??= await this.open()
        await this.runAttempt(this.coordinator)
      } catch (error) {
        // A real process would exit; the supervisor starts another.
        if (!this.isExpected(error)) this.world.violations.push(`unexpected: ${messageOf(error)}`)
        this.kill()
        this.world.ended(this)
      }
    }
  }

  /** Every subtask processes a little. */
  work(): void {
    if (this.alive) for (const subtask of this.subtasks) subtask.process()
  }

  crashSubtask(): void {
    this.failed?.()
  }

  savepoint(): void {
    const { coordinator } = this
    if (!this.alive || coordinator === undefined) return
    coordinator.triggerSavepoint().then(
      async (path) => {
        const manifest = await readManifest(this.world.disk, path)
        this.world.savepoints.push({ path, manifest })
      },
      () => {},
    )
  }

  kill(): void {
    this.alive = false
    this.subtasks = []
  }

  /** A fenced process may find that its successor has deleted the checkpoint that it must restore. */
  private isExpected(error: unknown): boolean {
    const fenced = (this.coordinator?.generation ?? 0) < this.world.newestGeneration
    return (
      isWeirError(error, 'COORDINATOR_FENCED') ||
      (isWeirError(error, 'CHECKPOINT_NOT_FOUND') && fenced) ||
      messageOf(error).includes('simulated')
    )
  }

  private async open(): Promise<CheckpointCoordinator> {
    const { world } = this
    const coordinator: CheckpointCoordinator = await CheckpointCoordinator.open({
      jobId: JOB_ID,
      jobName: 'simulated',
      storage: this.storage((name) => world.nextFault(name)),
      clock: world.clock,
      random: world.random,
      intervalMs: 50,
      timeoutMs: 400,
      tolerableFailures: 2,
      retained: 1 + world.random.below(2),
      compaction: { maxChainLength: 2, minMerged: 2, sizeRatio: 2, maxOverhead: 4 },
      job: {
        triggerBarrier: (barrier) => this.toSubtasks((s) => s.onBarrier(barrier)),
        notifyCompleted: (id) => this.toSubtasks((s) => s.onCompleted(id)),
        notifyAborted: () => {},
        failJob: (error) => {
          if (error.code === 'COORDINATOR_FENCED') this.kill()
          this.failed?.()
        },
      },
      listener: {
        checkpointCompleted: (manifest) => {
          if (this.alive) world.onAnnounced(coordinator.generation, manifest)
        },
      },
    })
    world.onClaimed(coordinator.generation)
    return coordinator
  }

  private async runAttempt(coordinator: CheckpointCoordinator): Promise<void> {
    const { world } = this
    const attempt = ++this.attempt
    const manifest = await coordinator.restorePoint(attempt)
    const parallelism = 2 ** world.random.below(3)
    const owner = { generation: coordinator.generation, attempt }
    const subtasks = await restoreSubtasks(world, manifest, { parallelism, owner, process: this })
    if (!this.alive) return
    world.onRestored(coordinator.generation, manifest, joinedState(subtasks))
    this.subtasks = subtasks
    const failure = new Promise<void>((resolve) => {
      this.failed = resolve
    })
    coordinator.start(
      attempt,
      subtasks.map((subtask) => subtask.task),
    )
    await failure
    this.subtasks = []
    this.failed = undefined
    await coordinator.stop()
  }

  /** For a subtask of this process. */
  onAck(...args: Parameters<CheckpointCoordinator['onAck']>): void {
    this.world.send(() => this.alive && this.coordinator?.onAck(...args))
  }

  onDecline(...args: Parameters<CheckpointCoordinator['onDecline']>): void {
    this.world.send(() => this.alive && this.coordinator?.onDecline(...args))
  }

  storage(next: (name: string) => Fault): FaultyStorage {
    const self = this
    return new FaultyStorage(this.world.disk, {
      next,
      turn: () => this.world.scheduler.turn(),
      crash: () => {
        this.kill()
        this.world.ended(this)
      },
      pause: () => this.world.pause(this),
      get alive() {
        return self.alive
      },
    })
  }

  private toSubtasks(deliver: (subtask: SimulatedSubtask) => void): void {
    for (const subtask of this.subtasks) {
      this.world.send(() => this.subtasks.includes(subtask) && deliver(subtask))
    }
  }
}

/** Whose subtasks restore. */
interface SubtaskOwner {
  readonly parallelism: number
  readonly owner: { readonly generation: number; readonly attempt: number }
  /** Undefined to restore without faults and without a coordinator. */
  readonly process?: SimulatedProcess
}

/** The subtasks of a job that have restored a checkpoint, or start from nothing. */
export async function restoreSubtasks(
  world: ProcessWorld,
  manifest: CheckpointManifest | undefined,
  { parallelism, owner, process }: SubtaskOwner,
): Promise<SimulatedSubtask[]> {
  const storage = process?.storage(() => world.subtaskFault()) ?? world.disk
  const restoring = process?.storage(() => 'none') ?? world.disk
  const operator = { uid: 'counter', parallelism, maxParallelism: MAX_PARALLELISM }
  const plan = manifest === undefined ? undefined : planRestore(manifest, [operator])
  const name = `${owner.generation}-${owner.attempt}`
  const subtasks: SimulatedSubtask[] = []
  for (let subtask = 0; subtask < parallelism; subtask++) {
    const made = new SimulatedSubtask({
      ...owner,
      jobId: JOB_ID,
      subtask,
      parallelism,
      storage,
      random: world.random,
      onCut: (id, partition, offset) => world.onCut(name, id, partition, offset),
      sendAck: (ack) => process?.onAck(ack),
      sendDecline: (decline) => process?.onDecline(decline),
    })
    const part = plan?.get('counter')?.[subtask]
    if (part !== undefined) await made.restore(part, restoring)
    subtasks.push(made)
  }
  return subtasks
}

/** The state and the source offsets of all subtasks together. */
export function joinedState(subtasks: readonly SimulatedSubtask[]): JoinedState {
  return {
    counters: new Map(subtasks.flatMap((subtask) => [...subtask.counters])),
    offsets: new Map(subtasks.flatMap((subtask) => [...subtask.offsets])),
  }
}
