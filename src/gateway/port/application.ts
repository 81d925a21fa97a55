import type { EntriesOptions, StateEntry } from '../../client/state/typed-reads.ts'
import type { PlainKey } from '../../core/formats/plain-key.ts'
import type { GetOptions } from '../../wire/typed-value.ts'

/** A request for a path of an application. */
export interface ApplicationRequest {
  /** The parts of the path that have names, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The declared parameters of the query, in the types of their schemas. */
  readonly query: Readonly<Record<string, unknown>>
}

/** The states that a path of an application reads: those that it has named, and nothing else. Nothing can be changed. */
export interface ApplicationStates {
  /** As `WeirClient.get`. */
  get<T = unknown>(state: string, key: PlainKey, options?: GetOptions): Promise<T | undefined>
  /** As `WeirClient.entries`. One request reads at most 10,000 entries. */
  entries<K = PlainKey, T = unknown>(
    state: string,
    options?: EntriesOptions,
  ): AsyncIterable<StateEntry<K, T>>
}

/** A path of an application in the gateway (`weir gateway --routes FILE`): an answer in JSON that is made of states. */
export interface ApplicationRoute {
  /** Below `/app/`, with names for the parts that vary: `/app/users/:user/windows`. */
  readonly path: `/app/${string}`
  /** Names of the states that it reads. A token needs the right to read all of them. */
  readonly states: readonly string[]
  /** What it answers, for the OpenAPI document. */
  readonly summary: string
  /** JSON schemas of the parameters of the query, by name. Others are refused. @default none */
  readonly query?: Readonly<Record<string, object>>
  /** JSON schema of the answer, for the OpenAPI document; only what it names is answered. @default any JSON */
  readonly answer?: object
  /** The answer, as JSON has it; undefined where there is none, which is a 404. */
  readonly respond: (request: ApplicationRequest, states: ApplicationStates) => unknown
}
