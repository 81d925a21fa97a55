import { requireArgument } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { requireValidPattern } from './rules.ts'
import { conditionOf } from './stage-condition.ts'
import {
  type Contiguity,
  type GroupTerm,
  type PatternCondition,
  type PatternSpec,
  type PatternTerm,
  type StageTerm,
  stageNames,
} from './term.ts'

/** Most positions of a pattern: `times(n)` makes n of them. */
const MOST_POSITIONS = 10_000

/** A condition of a greedy stage: no record may meet it before the stage behind it has taken one. */
export interface GreedyGuard {
  readonly condition: number
  /** The condition that ends the loop, and so the guard. */
  readonly until: number | undefined
}

/** A way from one position to another one. Conditions are numbers, in `Automaton.conditions`. */
export interface Edge {
  /** Number among the edges of its position. */
  readonly number: number
  /** The position that takes the record; undefined at the end of a pattern whose last stage is negated. */
  readonly to: Position | undefined
  readonly contiguity: Contiguity
  /** The way ends with a record that meets one of them. */
  readonly untils: readonly number[]
  readonly guards: readonly GreedyGuard[]
  /** What no record in between may meet. */
  readonly nots: readonly number[]
  /** What the first record may not meet. */
  readonly notNexts: readonly number[]
  /** The numbers of this edge without one of its guards, by the place of the guard. */
  readonly lifted: readonly number[]
}

/** Where edges begin: a position, or the start of a match. */
export interface Beginning {
  readonly edges: readonly Edge[]
  /** The numbers of the edges that are open from the start; the others are these without guards. */
  readonly opening: readonly number[]
}

/** A place in a pattern that takes one record: a stage, or one of the times that a stage comes. */
export interface Position extends Beginning {
  readonly index: number
  readonly stage: string
  /** The place of the stage in `Automaton.stages`. */
  readonly stageNumber: number
  readonly condition: number
  /** Whether a match may end here. */
  readonly accepts: boolean
}

/** A pattern as positions and the ways between them. */
export interface Automaton<T> {
  readonly positions: readonly Position[]
  /** The ways of a first record. */
  readonly start: Beginning
  readonly conditions: readonly PatternCondition<T>[]
  /** The names of stages that take records, in their order. */
  readonly stages: readonly string[]
  readonly spec: PatternSpec<T>
  /** A text that differs between patterns of different form: numbers of positions and edges mean nothing in another one. */
  readonly form: string
}

/**
 * The automaton of a pattern: a position for each time that a stage takes a record, and edges between those that may follow
 * each other (V. Glushkov, "The abstract theory of automata", 1961). Throws INVALID_ARGUMENT for a pattern that breaks a rule.
 */
export function compilePattern<T>(spec: PatternSpec<T>): Automaton<T> {
  requireValidPattern(spec)
  const stages = stageNames(spec.terms)
  const compiler = new Compiler<T>(stages)
  const start = compiler.compile(spec)
  return {
    positions: compiler.positions,
    start,
    conditions: compiler.conditions,
    stages,
    spec,
    form: formOf(spec.terms),
  }
}

type EdgeForm = Omit<Edge, 'number' | 'lifted'>

/** Where edges begin: a position, the start of a match, or the end of a loop's round. */
class Origin implements Beginning {
  readonly edges: Edge[] = []
  readonly opening: number[] = []

  add(form: EdgeForm): number {
    const number = this.edges.length
    const lifted: number[] = []
    this.edges.push({ ...form, number, lifted })
    form.guards.forEach((guard, place) => {
      const guards = form.guards.toSpliced(place, 1)
      lifted.push(guard.until === undefined ? -1 : this.add({ ...form, guards }))
    })
    return number
  }
}

class PositionDraft extends Origin implements Position {
  readonly index: number
  readonly stage: string
  readonly stageNumber: number
  readonly condition: number
  accepts = false

  constructor({
    index,
    stage,
    stageNumber,
    condition,
  }: Omit<Position, 'accepts' | keyof Beginning>) {
    super()
    this.index = index
    this.stage = stage
    this.stageNumber = stageNumber
    this.condition = condition
  }
}

/** An open way, which the next stage closes. */
interface OpenWay {
  readonly from: Origin
  readonly nots: readonly number[]
  readonly notNexts: readonly number[]
  readonly guards: readonly GreedyGuard[]
  /** How it enters the next stage, where a group or a loop around that stage says so. */
  readonly enters?: Contiguity
}

const openWay = (from: Origin): OpenWay => ({ from, nots: [], notNexts: [], guards: [] })

class Compiler<T> {
  readonly positions: PositionDraft[] = []
  readonly conditions: PatternCondition<T>[] = []
  private readonly stages: readonly string[]
  private readonly numbers = new Map<StageTerm<T>, number>()

  constructor(stages: readonly string[]) {
    this.stages = stages
  }

  compile({ terms, withinMs }: PatternSpec<T>): Origin {
    const start = new Origin()
    for (const way of this.sequence(terms, [openWay(start)], [])) {
      requireArgument(
        way.from instanceof PositionDraft,
        'each stage of the pattern is optional, so that it matches nothing at all: leave one without optional()',
      )
      requireArgument(
        way.nots.length === 0 || withinMs !== undefined,
        `the pattern can end with the notFollowedBy behind stage "${way.from.stage}", which no record ends: add within(ms), after which it matches`,
      )
      if (way.nots.length === 0 && way.notNexts.length === 0) way.from.accepts = true
      else this.connect(way, { to: undefined, contiguity: 'followedBy', untils: [] })
    }
    return start
  }

  private sequence(
    terms: readonly PatternTerm<T>[],
    entering: readonly OpenWay[],
    untils: readonly number[],
  ): readonly OpenWay[] {
    let open = entering
    for (const term of terms) {
      if (term.kind !== 'not') {
        open = this.repeated(term, open, untils)
        continue
      }
      const not = this.number(conditionOf(term))
      open = open.map((way) =>
        term.contiguity === 'next'
          ? { ...way, notNexts: [...way.notNexts, not] }
          : { ...way, nots: [...way.nots, not] },
      )
    }
    return open
  }

  /** The ways behind a term that comes as often as its quantifier says. */
  private repeated(
    term: StageTerm<T> | GroupTerm<T>,
    open: readonly OpenWay[],
    around: readonly number[],
  ): readonly OpenWay[] {
    const until = term.until && this.number(term.until)
    const untils = until === undefined ? around : [...around, until]
    const guards =
      term.kind === 'stage' && term.greedy && term.from !== term.to
        ? [{ condition: this.conditionOfStage(term), until }]
        : []
    const leave = (ways: readonly OpenWay[]): OpenWay[] =>
      ways.map(({ enters: _, ...way }) => ({ ...way, guards: [...way.guards, ...guards] }))
    const behind = term.optional ? leave(open) : []
    const last = Number.isFinite(term.to) ? term.to : term.from
    let entering = open.map((way) => ({ ...way, enters: way.enters ?? term.contiguity }))
    for (let round = 1; round <= last; round++) {
      const isLoop = round === last && last !== term.to
      const through = isLoop ? this.loop(term, entering, untils) : this.once(term, entering, untils)
      if (round >= term.from) behind.push(...leave(through))
      entering = through.map((way) => ({ ...way, enters: term.inner }))
    }
    return behind
  }

  /** The last round that a loop names, and the ways from its end to its beginning. */
  private loop(
    term: StageTerm<T> | GroupTerm<T>,
    entering: readonly OpenWay[],
    untils: readonly number[],
  ): readonly OpenWay[] {
    const round = new Origin()
    const through = this.once(
      term,
      [...entering, { ...openWay(round), enters: term.inner }],
      untils,
    )
    for (const way of through) {
      for (const number of round.opening) {
        const edge = round.edges[number]!
        this.connect(
          {
            from: way.from,
            nots: [...way.nots, ...edge.nots],
            notNexts: [...way.notNexts, ...edge.notNexts],
            guards: [...way.guards, ...edge.guards],
          },
          edge,
        )
      }
    }
    return through
  }

  private once(
    term: StageTerm<T> | GroupTerm<T>,
    entering: readonly OpenWay[],
    untils: readonly number[],
  ): readonly OpenWay[] {
    if (term.kind === 'group') return this.sequence(term.terms, entering, untils)
    const { positions } = this
    const to = new PositionDraft({
      index: positions.length,
      stage: term.name,
      stageNumber: this.stages.indexOf(term.name),
      condition: this.conditionOfStage(term),
    })
    positions.push(to)
    requireArgument(
      positions.length <= MOST_POSITIONS,
      `the pattern has more than ${MOST_POSITIONS} places for records, one for each time of times(n): give stage "${term.name}" fewer times`,
    )
    for (const way of entering) {
      this.connect(way, { to, contiguity: way.enters ?? term.contiguity, untils })
    }
    return [openWay(to)]
  }

  private connect(
    { from, nots, notNexts, guards }: OpenWay,
    { to, contiguity, untils }: Pick<Edge, 'to' | 'contiguity' | 'untils'>,
  ): void {
    requireArgument(
      !from.edges.some((edge) => edge.to === to),
      `stage "${to?.stage}" can follow the same record in two ways, because a loop repeats what is a loop itself: leave out one of the two`,
    )
    from.opening.push(from.add({ to, contiguity, untils, guards, nots, notNexts }))
  }

  private conditionOfStage(term: StageTerm<T>): number {
    const known = this.numbers.get(term)
    if (known !== undefined) return known
    const number = this.number(conditionOf(term))
    this.numbers.set(term, number)
    return number
  }

  private number(condition: PatternCondition<T>): number {
    return this.conditions.push(condition) - 1
  }
}

/** The terms without their functions, as eight hexadecimal digits. */
function formOf<T>(terms: readonly PatternTerm<T>[]): string {
  const text = JSON.stringify(terms, (_name, value: unknown) => {
    if (typeof value === 'function') return 'function'
    return value === Number.POSITIVE_INFINITY ? 'endless' : value
  })
  const hash = murmur3(new TextEncoder().encode(text)) >>> 0
  return hash.toString(16).padStart(8, '0')
}
