import { isWeirError, WeirError } from '../../core/errors.ts'
import { innerProduct } from '../../core/kernels/inner-product.ts'
import {
  anonymousRow,
  haveBiases,
  implicitRow,
  type RatedRow,
} from '../../models/als/anonymous-row.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import { alsKey, idOfKey, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import type { RescoredList, Rescorer } from '../port/rescorer.ts'
import type { GatewayServices } from '../port/services.ts'
import { Histories, hasHistories, noHistories } from './histories.ts'
import type { IdCount, IdValue } from './listing.ts'
import { type BestItemsOptions, ModelRows, type Page } from './model-rows.ts'
import type { ItemStrength } from './path.ts'
import { rescored } from './rescorer.ts'

/** A page of recommendations. */
export interface RecommendationPage extends Page {
  /** Whether items that the user rated may be in the list. @default false where there are histories */
  readonly considerKnownItems?: boolean
}

/** Name of the state that is read. */
const ALS_MODEL = 'ALS_MODEL'

/** The recommender of a gateway. Histories are those of the job of the model, if it has them. */
export function recommenderOf({
  state,
  histories,
  rescorer,
}: Pick<GatewayServices, 'state' | 'histories' | 'rescorer'>): Recommender {
  const others = histories === undefined ? undefined : new Histories(histories)
  const own = new Histories(state)
  const rows = new ModelRows(state, ALS_MODEL)
  return new Recommender(rows, () => (hasHistories(state) ? own : others), rescorer)
}

/** Recommendations of an ALS model, computed from its rows as the job serves them. */
export class Recommender {
  private readonly rows: ModelRows
  private readonly histories: () => Histories | undefined
  private readonly rescorer: Rescorer | undefined

  /** `histories` returns undefined while there are none. */
  constructor(rows: ModelRows, histories: () => Histories | undefined, rescorer?: Rescorer) {
    this.rows = rows
    this.histories = histories
    this.rescorer = rescorer
  }

  /** The best items of a user, without those that the user rated. Throws UNKNOWN_KEY, UNSUPPORTED. */
  async recommend(
    user: string,
    page: RecommendationPage,
    options: QueryOptions,
  ): Promise<IdValue[]> {
    const known = await this.knownTo([user], page, options)
    const rescore = this.rescoring({ route: 'recommend', ids: [user] }, page)
    const key = alsKey(user, 'U')
    return await this.rows.bestItems(key, page, { ...options, without: known, rescore })
  }

  /** The best items of a group: of the mean of its users' rows. Throws UNKNOWN_KEY if no user is known. */
  async recommendToMany(
    users: readonly string[],
    page: RecommendationPage,
    options: QueryOptions,
  ): Promise<IdValue[]> {
    return await acrossSwitch(async () => {
      const keys = users.map((user) => alsKey(user, 'U'))
      const rows = (await this.rows.read(keys, options)).filter((row) => row !== undefined)
      if (rows.length === 0) throw unknown(`no user of ${users.slice(0, 10).join(', ')}`)
      const mean = rows[0]!.map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0) / rows.length)
      const known = await this.knownTo(users, page, options)
      const rescore = this.rescoring({ route: 'recommendToMany', ids: users }, page)
      return await this.rows.bestItems(mean, page, { ...options, without: known, rescore })
    })
  }

  /** The best items, without the given ones, of someone who rated a few items. Unknown items do not count. */
  async recommendToAnonymous(
    items: readonly ItemStrength[],
    page: Page,
    options: QueryOptions,
  ): Promise<IdValue[]> {
    return await acrossSwitch(async () => {
      const row = await this.anonymous(MEAN_KEYS.U, items, options)
      const given = items.map(({ item }) => item)
      const rescore = this.rescoring({ route: 'recommendToAnonymous', ids: given }, page)
      return await this.rows.bestItems(row, page, { ...options, without: given, rescore })
    })
  }

  /** As `recommend`, with a few more ratings of the user. Throws UNKNOWN_KEY. */
  async recommendWithContext(
    { user, items }: { readonly user: string; readonly items: readonly ItemStrength[] },
    page: RecommendationPage,
    options: QueryOptions,
  ): Promise<IdValue[]> {
    return await acrossSwitch(async () => {
      const [row, known] = await Promise.all([
        this.anonymous(alsKey(user, 'U'), items, options),
        this.knownTo([user], page, options),
      ])
      const given = items.map(({ item }) => item)
      const rescore = this.rescoring({ route: 'recommendWithContext', ids: [user, ...given] }, page)
      const without = [...known, ...given]
      return await this.rows.bestItems(row, page, { ...options, without, rescore })
    })
  }

  /** The predicted ratings of items; 0 for an item that the model does not know. Throws UNKNOWN_KEY. */
  async estimate(
    user: string,
    items: readonly string[],
    options: QueryOptions,
  ): Promise<readonly number[]> {
    const [row, ...rows] = await this.rows.read(
      [alsKey(user, 'U'), ...items.map((item) => alsKey(item, 'I'))],
      options,
    )
    if (row === undefined) throw unknown(`user ${user}`)
    return rows.map((item) => (item === undefined ? 0 : dot(row, item)))
  }

  /** The predicted rating of an item by someone who rated a few items; 0 if the model does not know it. */
  async estimateForAnonymous(
    item: string,
    items: readonly ItemStrength[],
    options: QueryOptions,
  ): Promise<number> {
    const [target] = await this.rows.read([alsKey(item, 'I')], options)
    if (target === undefined) return 0
    return dot(await this.anonymous(MEAN_KEYS.U, items, options), target)
  }

  /** The cosine of each item with one item; 0 for an item that the model does not know. Throws UNKNOWN_KEY. */
  async similarityToItem(
    to: string,
    items: readonly string[],
    options: QueryOptions,
  ): Promise<readonly number[]> {
    const keys = [to, ...items].map((item) => alsKey(item, 'I'))
    const [isBiased, [target, ...rows]] = await Promise.all([
      this.rows.areBiased(options),
      this.rows.read(keys, options),
    ])
    if (target === undefined) throw unknown(`item ${to}`)
    // Biases say how much an item is liked, not what it is like.
    const factors = isBiased ? target.length - BIAS_COLUMNS : target.length
    return rows.map((row) => (row === undefined ? 0 : cosine(target, row, factors)))
  }

  /**
   * The items with the highest mean cosine with the given ones, which are left out. Unknown items do not
   * count. Throws UNKNOWN_KEY if none is known.
   */
  async similarity(
    items: readonly string[],
    page: Page,
    options: QueryOptions,
  ): Promise<IdValue[]> {
    return await acrossSwitch(async () => {
      const keys = items.map((item) => alsKey(item, 'I'))
      const [isBiased, rows] = await Promise.all([
        this.rows.areBiased(options),
        this.rows.read(keys, options),
      ])
      const known = rows.filter((row) => row !== undefined)
      if (known.length === 0) throw unknown(`any item of ${items.slice(0, 10).join(', ')}`)
      const dimension = known[0]!.length
      const columns = isBiased ? dimension - BIAS_COLUMNS : dimension
      const query = new Float32Array(dimension)
      for (const row of known) {
        const norm = Math.sqrt(dot(row, row, columns)) * known.length
        if (norm > 0) for (let i = 0; i < columns; i++) query[i]! += row[i]! / norm
      }
      const rescore = this.rescoring({ route: 'similarity', ids: items }, page)
      const without = { without: items, normColumns: columns }
      return await this.rows.bestItems(query, page, { ...options, ...without, rescore })
    })
  }

  /**
   * The items that a user rated, those most similar to an item first: they explain why it is recommended.
   * Throws UNKNOWN_KEY, UNSUPPORTED.
   */
  async because(
    { user, item }: { readonly user: string; readonly item: string },
    page: Page,
    options: QueryOptions,
  ): Promise<IdValue[]> {
    const items = await this.knownItems(user, options)
    const values = await this.similarityToItem(item, items, options)
    return pageOf(
      withValues(items, values).sort((a, b) => b.value - a.value),
      page,
    )
  }

  /** The items that a user rated, those with the lowest prediction first. Throws as `because`. */
  async mostSurprising(user: string, page: Page, options: QueryOptions): Promise<IdValue[]> {
    const items = await this.knownItems(user, options)
    const values = await this.estimate(user, items, options)
    return pageOf(
      withValues(items, values).sort((a, b) => a.value - b.value),
      page,
    )
  }

  /** The items that a user rated; none for an unknown user. Throws UNSUPPORTED without histories. */
  async knownItems(user: string, options: QueryOptions): Promise<string[]> {
    return [...(await this.requireHistories().knownItems(user, options)).keys()]
  }

  /** The items with most users, or the users with most items. Throws UNSUPPORTED without histories. */
  async largestCounts(
    of: 'users' | 'items',
    page: Page,
    options: QueryOptions,
  ): Promise<readonly IdCount[]> {
    return await this.requireHistories().largestCounts(of, page, options)
  }

  /** For each latent factor the item with the largest value in it; an item may be there several times. */
  async popularRepresentativeItems(options: QueryOptions): Promise<string[]> {
    return await acrossSwitch(async () => {
      const [isBiased, [mean]] = await Promise.all([
        this.rows.areBiased(options),
        this.rows.read([MEAN_KEYS.I], options),
      ])
      if (mean === undefined) return []
      const columns = isBiased ? mean.length - BIAS_COLUMNS : mean.length
      const best = await Promise.all(
        Array.from({ length: columns }, (_, column) => {
          const factor = new Float32Array(mean.length)
          factor[column] = 1
          return this.rows.bestItems(factor, { howMany: 1, offset: 0 }, options)
        }),
      )
      return best.flatMap(([item]) => (item === undefined ? [] : [item.id]))
    })
  }

  /** All ids of one side, page by page. */
  allIds(kind: 'U' | 'I', options: QueryOptions): AsyncGenerator<string[]> {
    return this.rows.allIds(kind, options)
  }

  /** What the rescorer does with a list; undefined without one. Throws UNSUPPORTED for parameters of a rescorer that is not there. */
  private rescoring(
    list: Omit<RescoredList, 'params'>,
    { rescorerParams: params }: Page,
  ): BestItemsOptions['rescore'] {
    const { rescorer } = this
    if (rescorer !== undefined) return (items) => rescored(rescorer, items, { ...list, params })
    if (params === undefined) return undefined
    throw new WeirError(
      'UNSUPPORTED',
      'this gateway has no rescorer; start it with --rescorer FILE, or leave rescorerParams out',
    )
  }

  private requireHistories(): Histories {
    const histories = this.histories()
    if (histories === undefined) throw noHistories()
    return histories
  }

  /** Items that recommendations for some users leave out. */
  private async knownTo(
    users: readonly string[],
    { considerKnownItems }: RecommendationPage,
    options: QueryOptions,
  ): Promise<readonly string[]> {
    const histories = this.histories()
    if (histories === undefined) {
      if (considerKnownItems === false) throw noHistories()
      return []
    }
    if (considerKnownItems === true) return []
    const known = await Promise.all(users.map((user) => histories.knownItems(user, options)))
    return known.flatMap((items) => [...items.keys()])
  }

  private async anonymous(
    baseKey: string,
    items: readonly ItemStrength[],
    options: QueryOptions,
  ): Promise<Float32Array> {
    const keys = [MEAN_KEYS.U, MEAN_KEYS.I, baseKey, ...items.map(({ item }) => alsKey(item, 'I'))]
    // In one request, so that all rows are of one version.
    const { rows, version } = await this.rows.readWithVersion(keys, options)
    const [meanUser, meanItem, base, ...itemRows] = rows
    if (base === undefined) throw unknown(`user ${idOfKey(baseKey)}`)
    const rated = itemRows.flatMap((row, i) =>
      row === undefined ? [] : [{ ...items[i]!, row, rating: items[i]!.strength }],
    )
    if (rated.length === 0) throw unknown('none of the items')
    const terms = await this.rows.implicitTerms(version, base.length)
    if (terms !== undefined) {
      return implicitRow(baseKey === MEAN_KEYS.U ? undefined : base, summed(rated), terms)
    }
    const isBiased =
      meanUser !== undefined && meanItem !== undefined && haveBiases(meanUser, meanItem)
    return anonymousRow(base, rated, isBiased ? base.length - 1 : -1)
  }
}

/**
 * Asks again where another version has gone live between two requests of one answer: its rows may have another length, so that
 * the first one's do not fit.
 */
async function acrossSwitch<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!isWeirError(error, 'DIMENSION_MISMATCH')) throw error
    return await ask()
  }
}

/** The events of each item together: a value of their sum. */
function summed(events: readonly (ItemStrength & RatedRow)[]): readonly RatedRow[] {
  const byItem = new Map<string, RatedRow & { readonly rating: number }>()
  for (const { item, row, rating = 1 } of events) {
    byItem.set(item, { row, rating: rating + (byItem.get(item)?.rating ?? 0) })
  }
  return [...byItem.values()]
}

function unknown(what: string): WeirError {
  return new WeirError('UNKNOWN_KEY', `the model does not know ${what.slice(0, 200)}`)
}

function withValues(ids: readonly string[], values: readonly number[]): IdValue[] {
  return ids.map((id, i) => ({ id, value: values[i]! }))
}

function pageOf<T>(list: readonly T[], { howMany, offset }: Page): T[] {
  return list.slice(offset, offset + howMany)
}

function dot(a: Float32Array, b: Float32Array, length: number = a.length): number {
  return innerProduct(a, 0, b, 0, length)
}

function cosine(a: Float32Array, b: Float32Array, length: number): number {
  const norms = Math.sqrt(dot(a, a, length) * dot(b, b, length))
  return norms === 0 ? 0 : dot(a, b, length) / norms
}
