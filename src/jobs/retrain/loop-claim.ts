import { processClaimant } from '../../checkpoint/coordinator/claimant.ts'
import { CheckpointRepository } from '../../checkpoint/coordinator/repository.ts'
import { FileCheckpointStorage } from '../../checkpoint/storage/file.ts'
import type { Clock } from '../../core/clock.ts'

/** Options of a claim. */
export interface LoopClaimOptions {
  /** Folder of claims, of one data folder. */
  readonly folder: string
  readonly model: string
  /** Whether the model is taken over from a loop that runs, which then ends. */
  readonly isTakeOver: boolean
  readonly clock: Clock
  readonly onWarning: (warning: string) => void
}

/**
 * The claim of one loop on the retraining of a model in a data folder: two loops would promote against each other. It
 * is made as a job claims its checkpoints.
 */
export class LoopClaim implements AsyncDisposable {
  private readonly storage: FileCheckpointStorage
  private readonly claim: CheckpointRepository

  private constructor(storage: FileCheckpointStorage, claim: CheckpointRepository) {
    this.storage = storage
    this.claim = claim
  }

  /** Throws JOB_ALREADY_RUNNING if a loop of another process, which runs, has the model. */
  static async take(options: LoopClaimOptions): Promise<LoopClaim> {
    const { folder, model, isTakeOver, clock, onWarning } = options
    const storage = new FileCheckpointStorage(folder)
    const claimant = processClaimant(`retrain ${model}`, isTakeOver, clock)
    const claim = await CheckpointRepository.claim(storage, model, {
      claimant,
      warn: ({ message }) => onWarning(message),
    })
    await claim.removeOutdated([], ({ message }) => onWarning(message))
    return new LoopClaim(storage, claim)
  }

  /** Throws COORDINATOR_FENCED if another loop has taken the model over. */
  async requireHeld(): Promise<void> {
    await this.claim.assertNotFenced()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.claim.release()
    await this.storage.close()
  }
}
