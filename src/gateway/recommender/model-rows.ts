import { isWeirError } from '../../core/errors.ts'
import { haveBiases } from '../../models/als/anonymous-row.ts'
import { alsKey, idOfKey, isRowOf, KEY_SUFFIXES, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { QueryOptions, TagRules, TopKOptions } from '../../wire/model-reader.ts'
import type { ServedState } from '../port/services.ts'
import type { IdValue } from './listing.ts'

/** A page of a list. */
export interface Page {
  readonly howMany: number
  readonly offset: number
  /** Rules over the tags of items. @default all items may be in the list */
  readonly where?: TagRules
}

/** Rows of one side that a scan reads at a time. */
const SCAN_PAGE = 1000

/** Options of `bestItems`. */
export interface BestItemsOptions extends QueryOptions, Pick<TopKOptions, 'normColumns'> {
  /** Items that the list leaves out. @default none */
  readonly without?: readonly string[]
}

/** The rows of an ALS model as the job serves them: by key, by score, and all ids. */
export class ModelRows {
  private readonly state: ServedState
  private readonly name: string
  private readonly turn = new Turn()

  /** `name` is the queryable state of the model. */
  constructor(state: ServedState, name: string) {
    this.state = state
    this.name = name
  }

  /** Rows in the order of the keys; undefined for a key that the model does not know. */
  async read(
    keys: readonly string[],
    options: QueryOptions,
  ): Promise<readonly (Float32Array | undefined)[]> {
    const answers = await this.state.rows(this.name, keys, options)
    return answers.map((answer) => {
      if (answer.ok) return answer.value
      if (isWeirError(answer.error, 'UNKNOWN_KEY')) return undefined
      throw answer.error
    })
  }

  /** Whether the last columns of the rows are biases. */
  async areBiased(options: QueryOptions): Promise<boolean> {
    const [meanUser, meanItem] = await this.read([MEAN_KEYS.U, MEAN_KEYS.I], options)
    return meanUser !== undefined && meanItem !== undefined && haveBiases(meanUser, meanItem)
  }

  /** A page of the items with the highest score for a row, or for the row of a key. */
  async bestItems(
    query: string | Float32Array,
    { howMany, offset, where }: Page,
    { without = [], ...options }: BestItemsOptions,
  ): Promise<IdValue[]> {
    await this.turn.end()
    const answer = await this.state.topK(this.name, query, {
      ...options,
      k: howMany + offset,
      suffix: KEY_SUFFIXES.I,
      ...(where === undefined ? {} : { where }),
      exclude: [MEAN_KEYS.I, ...without.map((item) => alsKey(item, 'I'))],
    })
    if (!answer.ok) throw answer.error
    return answer.value.slice(offset).map(({ key, score }) => ({ id: idOfKey(key), value: score }))
  }

  /** All ids of one side, in the order of their key bytes, page by page. */
  async *allIds(kind: 'U' | 'I', options: QueryOptions): AsyncGenerator<string[]> {
    let from = ''
    for (;;) {
      const range = { from, to: '\u{10ffff}', limit: SCAN_PAGE }
      const entries = await this.state.scan(this.name, range, options)
      const keys = entries.map(({ key }) => key)
      yield keys.filter((key) => isRowOf(key, kind)).map((key) => idOfKey(key))
      if (entries.length < SCAN_PAGE) return
      // The smallest key after the last one.
      from = `${keys.at(-1)!}\0`
    }
  }
}

/**
 * The turn of the event loop. A job computes top lists that it gets together in one pass over the rows. Requests of
 * several connections arrive in one turn, but each is read and answered by itself: without this, the first would
 * begin a pass alone.
 */
class Turn {
  private ending: Promise<void> | undefined

  /** Resolves for all callers of this turn at once, after its input is read. */
  end(): Promise<void> {
    this.ending ??= new Promise((resolve) => {
      setImmediate(() => {
        this.ending = undefined
        resolve()
      })
    })
    return this.ending
  }
}
