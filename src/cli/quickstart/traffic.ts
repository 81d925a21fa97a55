import type { WeirClient } from '../../client/weir-client.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'

const PAUSE_MS = 4

/** Number of background predictions, and of those that failed. */
export interface TrafficFigures {
  readonly requests: number
  readonly failedRequests: number
}

/**
 * Predictions in the background, one at a time, like those of an application; they run through every
 * switch of versions. A pair without rows is predicted from the mean rows.
 */
export class BackgroundTraffic implements AsyncDisposable {
  private readonly client: WeirClient
  private readonly pairs: readonly (readonly [string, string])[]
  private readonly running: Promise<void>
  private requests = 0
  private failed = 0
  private isEnded = false

  constructor(client: WeirClient, pairs: readonly (readonly [string, string])[]) {
    this.client = client
    this.pairs = pairs
    this.running = this.run()
  }

  get figures(): TrafficFigures {
    return { requests: this.requests, failedRequests: this.failed }
  }

  /** The version that answers a prediction now; 0 if the prediction fails. */
  async versionOfAnswer(): Promise<number> {
    const [user, item] = this.pairs[this.requests % this.pairs.length]!
    this.requests++
    try {
      const answer = await this.client.predictWithEnvelope(
        ALS_MODEL,
        alsKey(user, 'U'),
        alsKey(item, 'I'),
        MEAN_IF_UNKNOWN,
      )
      if (answer.ok && Number.isFinite(answer.value.score)) return answer.envelope.modelVersion
    } catch {
      // Counted below: the quickstart reports the number of failures.
    }
    this.failed++
    return 0
  }

  private async run(): Promise<void> {
    while (!this.isEnded) {
      await this.versionOfAnswer()
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnded = true
    await this.running
  }
}
