import { generateRatings } from '../../src/models/ratings/generator.ts'
import { jsonLines } from '../system/cli/command-process.ts'
import { exportedRows } from './exported-rows.ts'
import type { Installation } from './installation.ts'
import type { Asked, ComparedPrediction, DeltaOrigin, Face, Kind } from './kind.ts'
import { LearnedFactors } from './plain/learned-factors.ts'
import { publicationOf } from './plain/publication.ts'
import { defaultRule } from './plain/rules.ts'
import { dot, ndcgLoss } from './plain-measures.ts'
import type { Rows } from './service.ts'

const USERS = 300
const ITEMS = 120
const BASE = 8000
const STREAM = 2000
const LISTS = 10
const MEANS = ['MEAN-U', 'MEAN-I']

/** What kinds of factor models differ in. */
export interface FactorOptions {
  readonly name: string
  /** @default als-model */
  readonly model?: string
  /** Publishes the first version; `topics` are the flags of another topic than the default. */
  readonly publish: (at: Installation, topics: readonly string[]) => Promise<void>
  /** Whether observations are uses, and the measure is NDCG at 10. @default false */
  readonly isImplicit?: boolean
  /** Whether a version says which ratings there are, so that predictions are clipped to them. @default true */
  readonly isClipped?: boolean
}

interface Rated {
  readonly user: string
  readonly item: string
  readonly rating: number
}

/** Lines `user,item,rating`, ordered by time; of uses: what was liked, with counts that say nothing. */
function lines(isImplicit: boolean): readonly string[] {
  const ratings = isImplicit ? 30_000 : 12_000
  const all = [...generateRatings({ users: USERS, items: ITEMS, ratings, seed: 5 })]
  if (!isImplicit) return all.map(({ user, item, rating }) => `${user},${item},${rating}`)
  const used = all.filter(({ rating }) => rating >= 4)
  return used.map(({ user, item }, n) => `${user},${item},${1 + ((n * 7) % 10)}`)
}

function ratedOf(line: string): Rated {
  const [user, item, rating] = line.split(',') as [string, string, string]
  return { user, item, rating: Number(rating) }
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n + 1))
const itemKeys = ids(ITEMS).map((id) => `${id}-I`)

/** The row of a key, or the mean row of its side. */
function rowOf(rows: Rows, key: string): Float32Array {
  return (rows.get(key) ?? rows.get(`MEAN-${key.at(-1)}`))!
}

/** Items with a row, by descending prediction. */
function ranked(rows: Rows, user: string): readonly string[] {
  const own = rowOf(rows, `${user}-U`)
  const scored = itemKeys
    .filter((key) => rows.has(key))
    .map((key) => ({ item: key.slice(0, -2), score: dot(own, rows.get(key)!) }))
  return scored.sort((a, b) => b.score - a.score).map(({ item }) => item)
}

/** A kind of models of users and items. */
export function factorKind(options: FactorOptions): Kind {
  const { name, model = 'als-model', isImplicit = false, isClipped = true } = options
  const all = lines(isImplicit)
  const base = all.slice(0, BASE)
  const golden = all.slice(BASE + STREAM, BASE + STREAM + (isImplicit ? 5000 : 2000))
  const seen = itemsByUser(base)
  const relevant = itemsByUser(golden)
  const observations = model === 'als-model' ? 'observations' : `${model}-observations`
  const topics = model === 'als-model' ? [] : ['--topic', model]
  const rated = golden.map(ratedOf)

  const rankingLosses = (rows: Rows): readonly number[] =>
    [...relevant].map(([user, wanted]) => {
      const known = seen.get(user) ?? new Set()
      const list = ranked(rows, user).filter((item) => !known.has(item))
      return ndcgLoss(list, wanted)
    })
  const square = (rows: Rows, { user, item, rating }: Rated): number => {
    const score = dot(rowOf(rows, `${user}-U`), rowOf(rows, `${item}-I`))
    return ((isClipped ? Math.min(5, Math.max(1, score)) : score) - rating) ** 2
  }
  return {
    name,
    model,
    observations,
    state: 'ALS_MODEL',
    base,
    stream: all.slice(BASE, BASE + STREAM),
    golden,
    keys: [...ids(USERS).map((id) => `${id}-U`), ...itemKeys, ...MEANS],
    serve: ['run', 'als-serving', ...topics],
    learn:
      topics.length === 0
        ? ['learn', 'als']
        : ['learn', 'als', ...topics, '--observations', observations],
    stepsAlways: true,
    publish: (at) => options.publish(at, topics),
    sent: (given) => given,
    losses: isImplicit ? rankingLosses : (rows) => rated.map((one) => square(rows, one)),
    async recomputed(at, version) {
      const publication = await publicationOf(at, model, version)
      const rule = defaultRule(publication, isImplicit)
      return new LearnedFactors({ model, observations, publication, rule, isImplicit })
    },
    async evaluated(at, { toAsk }) {
      const ranking = ['--top', '10', '--seen', at.file('base')]
      const clip = isClipped ? [] : ['--no-clip']
      const flags = [...topics, ...(isImplicit ? ranking : clip), '--json', ...toAsk]
      const said = JSON.parse(await at.run('evaluate', '--ratings', at.file('golden'), ...flags))
      return isImplicit ? 1 - said.ranking.ndcg.mean : said.mse
    },
    predictions: (face, asked) => FACES[face](asked, rated),
    exportKey: (key) => key,
    originOf,
  }

  function originOf({ key, value }: { key: string; value: Buffer }): DeltaOrigin {
    const offset = value.readUInt32LE(12) * 2 ** 32 + value.readUInt32LE(8)
    return { version: Number(key.split('@')[1]), partition: value.readUInt32LE(4), offset }
  }
}

function itemsByUser(given: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const { user, item } of given.map(ratedOf)) {
    found.set(user, (found.get(user) ?? new Set()).add(item))
  }
  return found
}

type AskRatings = (asked: Asked, rated: readonly Rated[]) => Promise<readonly ComparedPrediction[]>

const compared = (rows: Rows, user: string, item: string, answer: number): ComparedPrediction => ({
  what: `${user} ${item}`,
  answer,
  own: dot(rowOf(rows, `${user}-U`), rowOf(rows, `${item}-I`)),
})

const FACES: Readonly<Record<Face, AskRatings>> = {
  async client({ service: { client }, rows }, rated) {
    const cold = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
    const pairs = await Promise.all(
      rated.slice(0, 400).map(async ({ user, item }) => {
        const { score } = await client.predict('ALS_MODEL', `${user}-U`, `${item}-I`, cold)
        return compared(rows, user, item, score)
      }),
    )
    const lists = await Promise.all(
      rated.slice(0, LISTS).map(async ({ user }) => {
        const wanted = { k: 5, suffix: '-I', cold: 'MEAN-U' }
        const list = await client.topK('ALS_MODEL', `${user}-U`, wanted)
        if (!list.ok) throw list.error
        const scores = list.value.map(({ key, score }) =>
          compared(rows, user, key.slice(0, -2), score),
        )
        const best = ranked(rows, user).slice(0, wanted.k)
        // Equal scores may come in any order: the score at each rank is compared.
        const ranks = best.map((item, rank) => ({
          what: `rank ${rank} of ${user}`,
          answer: list.value[rank]?.score ?? Number.NaN,
          own: compared(rows, user, item, 0).own,
        }))
        return [...scores, ...ranks]
      }),
    )
    return [...pairs, ...lists.flat()]
  },
  async command({ at, service, rows }, rated) {
    const user = rated[0]!.user
    const items = rated.slice(0, 40).map(({ item }) => item)
    const said = await at.ask('predict', user, ...items, '--json', ...service.toAsk)
    const answers = jsonLines(said)
    return items.map((item, n) => {
      const score = answers[n]?.['item'] === item ? Number(answers[n]['score']) : Number.NaN
      return compared(rows, user, item, score)
    })
  },
  async gateway({ gateway, rows }, rated) {
    const pairs = rated.slice(0, 40)
    return await Promise.all(
      pairs.map(async ({ user, item }) => {
        const answer = await gateway!(`/v1/predict/${user}/${item}`)
        const { score } = answer as { readonly score: number }
        return compared(rows, user, item, score)
      }),
    )
  },
}

/** Rows of a small model without biases as the ancestor's text, `1,U,f1;f2;...`. */
export async function textRows(at: Installation): Promise<readonly string[]> {
  const elsewhere = at.another('text')
  const small = ['--factors', '8', '--no-biases', '--threads', '0']
  await elsewhere.run('train', 'als', '--ratings', at.file('base'), ...small)
  await elsewhere.run('model', 'export', '1', elsewhere.file('rows'))
  const rows = [...exportedRows(elsewhere.file('rows'))]
  return rows.map(([key, row]) => `${key.slice(0, -2)},${key.at(-1)},${[...row].join(';')}`)
}
