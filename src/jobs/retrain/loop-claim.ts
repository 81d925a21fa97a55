import type { Cancel, Clock } from '../../core/clock.ts'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import type { Processes } from '../../models/registry/publisher.ts'
import {
  mayLease,
  RENEW_LEASE_MS,
  type RetrainingLease,
} from '../../models/registry/retraining-lease.ts'
import { machineProcesses, Publication } from '../../models/topic/publication.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import { processClaimant } from '../../runtime/checkpoint/coordinator/claimant.ts'
import { CheckpointRepository } from '../../runtime/checkpoint/coordinator/repository.ts'
import { FileCheckpointStorage } from '../../runtime/checkpoint/storage/file.ts'

/** Options of a claim. */
export interface LoopClaimOptions {
  /** Folder of claims, of one data folder. */
  readonly folder: string
  readonly model: string
  /** Whether the model is taken over from a loop that runs, which then ends. */
  readonly isTakeOver: boolean
  readonly clock: Clock
  /** The registry where loops of other folders and machines meet; default: there are none. */
  readonly registry?: Pick<ModelRegistry, 'require' | 'execute'> | undefined
  readonly onWarning: (warning: string) => void
}

/**
 * The claim of one loop on the retraining of a model: two loops would promote against each other. In a data folder it is
 * made as a job claims its checkpoints; on a cluster it is a lease in the registry, too.
 */
export class LoopClaim implements AsyncDisposable {
  private readonly storage: FileCheckpointStorage
  private readonly claim: CheckpointRepository
  private readonly lease: RegistryLease | undefined

  private constructor(
    storage: FileCheckpointStorage,
    claim: CheckpointRepository,
    lease: RegistryLease | undefined,
  ) {
    this.storage = storage
    this.claim = claim
    this.lease = lease
  }

  /** Throws JOB_ALREADY_RUNNING if a loop of another process, which runs, has the model. */
  static async take(options: LoopClaimOptions): Promise<LoopClaim> {
    const { folder, model, isTakeOver, clock, registry, onWarning } = options
    const storage = new FileCheckpointStorage(folder)
    const claimant = processClaimant(`retrain ${model}`, isTakeOver, clock)
    const claim = await CheckpointRepository.claim(storage, model, {
      claimant,
      warn: ({ message }) => onWarning(message),
    })
    await claim.removeOutdated([], ({ message }) => onWarning(message))
    if (registry === undefined) return new LoopClaim(storage, claim, undefined)
    try {
      return new LoopClaim(storage, claim, await RegistryLease.take({ ...options, registry }))
    } catch (error) {
      await new LoopClaim(storage, claim, undefined)[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Throws COORDINATOR_FENCED if another loop has taken the model over. */
  async requireHeld(): Promise<void> {
    await this.claim.assertNotFenced()
    await this.lease?.requireHeld()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lease?.[Symbol.asyncDispose]()
    await this.claim.release()
    await this.storage.close()
  }
}

/** Options of a lease. */
export interface RegistryLeaseOptions {
  readonly registry: Pick<ModelRegistry, 'require' | 'execute'>
  readonly model: string
  /** Whether the model is taken over from a loop that runs, which then ends. */
  readonly isTakeOver: boolean
  readonly clock: Clock
  readonly onWarning: (warning: string) => void
  /** The processes of this machine. @default those that run */
  readonly here?: Processes
}

/**
 * The lease of one loop on the retraining of a model, in the registry, where loops of all folders and machines see it.
 * A model that is not registered yet is leased at the first look after it was.
 */
export class RegistryLease implements AsyncDisposable {
  private readonly options: RegistryLeaseOptions
  private readonly loop = new Publication()
  private readonly sinceMs: number
  private hasLease = false
  private renewedMs = Number.NEGATIVE_INFINITY
  private cancel: Cancel | undefined
  private running: Promise<void> = Promise.resolve()
  private lost: WeirError | undefined

  private constructor(options: RegistryLeaseOptions) {
    this.options = options
    this.sinceMs = options.clock.nowMs()
  }

  /** Throws JOB_ALREADY_RUNNING if another loop, which may run, has the model. */
  static async take(options: RegistryLeaseOptions): Promise<RegistryLease> {
    const lease = new RegistryLease(options)
    try {
      await lease.renew()
    } catch (error) {
      lease.loop[Symbol.dispose]()
      throw error
    }
    lease.renewLater()
    return lease
  }

  /** Throws COORDINATOR_FENCED if another loop has taken the model over, JOB_ALREADY_RUNNING as `take`. */
  async requireHeld(): Promise<void> {
    await this.running
    if (this.lost === undefined && this.isDue()) await this.renew()
    if (this.lost !== undefined) throw this.lost
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cancel?.()
    await this.running
    this.loop[Symbol.dispose]()
    const { registry, model, onWarning } = this.options
    if (!this.hasLease || this.lost !== undefined) return
    // Without it the next loop sees that this process has ended, or waits for it on another machine.
    await registry
      .execute({ kind: 'end-retraining', name: model, process: this.loop.name })
      .catch((error) => onWarning(messageOf(error)))
  }

  private isDue(): boolean {
    return this.options.clock.monotonicMs() - this.renewedMs >= RENEW_LEASE_MS
  }

  /** A training takes longer than a lease: the timer renews it meanwhile. */
  private renewLater(): void {
    this.cancel = this.options.clock.after(RENEW_LEASE_MS, () => {
      this.running = this.renew().catch((error) => this.options.onWarning(messageOf(error)))
      void this.running.then(() => this.renewLater())
    })
  }

  private async renew(): Promise<void> {
    const { registry, model, clock } = this.options
    const { name: process } = this.loop
    const lease = { process, sinceMs: this.sinceMs, atMs: clock.nowMs() }
    const mayTake = this.hasLease
      ? (held: RetrainingLease | undefined) => held?.process === process
      : (held: RetrainingLease | undefined) => this.mayBegin(held)
    try {
      const { outcome } = await registry.require({
        kind: 'lease-retraining',
        name: model,
        lease,
        mayTake,
      })
      this.hasLease ||= outcome.kind === 'changed'
      this.renewedMs = clock.monotonicMs()
    } catch (error) {
      if (!this.hasLease || !isWeirError(error, 'JOB_ALREADY_RUNNING')) throw error
      this.lost = new WeirError(
        'COORDINATOR_FENCED',
        `another loop has taken over the retraining of ${model}: this one ends`,
        { cause: error },
      )
    }
  }

  private mayBegin(held: RetrainingLease | undefined): boolean {
    const { clock, here = machineProcesses, isTakeOver } = this.options
    return mayLease({ held, nowMs: clock.nowMs(), here, isTakeOver })
  }
}
