import type { WeirClient } from '../client/weir-client.ts'
import { ByteReader } from '../core/byte-reader.ts'
import { isWeirError } from '../core/errors.ts'
import { msgpackSerializer } from '../core/serializer.ts'
import { LEARNING_ERROR_STATE, type LearningError } from '../jobs/online-error-function.ts'

/** Ratings that were predicted and then learned, and the sum of their squared errors. */
export interface LearnedSum {
  readonly ratings: number
  readonly sum: number
}

const NOTHING: LearnedSum = { ratings: 0, sum: 0 }
const POLL_MS = 50
/** Slots report each second; without a new report for so long nothing is under way. */
const QUIET_MS = 8000

/** The learning job's error as it tells it: of each version, of what came since the last look. */
export class LearnedErrors {
  private readonly client: WeirClient
  private readonly pause: (ms: number) => Promise<void>
  private readonly seen = new Map<number, LearnedSum>()

  constructor(client: WeirClient, pause: (ms: number) => Promise<void>) {
    this.client = client
    this.pause = pause
  }

  /** All that was learned on a version. */
  async told(version: number): Promise<LearnedSum> {
    try {
      const [answer] = await this.client.values(LEARNING_ERROR_STATE, [String(version)])
      if (answer?.ok !== true) return NOTHING
      const error = msgpackSerializer<LearningError>().read(new ByteReader(answer.value))
      return { ratings: error.ratings, sum: error.mse * error.ratings }
    } catch (error) {
      if (isWeirError(error, 'UNKNOWN_STATE')) return NOTHING
      throw error
    }
  }

  /** What was learned on a version since the last call for it. */
  async since(version: number): Promise<LearnedSum> {
    const now = await this.told(version)
    const before = this.seen.get(version) ?? NOTHING
    this.seen.set(version, now)
    return { ratings: now.ratings - before.ratings, sum: now.sum - before.sum }
  }

  /** Waits until so many ratings were learned on a version, or nothing more comes. */
  async until(version: number, ratings: number): Promise<void> {
    let before = -1
    let quietMs = 0
    for (;;) {
      const learned = (await this.told(version)).ratings
      if (learned >= ratings || quietMs >= QUIET_MS) return
      quietMs = learned === before ? quietMs + POLL_MS : 0
      before = learned
      await this.pause(POLL_MS)
    }
  }
}
