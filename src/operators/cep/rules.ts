import { requireArgument } from '../../core/errors.ts'
import { allTerms, type GroupTerm, type PatternSpec, type PatternTerm, stageNames } from './term.ts'

/** Throws INVALID_ARGUMENT for a pattern that breaks a rule: the sentence says which stage, and what to do. */
export function requireValidPattern<T>({ terms, withinMs, afterMatch }: PatternSpec<T>): void {
  requireOneOfEachName(terms)
  requireNots(terms)
  requireEnd(terms, withinMs !== undefined)
  if (!('stage' in afterMatch)) return
  const names = stageNames(terms)
  requireArgument(
    names.includes(afterMatch.stage),
    `the pattern skips to stage "${afterMatch.stage}", which takes no records in it: its stages are ${names.join(', ')}`,
  )
}

function requireOneOfEachName<T>(terms: readonly PatternTerm<T>[]): void {
  const seen = new Set<string>()
  for (const term of allTerms(terms)) {
    if (term.kind === 'group') continue
    requireArgument(
      !seen.has(term.name),
      `the pattern has two stages with the name "${term.name}": give one of them another name`,
    )
    seen.add(term.name)
  }
}

/** A negated stage needs a record before it: with an optional one there it could be meant from there on, or from further on. */
function requireNots<T>(terms: readonly PatternTerm<T>[]): void {
  terms.forEach((term, place) => {
    if (term.kind === 'group') requireNots(term.terms)
    if (term.kind !== 'not') return
    const before = terms.slice(0, place).findLast(({ kind }) => kind !== 'not')
    requireArgument(
      before !== undefined && !canBeEmpty(before),
      `the negated stage "${term.name}" comes behind an optional one, so that it is not clear from where on it counts: leave out optional(), or put a stage that is not optional in between`,
    )
  })
}

/** Each loop needs an end: without one, partial matches stay for all time. */
function requireEnd<T>(terms: readonly PatternTerm<T>[], hasEnd: boolean): void {
  for (const term of terms) {
    if (term.kind === 'not') continue
    const ends = hasEnd || term.until !== undefined
    requireArgument(
      ends || Number.isFinite(term.to),
      `${nameOf(term)} is a loop without an end, so that its partial matches would stay for all time: add within(ms) to the pattern or until(condition) to the loop`,
    )
    if (term.kind === 'group') {
      requireSomething(term)
      requireEnd(term.terms, ends)
    }
  }
}

/** A group that can be empty has no meaning where it comes several times, or not at all. */
function requireSomething<T>(group: GroupTerm<T>): void {
  const isRepeated = group.optional || group.from !== 1 || group.to !== 1
  requireArgument(
    !isRepeated || !group.terms.every(canBeEmpty),
    `each stage of ${nameOf(group)} is optional, and the group has a quantifier, so that one match could come in several ways: leave one of its stages without optional()`,
  )
}

function canBeEmpty<T>(term: PatternTerm<T>): boolean {
  if (term.kind === 'not') return true
  return term.optional || (term.kind === 'group' && term.terms.every(canBeEmpty))
}

function nameOf<T>(term: PatternTerm<T>): string {
  if (term.kind !== 'group') return `stage "${term.name}"`
  return `the group of ${stageNames(term.terms).join(', ')}`
}
