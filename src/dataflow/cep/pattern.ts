import { requireArgument } from '../../core/errors.ts'
import { aFunction, name as aName, count, wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { checkedCondition } from '../../operators/cep/stage-condition.ts'
import type {
  AfterMatch,
  Contiguity,
  GroupTerm,
  NotTerm,
  PatternCondition,
  PatternSpec,
  PatternTerm,
  Quantifier,
  StageTerm,
  StageTest,
} from '../../operators/cep/term.ts'
import { requireFunction } from '../checks/function-argument.ts'

/** The records of a match by stage: `done` before the last stage, and the last one. */
export type MatchOf<Done, Stage extends string, Records> = {
  readonly [Name in keyof (Done & Record<Stage, Records>)]: (Done & Record<Stage, Records>)[Name]
}

/** A condition on a record, with the records that the partial match has taken so far (Flink's `IterativeCondition`). */
export type Condition<T, Done, Stage extends string> = (
  record: T,
  match: { readonly [Name in keyof Done | Stage]: readonly T[] },
) => boolean

/** The records of a stage that comes more than once. */
type Several<T> = readonly [T, ...T[]]

/** A pattern of any stages. */
export type AnyPattern<T> = Pick<Pattern<T, object, string, readonly T[]>, 'spec'>

/** The stages of a group, each with any number of records: the group may come several times, or not at all. */
type Grouped<P, T> =
  P extends Pattern<T, infer Done, infer Stage, readonly T[]>
    ? { readonly [Name in keyof Done | Stage]: readonly T[] }
    : never

const ONCE = {
  from: 1,
  to: 1,
  optional: false,
  greedy: false,
  inner: 'followedBy',
  until: undefined,
} as const satisfies Quantifier<unknown>

/** The first step of a pattern. */
export interface PatternStart<T> {
  /** Begins with a stage, which takes each record unless `where` says which. */
  begin<const Stage extends string>(stage: Stage): Pattern<T, object, Stage, readonly [T]>
  /** Begins with a group: a pattern that comes as a whole. */
  begin<P extends AnyPattern<T>>(group: P): Pattern<T, Grouped<P, T>, never, never>
}

/**
 * A pattern: stages that take records of a key one after the other. Each method returns another pattern, and this one stays
 * as it is. All throw INVALID_ARGUMENT for what does not fit (Flink's `Pattern`).
 */
export class Pattern<T, Done, Stage extends string, Records extends readonly T[]> {
  /** The types of the match, for the compiler only. */
  declare readonly matchType: MatchOf<Done, Stage, Records>
  /** For the classes of this folder. */
  readonly spec: PatternSpec<T>

  private constructor(spec: PatternSpec<T>) {
    this.spec = spec
  }

  /** Patterns of records of a type: `Pattern.of<Order>().begin('first')`. */
  static of<T>(): PatternStart<T> {
    const begin = (stage: string | AnyPattern<T>): Pattern<T, object, never, never> =>
      new Pattern({
        terms: [termOf(stage, 'begin', 'followedBy')],
        withinMs: undefined,
        afterMatch: { kind: 'none' },
      })
    return { begin } as PatternStart<T>
  }

  /** Lets the stage take only records that meet the condition, and those before it. */
  where(condition: Condition<T, Done, Stage>): Pattern<T, Done, Stage, Records> {
    return this.tested('where', 'and', condition)
  }

  /** Lets the stage also take records that meet this condition, and none before it. */
  or(condition: Condition<T, Done, Stage>): Pattern<T, Done, Stage, Records> {
    return this.tested('or', 'or', condition)
  }

  /** The next record of the key is of this stage. */
  next<const Next extends string>(
    stage: Next,
  ): Pattern<T, MatchOf<Done, Stage, Records>, Next, readonly [T]>
  next<P extends AnyPattern<T>>(
    group: P,
  ): Pattern<T, MatchOf<Done, Stage, Records> & Grouped<P, T>, never, never>
  next(stage: string | AnyPattern<T>): Pattern<T, never, never, never> {
    return this.appended(termOf(stage, 'next', 'next'))
  }

  /** The next record that the stage takes follows; others in between are passed over. */
  followedBy<const Next extends string>(
    stage: Next,
  ): Pattern<T, MatchOf<Done, Stage, Records>, Next, readonly [T]>
  followedBy<P extends AnyPattern<T>>(
    group: P,
  ): Pattern<T, MatchOf<Done, Stage, Records> & Grouped<P, T>, never, never>
  followedBy(stage: string | AnyPattern<T>): Pattern<T, never, never, never> {
    return this.appended(termOf(stage, 'followedBy', 'followedBy'))
  }

  /** Any later record that the stage takes follows: each of them makes a match of its own. */
  followedByAny<const Next extends string>(
    stage: Next,
  ): Pattern<T, MatchOf<Done, Stage, Records>, Next, readonly [T]>
  followedByAny<P extends AnyPattern<T>>(
    group: P,
  ): Pattern<T, MatchOf<Done, Stage, Records> & Grouped<P, T>, never, never>
  followedByAny(stage: string | AnyPattern<T>): Pattern<T, never, never, never> {
    return this.appended(termOf(stage, 'followedByAny', 'followedByAny'))
  }

  /** The next record of the key is none of this stage. */
  notNext(stage: string): Pattern<T, MatchOf<Done, Stage, Records>, never, never> {
    checkArgument('notNext', 'stage', aName, stage)
    return this.appended({ kind: 'not', name: stage, contiguity: 'next', tests: [] })
  }

  /**
   * No record of this stage comes before the one of the stage behind it; at the end of a pattern, before the time of
   * `within` is over.
   */
  notFollowedBy(stage: string): Pattern<T, MatchOf<Done, Stage, Records>, never, never> {
    checkArgument('notFollowedBy', 'stage', aName, stage)
    return this.appended({ kind: 'not', name: stage, contiguity: 'followedBy', tests: [] })
  }

  /** The stage comes this many times, or from `from` to `to` times. */
  times(from: number, to: number = from): Pattern<T, Done, Stage, Several<T>> {
    checkArgument('times', 'from', count, from)
    checkArgument('times', 'to', wholeNumber({ min: from }), to)
    return this.repeated('times', from, to)
  }

  /** The stage comes this many times, or more often. */
  timesOrMore(from: number): Pattern<T, Done, Stage, Several<T>> {
    checkArgument('timesOrMore', 'from', count, from)
    return this.repeated('timesOrMore', from, Number.POSITIVE_INFINITY)
  }

  /** The stage comes once or more often. */
  oneOrMore(): Pattern<T, Done, Stage, Several<T>> {
    return this.repeated('oneOrMore', 1, Number.POSITIVE_INFINITY)
  }

  /** The stage may also be left out. */
  optional(): Pattern<T, Done, Stage, Records | readonly []> {
    return this.changed('optional', () => ({ optional: true }))
  }

  /** The stage takes all records that it can: the stage behind it takes none before the loop has had its last one. */
  greedy(): Pattern<T, Done, Stage, Records> {
    return this.changed('greedy', (term) => {
      requireLoop(term, 'greedy')
      requireArgument(
        term.kind === 'stage',
        'greedy() of a group is not offered: call it for stages within the group',
      )
      return { greedy: true }
    })
  }

  /** The records of the loop follow each other without others in between. */
  consecutive(): Pattern<T, Done, Stage, Records> {
    return this.changed('consecutive', (term) => {
      requireLoop(term, 'consecutive')
      return { inner: 'next' }
    })
  }

  /** The loop may leave out records that it could take: each selection of them makes a match of its own. */
  allowCombinations(): Pattern<T, Done, Stage, Records> {
    return this.changed('allowCombinations', (term) => {
      requireLoop(term, 'allowCombinations')
      return { inner: 'followedByAny' }
    })
  }

  /** Ends the loop with a record that meets the condition, which the loop does not take. */
  until(condition: Condition<T, Done, Stage>): Pattern<T, Done, Stage, Records> {
    requireCondition(condition, 'until')
    return this.changed('until', (term) => {
      requireArgument(
        term.to === Number.POSITIVE_INFINITY,
        'until(...) ends a loop without a last time: call oneOrMore() or timesOrMore(n) before it',
      )
      const until = checkedCondition(condition as PatternCondition<T>, 'the condition of until')
      return { until }
    })
  }

  /** A match lasts less than this from its first record to its last one, ms. The last call counts. */
  within(withinMs: number): Pattern<T, Done, Stage, Records> {
    checkArgument('within', 'withinMs', count, withinMs)
    return new Pattern({ ...this.spec, withinMs })
  }

  /** Emits each match, whatever records it shares with others. This is the default. */
  noSkip(): Pattern<T, Done, Stage, Records> {
    return this.skip({ kind: 'none' })
  }

  /** After a match, drops the partial matches that started with its first record. */
  skipToNext(): Pattern<T, Done, Stage, Records> {
    return this.skip({ kind: 'to-next' })
  }

  /** After a match, drops the partial matches that started before it ended. */
  skipPastLastEvent(): Pattern<T, Done, Stage, Records> {
    return this.skip({ kind: 'past-last-event' })
  }

  /** After a match, drops the partial matches that started before its first record of a stage. */
  skipToFirst(stage: (keyof Done & string) | Stage): Pattern<T, Done, Stage, Records> {
    checkArgument('skipToFirst', 'stage', aName, stage)
    return this.skip({ kind: 'to-first', stage })
  }

  /** After a match, drops the partial matches that started before its last record of a stage. */
  skipToLast(stage: (keyof Done & string) | Stage): Pattern<T, Done, Stage, Records> {
    checkArgument('skipToLast', 'stage', aName, stage)
    return this.skip({ kind: 'to-last', stage })
  }

  private skip(afterMatch: AfterMatch): Pattern<T, Done, Stage, Records> {
    return new Pattern({ ...this.spec, afterMatch })
  }

  private appended<D, S extends string, R extends readonly T[]>(
    term: PatternTerm<T>,
  ): Pattern<T, D, S, R> {
    return new Pattern({ ...this.spec, terms: [...this.spec.terms, term] })
  }

  private tested(
    call: string,
    joins: StageTest<T>['joins'],
    condition: Condition<T, Done, Stage>,
  ): Pattern<T, Done, Stage, Records> {
    requireCondition(condition, call)
    const last = this.spec.terms.at(-1)!
    requireArgument(
      last.kind !== 'group',
      `${call}(...) belongs to a stage, not to a group: call it for the stages within the group`,
    )
    const test = { joins, condition: condition as PatternCondition<T> }
    return this.replaced({ ...last, tests: [...last.tests, test] })
  }

  private repeated(call: string, from: number, to: number): Pattern<T, Done, Stage, Several<T>> {
    return this.changed(call, (term) => {
      requireArgument(
        term.from === 1 && term.to === 1,
        `${call}(...) is the second quantifier of a stage: call one of times, timesOrMore and oneOrMore, once`,
      )
      return { from, to }
    })
  }

  private changed<R extends readonly T[]>(
    call: string,
    change: (term: StageTerm<T> | GroupTerm<T>) => Partial<Quantifier<T>>,
  ): Pattern<T, Done, Stage, R> {
    const last = this.spec.terms.at(-1)!
    if (last.kind === 'not') refuseNot(last, call)
    return this.replaced({ ...last, ...change(last) })
  }

  private replaced<R extends readonly T[]>(term: PatternTerm<T>): Pattern<T, Done, Stage, R> {
    return new Pattern({ ...this.spec, terms: [...this.spec.terms.slice(0, -1), term] })
  }
}

function termOf<T>(
  given: string | AnyPattern<T>,
  call: string,
  contiguity: Contiguity,
): PatternTerm<T> {
  if (given instanceof Pattern) {
    const { terms, withinMs, afterMatch } = given.spec as PatternSpec<T>
    requireArgument(
      withinMs === undefined && afterMatch.kind === 'none',
      `${call}(...) got a group with within or a skip strategy of its own: call them for the whole pattern`,
    )
    return { ...ONCE, kind: 'group', contiguity, terms }
  }
  if (typeof given !== 'string' || given === '') {
    refuseArgument(`${call}(...)`, given, "the name of a stage, such as 'first', or a pattern")
  }
  return { ...ONCE, kind: 'stage', name: given, contiguity, tests: [] }
}

function requireCondition(condition: unknown, call: string): void {
  checkArgument(call, 'condition', aFunction(), condition)
  requireFunction(condition, {
    call,
    operator: 'Pattern',
    example: `${call}((record) => record.price > 10)`,
  })
}

function requireLoop<T>({ from, to }: Quantifier<T>, call: string): void {
  requireArgument(
    from !== 1 || to !== 1,
    `${call}() belongs to a loop: call times(...), timesOrMore(...) or oneOrMore() before it`,
  )
}

function refuseNot<T>({ name, contiguity }: NotTerm<T>, call: string): never {
  const not = contiguity === 'next' ? 'notNext' : 'notFollowedBy'
  requireArgument(
    false,
    `${call}(...) has no meaning for a negated stage: ${not}("${name}") takes where(...) and or(...) alone`,
  )
  throw new Error('unreachable')
}
