import { WeirError } from '../../core/errors.ts'
import { bytesOfKeyText, keyOfText, keyText, prefixRange } from '../../core/formats/key-text.ts'
import type { PlainKey } from '../../core/formats/plain-key.ts'
import { kindOf, wholeNumber } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { checkCall, checkKey, KEY } from '../../wire/call-arguments.ts'
import type { Answer, QueryOptions, ScanEntry } from '../../wire/model-reader.ts'
import { decodeTypedValue, GET, type GetOptions } from '../../wire/typed-value.ts'
import { decodingOf, type KnownState, requireKeyType } from './formats.ts'

/** Options of `WeirClient.entries`. Without a range, all entries. */
export interface EntriesOptions extends GetOptions {
  /**
   * Only keys that start with this: a text that starts with these characters, or a tuple with these first elements. Of a
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
/** Comes after all keys. */
const END = '\u{10ffff}'

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
    if (isVector) return (await this.client.rows(state, keys, options))[0] as Answer<T>
    if (info !== undefined) requireKeyType(info, key)
    const decoding = decodingOf(info, options)
    const answer = (await this.client.values(state, keys, options))[0]!
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
  async *entries<K, T>(
    state: string,
    options: EntriesOptions,
  ): AsyncGenerator<StateEntry<K, T>, void> {
    checkCall('client.entries', state, ENTRIES, options)
    const info = await this.infoOf(state)
    const { to, from: first } = rangeOf(state, info, options)
    const decoding = decodingOf(info, options)
    let left = options.limit ?? Number.POSITIVE_INFINITY
    let from: string | undefined = first
    while (from !== undefined && left > 0) {
      const range = { from, to, limit: Math.min(left, PAGE) }
      const { entries, next } = await this.client.page(state, range, options)
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

/** The texts of the first key of a range and of its end. */
function rangeOf(
  state: string,
  info: KnownState | undefined,
  { prefix, from, to }: EntriesOptions,
): { readonly from: string; readonly to: string } {
  for (const bound of [from, to]) {
    // U+10FFFF and the empty text are bounds of all keys, whatever their types.
    const isBound = bound === undefined || bound === END || bound === ''
    if (!isBound && info !== undefined && info.kind !== VECTOR) requireKeyType(info, bound)
  }
  const range = {
    from: from === undefined ? '' : keyText(from),
    to: to === undefined ? END : keyText(to),
  }
  if (prefix === undefined) return range
  requirePrefix(state, info, prefix)
  const own = prefixRange(prefix)
  return {
    from: compare(own.from, range.from) > 0 ? own.from : range.from,
    to: compare(own.to, range.to) < 0 ? own.to : range.to,
  }
}

function compare(a: string, b: string): number {
  return Buffer.compare(bytesOfKeyText(a), bytesOfKeyText(b))
}

/** Throws INVALID_ARGUMENT for a prefix that no key of the state can have. */
function requirePrefix(
  state: string,
  info: KnownState | undefined,
  prefix: string | readonly PlainKey[],
): void {
  const { keys, keyFormat } = info ?? {}
  if (keys === 'key-and-window' && !Array.isArray(prefix)) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the keys of "${state}" are tuples of a key and the start of its window, which no text is the start of: pass the key as a tuple, { prefix: [${JSON.stringify(prefix)}] }`,
    )
  }
  const isNumber = keys === 'window' || keyFormat === 'int53/1' || keyFormat === 'float64/1'
  if (isNumber || (keyFormat === 'string/1' && Array.isArray(prefix))) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the keys of "${state}" are ${isNumber ? 'numbers, which have no prefix: pass from and to' : 'texts, which no tuple is the start of: pass a text as prefix'}`,
    )
  }
}
