import type { ClientOptions } from '../../../client/options.ts'
import { WeirClient } from '../../../client/weir-client.ts'
import { asWeirError } from '../../../core/errors.ts'
import { alsKey, KEY_SUFFIXES, MEAN_IF_UNKNOWN } from '../../../models/als/row-key.ts'
import type { Prediction, PredictOptions, QueryOptions } from '../../../wire/model-reader.ts'
import {
  ANSWERED,
  ANSWERED_COLD,
  type KeyPair,
  type LoadTarget,
  outcomeOf,
} from '../port/target.ts'

/** A way to ask over the query protocol. */
export type WeirOperation =
  /** The rating of a user for an item; all pairs of a request are asked at once. */
  | { readonly kind: 'predict' }
  /** The best items of each user. */
  | { readonly kind: 'top-k'; readonly k: number }
  /** The rows of keys. */
  | { readonly kind: 'rows' }

/** A job's query port as a target, as plain data. */
export interface WeirTargetSettings {
  readonly protocol: 'weir'
  readonly connection: Pick<ClientOptions, 'host' | 'port' | 'token' | 'tls'>
  readonly operation: WeirOperation
  readonly state: string
  readonly query: QueryOptions
}

/** Calls of a client that wait for answers at most: as many as one batch of each outstanding request. */
const MAX_IN_FLIGHT = 1 << 24

/** Asks a running job over the query protocol. Failed calls are not tried again: they are what is measured. */
export class WeirTarget implements LoadTarget {
  private readonly client: WeirClient
  private readonly settings: WeirTargetSettings
  private readonly predictOptions: PredictOptions

  private constructor(client: WeirClient, settings: WeirTargetSettings) {
    this.client = client
    this.settings = settings
    this.predictOptions = { ...settings.query, ...MEAN_IF_UNKNOWN }
  }

  /** Connects. Rejects as `WeirClient.connect`. */
  static async open(settings: WeirTargetSettings): Promise<WeirTarget> {
    const client = await WeirClient.connect({
      ...settings.connection,
      client: 'weir-load',
      maxInFlight: MAX_IN_FLIGHT,
      retry: { maxAttempts: 1 },
    })
    return new WeirTarget(client, settings)
  }

  async send(keys: readonly KeyPair[]): ReturnType<LoadTarget['send']> {
    try {
      return (await this.ask(keys)) ? ANSWERED_COLD : ANSWERED
    } catch (error) {
      return outcomeOf(asWeirError(error, 'UNAVAILABLE'))
    }
  }

  /** Sends one request. Resolves with whether a mean row stood in; rejects with the first failure. */
  private async ask(keys: readonly KeyPair[]): Promise<boolean> {
    const { operation, state, query } = this.settings
    switch (operation.kind) {
      case 'predict':
        return await this.predict(keys)
      case 'rows': {
        const names = keys.map(({ user }) => user)
        firstFailure(await this.client.rows(state, names, query))
        return false
      }
      case 'top-k': {
        const options = { ...query, k: operation.k, suffix: KEY_SUFFIXES.I }
        const lists = keys.map(({ user }) => this.client.topK(state, alsKey(user, 'U'), options))
        firstFailure(await Promise.all(lists))
        return false
      }
    }
  }

  private async predict(keys: readonly KeyPair[]): Promise<boolean> {
    if (keys.length === 1) return isCold(await this.predictOne(keys[0]!))
    return (await Promise.all(keys.map((pair) => this.predictOne(pair)))).some(isCold)
  }

  private predictOne({ user, item }: KeyPair): Promise<Prediction> {
    const { state } = this.settings
    return this.client.predict(state, alsKey(user, 'U'), alsKey(item, 'I'), this.predictOptions)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
  }
}

const isCold = ({ leftCold, rightCold }: Prediction): boolean => leftCold || rightCold

function firstFailure(answers: readonly { readonly ok: boolean; readonly error?: Error }[]): void {
  const failed = answers.find(({ ok }) => !ok)
  if (failed !== undefined) throw failed.error
}
