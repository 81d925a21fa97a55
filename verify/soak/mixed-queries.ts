import { WeirClient } from '../../src/client/weir-client.ts'
import { isWeirError } from '../../src/core/errors.ts'
import type { Random } from '../../src/core/random.ts'
import { LEARNING_ERROR_STATE } from '../../src/jobs/learning/error/learning-error.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import type { Answer } from '../../src/wire/model-reader.ts'

/** Options of mixed queries. */
export interface MixedQueriesOptions {
  readonly port: number
  readonly users: number
  readonly items: number
  readonly random: Random
}

const PREDICTIONS = 32
const SCAN_LIMIT = 50
const PAUSE_MS = 10

/** Queries of every kind, one round after the other: predictions, top-k, rows, values, scans. */
export class MixedQueries implements AsyncDisposable {
  answered = 0
  /** Failed calls by code. */
  readonly errors = new Map<string, number>()
  private readonly client: WeirClient
  private readonly options: MixedQueriesOptions
  private going = true
  private readonly running: Promise<void>

  private constructor(client: WeirClient, options: MixedQueriesOptions) {
    this.client = client
    this.options = options
    this.running = this.run()
  }

  /** Connects and begins. */
  static async start(options: MixedQueriesOptions): Promise<MixedQueries> {
    return new MixedQueries(await WeirClient.connect({ port: options.port }), options)
  }

  private async run(): Promise<void> {
    while (this.going) {
      await Promise.all(this.round().map((call) => this.count(call)))
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  private round(): Promise<unknown>[] {
    const { client } = this
    const predictions = Array.from({ length: PREDICTIONS }, () =>
      client.predict(ALS_MODEL, this.user(), this.item(), {
        coldLeft: 'MEAN-U',
        coldRight: 'MEAN-I',
      }),
    )
    return [
      ...predictions,
      client.topK(ALS_MODEL, this.user(), { k: 10, suffix: '-I' }),
      client.rows(ALS_MODEL, [this.user(), this.item()]),
      client.values(LEARNING_ERROR_STATE, ['1', '2']),
      client.scan(ALS_MODEL, { from: this.item(), to: '~', limit: SCAN_LIMIT }),
    ]
  }

  private user(): string {
    return `${1 + this.options.random.below(this.options.users)}-U`
  }

  private item(): string {
    return `${1 + this.options.random.below(this.options.items)}-I`
  }

  private async count(call: Promise<unknown>): Promise<void> {
    try {
      const result = await call
      for (const answer of Array.isArray(result) ? result : [result]) this.countAnswer(answer)
    } catch (error) {
      this.fail(isWeirError(error) ? error.code : String(error))
    }
  }

  private countAnswer(answer: Partial<Answer<unknown>>): void {
    if (answer.ok === false && answer.error?.code !== 'UNKNOWN_KEY') this.fail(answer.error!.code)
    else this.answered += 1
  }

  private fail(code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.going = false
    await this.running
    await this.client.close()
  }
}
