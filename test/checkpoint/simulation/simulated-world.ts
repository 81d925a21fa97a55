import { CheckpointCoordinator } from '../../../src/checkpoint/checkpoint-coordinator.ts'
import { classifyPath } from '../../../src/checkpoint/checkpoint-paths.ts'
import { decodeManifest } from '../../../src/checkpoint/manifest-format.ts'
import type { CheckpointManifest } from '../../../src/checkpoint/protocol/checkpoint-types.ts'
import { planRestore } from '../../../src/checkpoint/protocol/restore-plan.ts'
import {
  isValidManifest,
  type RestoreRecord,
} from '../../../src/checkpoint/protocol/valid-checkpoints.ts'
import { readManifest } from '../../../src/checkpoint/read-manifest.ts'
import { isWeirError, messageOf } from '../../../src/core/errors.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { MemoryCheckpointStorage } from '../../../src/testing/memory-checkpoint-storage.ts'
import { type Fault, FaultyStorage } from './faulty-storage.ts'
import { SeededScheduler } from './scheduler.ts'
import {
  type Counters,
  foldedCounters,
  MAX_PARALLELISM,
  PARTITIONS,
  SimulatedSubtask,
} from './simulated-subtask.ts'

/** Submission that every simulated process runs. */
export const JOB_ID = '5'.repeat(32)

/** Storage that tells whether something was deleted. */
class WatchedStorage extends MemoryCheckpointStorage {
  private deleted = false

  override async delete(path: string): Promise<void> {
    await super.delete(path)
    this.deleted = true
  }

  takeDeleted(): boolean {
    const { deleted } = this
    this.deleted = false
    return deleted
  }
}

/** How rough the simulated world is. */
export interface WorldOptions {
  readonly seed: number
  /** Scheduler steps with faults; calm steps follow. */
  readonly steps: number
  /** Share of messages that are lost, and that come twice. */
  readonly messageLoss: number
  /** Chance of a subtask's crash per step. */
  readonly crashRate: number
  /** Decides about the coordinator's storage calls, counted over all processes from 0. */
  fault(call: number, name: string, random: Random): Fault
  /** Decides about the subtasks' storage calls. */
  subtaskFault(random: Random): Fault
}

/** What a run went through. */
export interface WorldReport {
  readonly violations: readonly string[]
  readonly announced: number
  readonly restores: number
  readonly generations: number
  readonly coordinatorCalls: number
  readonly savepoints: number
  readonly compacted: number
}

/**
 * Storage, network, clock and a row of processes that each run the job with a real coordinator and
 * simulated subtasks. Violated invariants are collected as sentences.
 */
export class SimulatedWorld {
  readonly disk = new WatchedStorage()
  readonly clock = new ManualClock(1_000_000)
  readonly random: Random
  readonly scheduler: SeededScheduler
  readonly options: WorldOptions
  readonly violations: string[] = []
  calm = false
  private calls = 0
  private readonly paused: (() => void)[] = []
  private process: SimulatedProcess | undefined
  private announced: { generation: number; checkpointId: number }[] = []
  private readonly restores: { generation: number; checkpointId: number }[] = []
  /** Offsets of the cut of every (generation, attempt, checkpoint). */
  private readonly cuts = new Map<string, Map<number, number>>()
  readonly savepoints: { path: string; manifest: CheckpointManifest }[] = []
  newestGeneration = 0
  private compacted = 0

  constructor(options: WorldOptions) {
    this.options = options
    this.random = seededRandom(options.seed)
    this.scheduler = new SeededScheduler(this.random)
  }

  async run(): Promise<WorldReport> {
    this.startProcess()
    for (let step = 0; step < this.options.steps && this.violations.length === 0; step++) {
      await this.step()
    }
    this.calm = true
    for (const resume of this.paused.splice(0)) resume()
    // A last restart without faults must find the state, and checkpoints must complete again.
    this.process?.kill()
    this.startProcess()
    const before = this.announced.length
    for (let step = 0; step < 2000 && this.announced.length < before + 3; step++) await this.step()
    if (this.violations.length === 0 && this.announced.length < before + 3) {
      this.violations.push('no three checkpoints complete in a calm world')
    }
    await this.checkSavepoints()
    return {
      violations: this.violations,
      announced: this.announced.length,
      restores: this.restores.length,
      generations: this.newestGeneration,
      coordinatorCalls: this.calls,
      savepoints: this.savepoints.length,
      compacted: this.compacted,
    }
  }

  /** A message between coordinator and subtasks: may be lost, late, doubled, reordered. */
  send(deliver: () => void): void {
    const { messageLoss } = this.options
    const fate = this.calm ? 1 : this.random.next()
    if (fate < messageLoss) return
    this.scheduler.later(deliver)
    if (fate < 2 * messageLoss) this.scheduler.later(deliver)
  }

  nextFault(name: string): Fault {
    const call = this.calls++
    return this.calm ? 'none' : this.options.fault(call, name, this.random)
  }

  /** Holds a process that is believed dead; a new one starts meanwhile. */
  pause(process: SimulatedProcess): Promise<void> {
    if (this.process === process) this.startProcess()
    return new Promise((resolve) => this.paused.push(resolve))
  }

  /** The process is gone; the next one starts if it was the newest. */
  ended(process: SimulatedProcess): void {
    if (this.process === process) this.startProcess()
  }

  onClaimed(generation: number): void {
    this.newestGeneration = Math.max(this.newestGeneration, generation)
  }

  onCut(owner: string, checkpointId: number, partition: number, offset: number): void {
    const key = `${owner}/${checkpointId}`
    const cut = this.cuts.get(key) ?? new Map<number, number>()
    cut.set(partition, offset)
    this.cuts.set(key, cut)
  }

  onAnnounced(generation: number, manifest: CheckpointManifest): void {
    const { checkpointId } = manifest
    for (const restore of this.restores) {
      if (restore.generation > generation && restore.checkpointId < checkpointId) {
        this.violations.push(
          `generation ${generation} completed ${checkpointId} though ${restore.generation} had gone on from ${restore.checkpointId}`,
        )
      }
    }
    this.announced.push({ generation, checkpointId })
    const paths = manifest.operators.flatMap((o) => o.segments.map((s) => s.path))
    if (paths.some((path) => path.includes('compacted'))) this.compacted += 1
  }

  onRestored(
    generation: number,
    manifest: CheckpointManifest | undefined,
    found: { readonly counters: Counters; readonly offsets: ReadonlyMap<number, number> },
  ): void {
    const checkpointId = manifest?.checkpointId ?? 0
    // A fenced process may still restore what was newest in its time; it can complete nothing.
    const past = this.announced.filter((a) => a.generation <= generation)
    const newest = Math.max(0, ...past.map((a) => a.checkpointId))
    if (checkpointId < newest) {
      this.violations.push(`restored ${checkpointId} though ${newest} was completed`)
    }
    this.restores.push({ generation, checkpointId })
    this.checkCut(manifest, found)
  }

  private checkCut(
    manifest: CheckpointManifest | undefined,
    found: { readonly counters: Counters; readonly offsets: ReadonlyMap<number, number> },
  ): void {
    const name = manifest === undefined ? 'nothing' : `checkpoint ${manifest.checkpointId}`
    const owner = `${manifest?.generation}-${manifest?.attempt}/${manifest?.checkpointId}`
    const offsets = Array.from({ length: PARTITIONS }, (_, p) => found.offsets.get(p) ?? 0)
    const cut = this.cuts.get(owner)
    const wanted = offsets.map((_, p) => (manifest === undefined ? 0 : (cut?.get(p) ?? -1)))
    if (offsets.join() !== wanted.join()) {
      this.violations.push(`${name} gave offsets ${offsets}, its cut was ${wanted}`)
    }
    const expected = textOf(foldedCounters(offsets))
    const actual = textOf(found.counters)
    if (actual !== expected) {
      this.violations.push(`${name} gave ${actual}, the fold of its cut is ${expected}`)
    }
  }

  private async step(): Promise<void> {
    const dice = this.random.next()
    if (dice < 0.15) this.clock.advance(this.random.below(60))
    else if (dice < 0.35) this.process?.work()
    else if (dice < 0.35 + this.options.crashRate && !this.calm) this.process?.crashSubtask()
    else if (dice > 0.99 && this.paused.length > 0) this.paused.shift()!()
    else if (dice > 0.985) this.process?.savepoint()
    await this.scheduler.step()
    if (this.disk.takeDeleted()) this.checkFiles()
  }

  /** Every file that a valid manifest refers to is there. */
  private checkFiles(): void {
    const records: RestoreRecord[] = []
    const manifests: CheckpointManifest[] = []
    for (const [path, bytes] of this.disk.files) {
      const stored = classifyPath(JOB_ID, path)
      if (stored.kind === 'restored') records.push(stored.record)
      if (stored.kind === 'manifest') manifests.push(decodeManifest(bytes))
    }
    for (const manifest of manifests) {
      if (!isValidManifest(manifest, records)) continue
      for (const segment of manifest.operators.flatMap((operator) => operator.segments)) {
        if (!this.disk.files.has(segment.path)) {
          this.violations.push(`checkpoint ${manifest.checkpointId} lost ${segment.path}`)
        }
      }
    }
  }

  private startProcess(): void {
    this.process = new SimulatedProcess(this)
    void this.process.live()
  }

  /** A savepoint must be readable without anything else. */
  private async checkSavepoints(): Promise<void> {
    await this.disk.delete(JOB_ID)
    for (const { path } of this.savepoints) {
      const manifest = await readManifest(this.disk, path)
      const subtasks = await restoreSubtasks(this, manifest, 1, { generation: 0, attempt: 1 })
      this.checkCut(manifest, join(subtasks))
    }
  }
}

/** One process: a coordinator and the attempts of the job. */
export class SimulatedProcess {
  alive = true
  private readonly world: SimulatedWorld
  private coordinator: CheckpointCoordinator | undefined
  private subtasks: SimulatedSubtask[] = []
  private attempt = 0
  private failed: (() => void) | undefined

  constructor(world: SimulatedWorld) {
    this.world = world
  }

  /** Runs the job for as long as the process lives. */
  async live(): Promise<void> {
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

  /** A fenced process may find that its successor has removed what it meant to restore. */
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
      gateway: {
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
    const subtasks = await restoreSubtasks(world, manifest, parallelism, owner, this)
    if (!this.alive) return
    world.onRestored(coordinator.generation, manifest, join(subtasks))
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

async function restoreSubtasks(
  world: SimulatedWorld,
  manifest: CheckpointManifest | undefined,
  parallelism: number,
  owner: { readonly generation: number; readonly attempt: number },
  process?: SimulatedProcess,
): Promise<SimulatedSubtask[]> {
  const storage =
    process?.storage(() => (world.calm ? 'none' : world.options.subtaskFault(world.random))) ??
    world.disk
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

function join(subtasks: readonly SimulatedSubtask[]): {
  counters: Counters
  offsets: Map<number, number>
} {
  return {
    counters: new Map(subtasks.flatMap((subtask) => [...subtask.counters])),
    offsets: new Map(subtasks.flatMap((subtask) => [...subtask.offsets])),
  }
}

function textOf(counters: Counters): string {
  return [...counters]
    .map(([key, count]) => `${key}=${count}`)
    .sort()
    .join(' ')
}
