/** Records of each stage that a match has so far, by the name of the stage; an empty list where it has none. */
export type RecordsByStage<T> = Readonly<Record<string, readonly T[]>>

/** Decides whether a stage takes a record; `match` has the records that the partial match has taken. */
export type PatternCondition<T> = (record: T, match: RecordsByStage<T>) => boolean

/**
 * How a record follows the one before it in a match. `next`: it comes directly after it. `followedBy`: it is the first one
 * after it that the stage takes. `followedByAny`: it is any one after it that the stage takes.
 */
export type Contiguity = 'next' | 'followedBy' | 'followedByAny'

/** A condition and how it joins those before it. */
export interface StageTest<T> {
  readonly joins: 'and' | 'or'
  readonly condition: PatternCondition<T>
}

/** How often a stage or a group comes. */
export interface Quantifier<T> {
  readonly from: number
  /** Infinite where only `until` or time ends the loop. */
  readonly to: number
  readonly optional: boolean
  readonly greedy: boolean
  /** How the records, or the rounds of a group, follow each other. */
  readonly inner: Contiguity
  readonly until: PatternCondition<T> | undefined
}

/** A stage, which takes records. */
export interface StageTerm<T> extends Quantifier<T> {
  readonly kind: 'stage'
  readonly name: string
  readonly contiguity: Contiguity
  /** Without a test the stage takes each record. */
  readonly tests: readonly StageTest<T>[]
}

/** A stage that no record may match: the next one (`next`), or any before that of the stage behind it (`followedBy`). */
export interface NotTerm<T> {
  readonly kind: 'not'
  readonly name: string
  readonly contiguity: 'next' | 'followedBy'
  readonly tests: readonly StageTest<T>[]
}

/** A sequence of terms that comes as a whole. */
export interface GroupTerm<T> extends Quantifier<T> {
  readonly kind: 'group'
  readonly contiguity: Contiguity
  readonly terms: readonly PatternTerm<T>[]
}

/** A part of a pattern. */
export type PatternTerm<T> = StageTerm<T> | NotTerm<T> | GroupTerm<T>

/**
 * What a match ends besides itself: the partial matches, and matches that wait, that it removes. `none`: no others.
 * `to-next`: those that started with its first record. `past-last-event`: those that started before it ended. `to-first`,
 * `to-last`: those that started before the first or last record of a stage; no others where the stage has none.
 */
export type AfterMatch =
  | { readonly kind: 'none' | 'to-next' | 'past-last-event' }
  | { readonly kind: 'to-first' | 'to-last'; readonly stage: string }

/** A pattern: its terms, the time of a match, and what comes after a match. */
export interface PatternSpec<T> {
  readonly terms: readonly PatternTerm<T>[]
  /** A match lasts less than this from its first record to its last one, ms; undefined for no limit. */
  readonly withinMs: number | undefined
  readonly afterMatch: AfterMatch
}

/** The terms with those of groups in them, in their order. */
export function allTerms<T>(terms: readonly PatternTerm<T>[]): readonly PatternTerm<T>[] {
  return terms.flatMap((term) => (term.kind === 'group' ? [term, ...allTerms(term.terms)] : [term]))
}

/** The names of the stages that take records, in their order. */
export function stageNames<T>(terms: readonly PatternTerm<T>[]): readonly string[] {
  return allTerms(terms).flatMap((term) => (term.kind === 'stage' ? [term.name] : []))
}
