import { keyOfText, keyText } from '../../core/formats/key-text.ts'
import type { PlainKey } from '../../core/formats/plain-key.ts'
import { kindOf, wholeNumber } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { checkCall, checkKey, KEY } from '../../wire/call-arguments.ts'
import type { Answer, QueryOptions, ScanEntry } from '../../wire/model-reader.ts'
import { decodingOf, type KnownState, requireKeyType } from '../../wire/state/formats.ts'
import { boundsOf } from '../../wire/state/range.ts'
import { decodeTypedValue, GET, type GetOptions } from '../../wire/typed-value.ts'

/** Options of `WeirClient.entries`. Without a range, all entries. */
export interface EntriesOptions extends GetOptions {
  /**
   * Only keys that start with this: texts that start with these characters, or tuples with these first elements. Of a
   * store of windows, `['ann']` stands for all windows of the key.
   */
  readonly prefix?: string | readonly PlainKey[]
  /** The first key, which is part of the range. */
  readonly from?: PlainKey
  /** The key before which the range ends. */
  readonly to?: PlainKey
  /** Most entries, from the first one on. @default all */
  readonly limit?: number
}

/** A key with its value. */
export interface StateEntry<K = PlainKey, T = unknown> {
  readonly key: K
  readonly value: T
}

/** The options of `WeirClient.entries`. */
const ENTRIES: OptionShape<EntriesOptions> = {
  ...GET,
  prefix: kindOf<string | readonly PlainKey[]>(
    'a text, or a tuple of the first elements of a key',
    (given) => typeof given === 'string' || Array.isArray(given),
  ),
  from: KEY,
  to: KEY,
  limit: wholeNumber({ min: 0 }),
}

/** Most entries that are asked for at a time. */
const PAGE = 1000

/** What reads of state use of their client. */
export interface StateReadsOptions {
  /** The states of the last routing table. */
  readonly states: () => readonly KnownState[]
  /** Fetches the routing table. */
  readonly refresh: () => Promise<unknown>
  readonly rows: (
    state: string,
    keys: readonly string[],
    options: QueryOptions,
  ) => Promise<Answer<Float32Array>[]>
  readonly values: (
    state: string,
    keys: readonly string[],
    options: QueryOptions,
  ) => Promise<Answer<Uint8Array>[]>
  readonly page: (
    state: string,
    range: { readonly from: string; readonly to: string; readonly limit: number },
    options: QueryOptions,
  ) => Promise<{ readonly entries: readonly ScanEntry[]; readonly next: string | undefined }>
}

/** Reads of state with keys and values of their own types. */
export class StateReads {
  private readonly client: StateReadsOptions

  constructor(client: StateReadsOptions) {
    this.client = client
  }

  /** The decoded value of a key, or why there is none. Rejects with INVALID_ARGUMENT, UNSUPPORTED and what a serializer throws. */
  async get<T>(
    call: string,
    state: string,
    key: PlainKey,
    options: GetOptions,
  ): Promise<Answer<T>> {
    checkCall(call, state, GET, options)
    const info = await this.infoOf(state)
    const isVector = info?.kind === VECTOR
    checkKey(call, { state, isVector }, key, GET, options)
    const keys = [keyText(key)]
    if (isVector) return (await this.client.rows(state, keys, queryOf(options)))[0] as Answer<T>
    if (info !== undefined) requireKeyType(info, key)
    const decoding = decodingOf(info, options)
    const answer = (await this.client.values(state, keys, queryOf(options)))[0]!
    if (!answer.ok) return answer
    const value = decodeTypedValue(info?.kind ?? 'value', answer.value, decoding)
    return { ...answer, value: value as T }
  }

  /** What the routing table says of a state; one that has just been declared is in a newer table. */
  private async infoOf(state: string): Promise<KnownState | undefined> {
    const find = () => this.client.states().find(({ name }) => name === state)
    const known = find()
    if (known !== undefined) return known
    await this.client.refresh()
    return find()
  }

  /** The entries of a range in the order of their keys, read as the caller goes on. Throws as `get`. */
  entries<K, T>(state: string, options: EntriesOptions): AsyncGenerator<StateEntry<K, T>, void> {
    checkCall('client.entries', state, ENTRIES, options)
    return this.read(state, options)
  }

  private async *read<K, T>(
    state: string,
    options: EntriesOptions,
  ): AsyncGenerator<StateEntry<K, T>, void> {
    const info = await this.infoOf(state)
    const { to, from: first } = boundsOf(state, info, options)
    const decoding = decodingOf(info, options)
    let left = options.limit ?? Number.POSITIVE_INFINITY
    let from: string | undefined = first
    while (from !== undefined && left > 0) {
      const range = { from, to, limit: Math.min(left, PAGE) }
      const { entries, next } = await this.client.page(state, range, queryOf(options))
      for (const { key, value } of entries) {
        const decoded =
          info?.kind === VECTOR
            ? new Float32Array(value.slice().buffer)
            : decodeTypedValue(info?.kind ?? 'value', value, decoding)
        yield { key: keyOfText(key) as K, value: decoded as T }
      }
      left -= entries.length
      from = next
    }
  }
}

const VECTOR = 'vector'

/** The options that a request has. */
function queryOf({ consistency, version, deadlineMs }: GetOptions): QueryOptions {
  return {
    ...(consistency === undefined ? {} : { consistency }),
    ...(version === undefined ? {} : { version }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  }
}
