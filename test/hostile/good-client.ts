import type { WeirClient } from '../../src/client/index.ts'
import { ROWS, TEXTS } from '../fixtures/served-rows-job.ts'
import { pause } from '../run/pause.ts'
import { until } from '../run/until.ts'

/** The 99th percentiles of a stretch of time, in ms. */
export interface Latencies {
  /** Of a prediction, which a query thread answers. */
  readonly prediction: number
  /** Of a read of a value, which a slot answers. */
  readonly value: number
  /** Requests behind each of them, at least. */
  readonly samples: number
}

/** Asks for a prediction and for a value, one after the other, and keeps what fails. */
export class GoodClient {
  private readonly client: WeirClient
  private readonly lastKey: string
  private readonly errors: string[] = []

  /** `keys`: number of keys of the job. */
  constructor(client: WeirClient, keys: number) {
    this.client = client
    this.lastKey = `key-${keys - 1}`
  }

  /** Waits until every key has a row. */
  async ready(): Promise<void> {
    let last: unknown
    const isAnswered = async (): Promise<boolean> => {
      try {
        await this.client.predict(ROWS, 'key-1', this.lastKey, { version: 1 })
        return true
      } catch (error) {
        last = error
        return false
      }
    }
    const limits = { timeoutMs: 30_000, everyMs: 50 }
    await until(() => `every key has a row: ${last}`, isAnswered, limits)
  }

  async measure(forMs: number): Promise<Latencies> {
    const end = performance.now() + forMs
    const ask = async (request: () => Promise<unknown>): Promise<number[]> => {
      const times: number[] = []
      while (performance.now() < end) {
        const start = performance.now()
        try {
          await request()
        } catch (error) {
          this.errors.push(String(error))
        }
        times.push(performance.now() - start)
        await pause(1, 'the good client asks now and then')
      }
      return times
    }
    const [prediction, value] = await Promise.all([
      ask(() => this.client.predict(ROWS, 'key-1', 'key-2', { version: 1 })),
      ask(async () => {
        const [answer] = await this.client.values(TEXTS, ['key-3'])
        if (answer?.ok !== true) throw answer?.error
      }),
    ])
    const samples = Math.min(prediction.length, value.length)
    return { prediction: p99(prediction), value: p99(value), samples }
  }

  /** Errors since the last call. */
  takeErrors(): string[] {
    return this.errors.splice(0)
  }

  close(): Promise<void> {
    return this.client.close()
  }
}

function p99(values: number[]): number {
  values.sort((a, b) => a - b)
  return values[Math.floor(values.length * 0.99)] ?? 0
}
