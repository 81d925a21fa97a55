import type { Random } from '../../../src/core/random.ts'

/** Factors of a table: for each the levels that it has. */
export type Factors = Readonly<Record<string, readonly string[]>>

/** A row of a table: a level of each factor. */
export type Combination<F extends Factors> = { readonly [K in keyof F]: F[K][number] }

/** Levels of some factors. */
type Part<F extends Factors> = Partial<Combination<F>>

/** Levels that take long: a row has one only for a pair that no row has yet. */
export type Costly = ReadonlySet<string>

/** Whether these levels can be in one row. It is asked of rows that are not complete, too. */
export type Allows<F extends Factors> = (part: Part<F>) => boolean

/** Options of a table. */
export interface PairwiseOptions<F extends Factors> {
  /** @default each row is allowed */
  readonly allows?: Allows<F>
  /** @default none */
  readonly costly?: Costly
  /** Names of the pairs that the rows have, beside others. @default those of all pairs */
  readonly pairs?: ReadonlySet<string> | undefined
}

interface Pair<F extends Factors> {
  readonly name: string
  readonly part: Part<F>
}

/**
 * Rows in which each pair of levels of two factors occurs that any allowed row can have, or each of some
 * pairs. Each row begins with a pair that no row has yet and goes on, factor by factor, with the level that has the most
 * further new pairs (after Cohen, Dalal, Fredman and Patton, "The AETG system", 1997). Rows with the most new pairs come
 * first, so that the first ones of a table are its best part.
 */
export function pairwise<F extends Factors>(
  factors: F,
  random: Random,
  { allows = () => true, costly = new Set(), pairs }: PairwiseOptions<F> = {},
): readonly Combination<F>[] {
  const wanted = pairsOf(factors).filter(({ name }) => pairs?.has(name) ?? true)
  const missing = new Map(wanted.map(({ name, part }) => [name, part]))
  const rows: Combination<F>[] = []
  for (const [name, part] of missing) {
    if (!missing.delete(name)) continue
    const row = completed(part, { factors, random, allows, costly, missing })
    // No row has this pair.
    if (row === undefined) continue
    for (const covered of namesIn(row)) missing.delete(covered)
    rows.push(row)
  }
  return bestFirst(rows)
}

interface Search<F extends Factors> {
  readonly factors: F
  readonly random: Random
  readonly allows: Allows<F>
  readonly costly: Costly
  readonly missing: ReadonlyMap<string, Part<F>>
}

/** A row with these levels, or undefined if there is none that is allowed. */
function completed<F extends Factors>(
  part: Part<F>,
  search: Search<F>,
): Combination<F> | undefined {
  const { factors, random, allows, costly, missing } = search
  if (!allows(part)) return undefined
  const open = Object.keys(factors).filter((factor) => part[factor] === undefined)
  if (open.length === 0) return part as Combination<F>
  const factor = open[random.below(open.length)]!
  const news = (row: Part<F>): number => namesIn(row).filter((name) => missing.has(name)).length
  const next = factors[factor]!.map((level) => {
    const row = { ...part, [factor]: level }
    return { row, news: news(row), rank: random.next() + (costly.has(level) ? 1 : 0) }
  }).sort((a, b) => b.news - a.news || a.rank - b.rank)
  for (const { row } of next) {
    const whole = completed(row, search)
    if (whole !== undefined) return whole
  }
  return undefined
}

/** Every pair of levels of two factors. */
function pairsOf<F extends Factors>(factors: F): readonly Pair<F>[] {
  const levels = Object.entries(factors).map(([factor, all]) =>
    all.map((level) => ({ [factor]: level })),
  )
  const pairs = levels.flatMap((first, n) =>
    levels
      .slice(n + 1)
      .flatMap((second) => first.flatMap((a) => second.map((b) => ({ ...a, ...b })))),
  )
  return pairs.map((part) => ({ name: namesIn(part)[0]!, part: part as Part<F> }))
}

/** Names of the pairs of levels in a row. */
export function namesIn(row: Readonly<Record<string, string | undefined>>): readonly string[] {
  const levels = Object.keys(row)
    .filter((factor) => row[factor] !== undefined)
    .sort()
    .map((factor) => `${factor}=${row[factor]}`)
  return levels.flatMap((a, n) => levels.slice(n + 1).map((b) => `${a} ${b}`))
}

function bestFirst<F extends Factors>(rows: readonly Combination<F>[]): readonly Combination<F>[] {
  const seen = new Set<string>()
  const left = new Set(rows)
  const ordered: Combination<F>[] = []
  while (left.size > 0) {
    const news = (row: Combination<F>): number =>
      namesIn(row).filter((name) => !seen.has(name)).length
    const best = [...left].reduce((a, b) => (news(b) > news(a) ? b : a))
    left.delete(best)
    ordered.push(best)
    for (const name of namesIn(best)) seen.add(name)
  }
  return ordered
}
