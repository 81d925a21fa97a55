import { isWeirError, requireArgument } from '../../core/errors.ts'
import { haveBiases } from '../../models/als/anonymous-row.ts'
import { decodeTerms, type ImplicitTerms } from '../../models/als/implicit-terms.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import { alsKey, idOfKey, isRowOf, KEY_SUFFIXES, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { Answer, QueryOptions, TagRules, TopKOptions } from '../../wire/model-reader.ts'
import type { QueryableStateInfo, RoutingTable, VersionTerms } from '../../wire/routing-table.ts'
import type { ServedState } from '../port/services.ts'
import { DIVERSE_CANDIDATES, type Diversity, diverseOrder, MOST_DIVERSE } from './diverse-order.ts'
import type { IdValue } from './listing.ts'
import { RESCORED_ITEMS } from './rescorer.ts'

/** A page of a list. */
export interface Page {
  readonly howMany: number
  readonly offset: number
  /** Rules over the tags of items. @default all items may be in the list */
  readonly where?: TagRules
  /** How much the items of the list differ, 0 to 1; see `diverseOrder`. @default 0, the order of the scores */
  readonly diversity?: number
  /** What the client gives to the rescorer. @default nothing */
  readonly rescorerParams?: string
}

/** A key with its score. */
interface ScoredKey {
  readonly key: string
  readonly score: number
}

/** Items to ask for, of which a list has the first ones. Throws INVALID_ARGUMENT for a diverse list that is too long. */
export function candidatesOf(most: number, diversity: number): number {
  requireArgument(
    diversity === 0 || most <= MOST_DIVERSE,
    `a diverse list has at most ${MOST_DIVERSE} items, those skipped included: ask for fewer, or without diversity`,
  )
  return diversity === 0 ? most : DIVERSE_CANDIDATES
}

/** Rows of one side that a scan reads at a time. */
const SCAN_PAGE = 1000

/** Options of `bestItems`. */
export interface BestItemsOptions extends QueryOptions, Pick<TopKOptions, 'normColumns'> {
  /** Items that the list leaves out. @default none */
  readonly without?: readonly string[]
  /** Gives the best items other values, and their order with it. @default the scores are the values */
  readonly rescore?: ((items: readonly IdValue[]) => Promise<readonly IdValue[]>) | undefined
}

/** The rows of an ALS model as the job serves them: by key, by score, and all ids. */
export class ModelRows {
  private readonly state: ServedState
  private readonly name: string
  private readonly turn = new Turn()
  private readonly decoded = new WeakMap<VersionTerms, ImplicitTerms>()

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
    return (await this.readWithVersion(keys, options)).rows
  }

  /** As `read`, with the version that the rows are of; 0 where there is no row. */
  async readWithVersion(
    keys: readonly string[],
    options: QueryOptions,
  ): Promise<{
    readonly rows: readonly (Float32Array | undefined)[]
    readonly version: number
  }> {
    const answers = await this.state.rows(this.name, keys, options)
    const version = answers.find((answer) => answer.ok)?.envelope.modelVersion ?? 0
    return { rows: answers.map(rowOf), version }
  }

  /**
   * What the row of a user follows from in a version of implicit feedback; undefined for one of explicit feedback, or that
   * does not say it.
   */
  async implicitTerms(version: number, dimension: number): Promise<ImplicitTerms | undefined> {
    const here = this.infoIn(this.state.routing)
    const isCurrent = here?.liveVersion === version || termsIn(here, version) !== undefined
    const info = isCurrent ? here : this.infoIn(await this.state.refreshRouting())
    const terms = termsIn(info, version)
    if (terms === undefined) return undefined
    const known = this.decoded.get(terms) ?? decodeTerms(terms, dimension)
    if (known !== undefined) this.decoded.set(terms, known)
    return known
  }

  /** Whether a version says that it is of implicit feedback, and how it was trained. */
  async isImplicit(version: number): Promise<boolean> {
    const { states } = await this.state.refreshRouting()
    return termsIn(this.infoIn({ states }), version) !== undefined
  }

  private infoIn({ states }: Pick<RoutingTable, 'states'>): QueryableStateInfo | undefined {
    return states.find(({ name }) => name === this.name)
  }

  /** Whether the last columns of the rows are biases. */
  async areBiased(options: QueryOptions): Promise<boolean> {
    const [meanUser, meanItem] = await this.read([MEAN_KEYS.U, MEAN_KEYS.I], options)
    return meanUser !== undefined && meanItem !== undefined && haveBiases(meanUser, meanItem)
  }

  /** A page of the items with the highest score for a row, or for the row of a key. */
  async bestItems(
    query: string | Float32Array,
    { howMany, offset, where, diversity = 0 }: Page,
    { without = [], rescore, ...options }: BestItemsOptions,
  ): Promise<IdValue[]> {
    await this.turn.end()
    const most = howMany + offset
    const asked = candidatesOf(most, diversity)
    const answer = await this.state.topK(this.name, query, {
      ...options,
      k: rescore === undefined ? asked : Math.max(asked, RESCORED_ITEMS),
      suffix: KEY_SUFFIXES.I,
      ...(where === undefined ? {} : { where }),
      exclude: [MEAN_KEYS.I, ...without.map((item) => alsKey(item, 'I'))],
    })
    if (!answer.ok) throw answer.error
    const scored = answer.value.map(({ key, score }) => ({ id: idOfKey(key), value: score }))
    const best = rescore === undefined ? scored : await rescore(scored)
    if (diversity === 0) return best.slice(offset, most)
    const version = { version: answer.envelope.modelVersion }
    const candidates = best
      .slice(0, asked)
      .map(({ id, value }) => ({ key: alsKey(id, 'I'), score: value }))
    const list = await this.diverse(candidates, { diversity, most }, { ...options, ...version })
    return list.slice(offset).map(({ key, score }) => ({ id: idOfKey(key), value: score }))
  }

  /** The first items of a diverse list, of those with the best scores; without diversity in their order. */
  async diverse<T extends ScoredKey>(
    best: readonly T[],
    { diversity, most }: Omit<Diversity, 'columns'>,
    options: QueryOptions,
  ): Promise<readonly T[]> {
    if (diversity === 0 || best.length === 0) return best.slice(0, most)
    const [isBiased, rows] = await Promise.all([
      this.areBiased(options),
      this.read(
        best.map(({ key }) => key),
        options,
      ),
    ])
    const candidates = best.map(({ score }, i) => ({ score, row: rows[i] }))
    const dimension = rows.find((row) => row !== undefined)?.length ?? 0
    const columns = Math.max(0, dimension - (isBiased ? BIAS_COLUMNS : 0))
    return diverseOrder(candidates, { diversity, columns, most }).map((place) => best[place]!)
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

function rowOf(answer: Answer<Float32Array>): Float32Array | undefined {
  if (answer.ok) return answer.value
  if (isWeirError(answer.error, 'UNKNOWN_KEY')) return undefined
  throw answer.error
}

function termsIn(info: QueryableStateInfo | undefined, version: number): VersionTerms | undefined {
  return info?.terms?.find((one) => one.version === version)
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
