import type { WeirClient } from '../client/weir-client.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'

const PAUSE_MS = 4

/** What became of the predictions in the background. */
export interface TrafficFigures {
  readonly requests: number
  readonly failedRequests: number
}

/**
 * Predictions that go on in the background, one after the other, as an application's would: what is
 * switched is switched under them. A pair without rows is answered from the mean rows.
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

  /** The version that a prediction of now is made with; 0 when it failed. */
  async versionOfAnswer(): Promise<number> {
    const [user, item] = this.pairs[this.requests % this.pairs.length]!
    this.requests++
    try {
      const cold = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
      const answer = await this.client.predictWithEnvelope(
        ALS_MODEL,
        `${user}-U`,
        `${item}-I`,
        cold,
      )
      if (answer.ok && Number.isFinite(answer.value.score)) return answer.envelope.modelVersion
    } catch {
      // Counted below: what failed is a figure of the quickstart.
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
