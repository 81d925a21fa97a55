import type {
  Contiguity,
  GroupTerm,
  NotTerm,
  PatternCondition,
  PatternSpec,
  PatternTerm,
  StageTerm,
} from '../../src/operators/cep/term.ts'

/** A record with its event time, ms. */
export interface TimedRecord {
  readonly record: string
  readonly time: number
}

/** What a pattern is to give, each match as its stages with their records, in order of emission where others are skipped. */
export interface PatternResults {
  readonly matches: readonly string[]
  /** Partial matches that time out; undefined where matches remove some of them. */
  readonly timedOut: readonly string[] | undefined
}

type Taken = readonly { readonly stage: string; readonly at: number }[]

interface Guard {
  readonly term: StageTerm<string>
}

/** Where an enumeration is: what was taken, and what the records up to the next taken one may not be. */
interface Place {
  readonly taken: Taken
  readonly nots: readonly NotTerm<string>[]
  readonly guards: readonly Guard[]
  readonly enters: Contiguity | undefined
}

interface Match {
  readonly taken: Taken
  /** Place of the record that ends it, or the end of its time. */
  readonly end: number
}

/**
 * All matches of a pattern, by trying each record for each stage. Records are tried beside one that is not there, which each
 * stage would take when the time of a match is over: what reaches it is a partial match that times out.
 */
export function matchesOf(
  spec: PatternSpec<string>,
  records: readonly TimedRecord[],
): PatternResults {
  const model = new Enumeration(spec, records)
  model.run()
  const found = new Map(model.found.map((match) => [wordsOf(match.taken, records), match]))
  const matches = afterSkips(spec, [...found.values()])
  const open = [...new Set(model.open.map((taken) => wordsOf(taken, records)))]
  const whole = new Set(found.keys())
  return {
    matches: matches.map(({ taken }) => wordsOf(taken, records)),
    timedOut:
      spec.afterMatch.kind === 'none' ? open.filter((words) => !whole.has(words)) : undefined,
  }
}

function wordsOf(taken: Taken, records: readonly TimedRecord[]): string {
  return taken.map(({ stage, at }) => `${stage}:${at}=${records[at]!.record}`).join(' ')
}

class Enumeration {
  readonly found: Match[] = []
  readonly open: Taken[] = []
  private readonly spec: PatternSpec<string>
  private readonly records: readonly TimedRecord[]

  constructor(spec: PatternSpec<string>, records: readonly TimedRecord[]) {
    this.spec = spec
    this.records = records
  }

  run(): void {
    const place: Place = { taken: [], nots: [], guards: [], enters: undefined }
    this.sequence(this.spec.terms, place, [], (last) => this.end(last))
  }

  private sequence(
    terms: readonly PatternTerm<string>[],
    place: Place,
    untils: readonly PatternCondition<string>[],
    then: (place: Place) => void,
  ): void {
    const [term, ...rest] = terms
    if (term === undefined) {
      then(place)
    } else if (term.kind === 'not') {
      this.sequence(rest, { ...place, nots: [...place.nots, term] }, untils, then)
    } else {
      this.repeated(term, place, untils, (next) => this.sequence(rest, next, untils, then))
    }
  }

  private repeated(
    term: StageTerm<string> | GroupTerm<string>,
    place: Place,
    around: readonly PatternCondition<string>[],
    then: (place: Place) => void,
  ): void {
    const untils = term.until === undefined ? around : [...around, term.until]
    const isGuarded = term.kind === 'stage' && term.greedy && term.from !== term.to
    const leave = (left: Place): void =>
      then({
        ...left,
        enters: undefined,
        guards: isGuarded ? [...left.guards, { term: term as StageTerm<string> }] : left.guards,
      })
    if (term.optional) leave(place)
    const round = (number: number, before: Place): void => {
      this.once(term, before, untils, (after) => {
        if (number >= term.from) leave(after)
        if (number < term.to && after.taken.length > before.taken.length) {
          round(number + 1, { ...after, enters: term.inner })
        }
      })
    }
    round(1, { ...place, enters: place.enters ?? term.contiguity })
  }

  private once(
    term: StageTerm<string> | GroupTerm<string>,
    place: Place,
    untils: readonly PatternCondition<string>[],
    then: (place: Place) => void,
  ): void {
    if (term.kind === 'group') {
      this.sequence(term.terms, place, untils, then)
      return
    }
    const { taken } = place
    const last = taken.at(-1)?.at
    for (let at = last === undefined ? 0 : last + 1; at < this.endOf(place); at++) {
      if (!this.mayTake(term, place, untils, at)) continue
      then({
        taken: [...taken, { stage: term.name, at }],
        nots: [],
        guards: [],
        enters: undefined,
      })
    }
    if (last === undefined) return
    if (this.passes(place, untils, last + 1, this.endOf(place), term)) this.open.push(taken)
  }

  /** The place of the first record that is too late for a match. */
  private endOf({ taken }: Place): number {
    const [first] = taken
    const { withinMs } = this.spec
    if (first === undefined || withinMs === undefined) return this.records.length
    const deadline = this.records[first.at]!.time + withinMs
    const end = this.records.findIndex(({ time }, at) => at > first.at && time >= deadline)
    return end < 0 ? this.records.length : end
  }

  private mayTake(
    term: StageTerm<string>,
    place: Place,
    untils: readonly PatternCondition<string>[],
    at: number,
  ): boolean {
    const { taken } = place
    const last = taken.at(-1)?.at
    const from = last === undefined ? at : last + 1
    if (!this.holds(term.tests, at, taken)) return false
    if (untils.some((until) => this.meets(until, at, taken))) return false
    if (this.isGuarded(place, from, at)) return false
    if (last === undefined) return true
    if (from === at && this.isNotNext(place, at)) return false
    return this.passes(place, untils, from, at, term)
  }

  /** Whether the records from `from` to before `to` can stand before one that a stage takes. */
  private passes(
    place: Place,
    untils: readonly PatternCondition<string>[],
    from: number,
    to: number,
    term?: StageTerm<string>,
  ): boolean {
    const { taken, nots } = place
    const contiguity = place.enters ?? term?.contiguity
    if (contiguity === 'next' && to > from) return false
    for (let at = from; at < to; at++) {
      if (untils.some((until) => this.meets(until, at, taken))) return false
      if (this.isGuarded(place, from, at)) return false
      if (at === from && this.isNotNext(place, at)) return false
      if (nots.some((not) => not.contiguity === 'followedBy' && this.holds(not.tests, at, taken))) {
        return false
      }
      if (term !== undefined && contiguity === 'followedBy' && this.holds(term.tests, at, taken)) {
        return false
      }
    }
    return true
  }

  private isNotNext({ nots, taken }: Place, at: number): boolean {
    return nots.some(
      ({ contiguity, tests }) => contiguity === 'next' && this.holds(tests, at, taken),
    )
  }

  /** Whether a record would belong to a greedy loop that no record since `from` has ended. */
  private isGuarded({ guards, taken }: Place, from: number, at: number): boolean {
    return guards.some(({ term }) => {
      if (!this.holds(term.tests, at, taken)) return false
      const { until } = term
      if (until === undefined) return true
      for (let before = from; before <= at; before++) {
        if (this.meets(until, before, taken)) return false
      }
      return true
    })
  }

  private end(place: Place): void {
    const { taken, nots } = place
    const last = taken.at(-1)
    if (last === undefined) return
    if (nots.length === 0) {
      this.found.push({ taken, end: last.at })
      return
    }
    const end = this.endOf(place)
    const unending: Place = { ...place, enters: 'followedByAny' }
    if (nots.some(({ contiguity }) => contiguity === 'followedBy')) {
      if (this.passes(unending, [], last.at + 1, end)) this.found.push({ taken, end })
    } else if (last.at + 1 >= end) {
      this.open.push(taken)
    } else if (this.passes(unending, [], last.at + 1, last.at + 2)) {
      this.found.push({ taken, end: last.at + 1 })
    }
  }

  private holds(tests: StageTerm<string>['tests'], at: number, taken: Taken): boolean {
    let holds = true
    tests.forEach(({ joins, condition }, i) => {
      const test = (): boolean => this.meets(condition, at, taken)
      if (i === 0) holds = test()
      else holds = joins === 'and' ? holds && test() : holds || test()
    })
    return holds
  }

  private meets(condition: PatternCondition<string>, at: number, taken: Taken): boolean {
    const match = new Proxy({}, { get: (_, stage) => this.recordsOf(taken, stage as string) })
    return condition(this.records[at]!.record, match)
  }

  private recordsOf(taken: Taken, stage: string): readonly string[] {
    return taken.filter((each) => each.stage === stage).map(({ at }) => this.records[at]!.record)
  }
}

/** The matches that are left when those that come first remove others. */
function afterSkips(
  { afterMatch, terms }: PatternSpec<string>,
  matches: readonly Match[],
): readonly Match[] {
  const startOf = ({ taken }: Match): number => taken[0]!.at
  const names = namesOf(terms)
  const placesOf = ({ taken }: Match): readonly number[] => taken.map(({ at }) => at)
  const stagesOf = ({ taken }: Match): readonly number[] =>
    taken.map(({ stage }) => names.indexOf(stage))
  const ordered = [...matches].sort(
    (a, b) =>
      startOf(a) - startOf(b) ||
      a.end - b.end ||
      b.taken.length - a.taken.length ||
      compare(placesOf(a), placesOf(b)) ||
      compare(stagesOf(a), stagesOf(b)),
  )
  const left: Match[] = []
  let from = 0
  for (const match of ordered) {
    if (startOf(match) < from) continue
    left.push(match)
    const { taken } = match
    const { kind } = afterMatch
    if (kind === 'to-next') from = startOf(match) + 1
    if (kind === 'past-last-event') from = taken.at(-1)!.at + 1
    if (kind !== 'to-first' && kind !== 'to-last') continue
    const ofStage = taken.filter(({ stage }) => stage === afterMatch.stage)
    const to = kind === 'to-first' ? ofStage[0] : ofStage.at(-1)
    from = Math.max(from, to?.at ?? 0)
  }
  return left
}

function namesOf(terms: readonly PatternTerm<string>[]): readonly string[] {
  return terms.flatMap((term) => (term.kind === 'group' ? namesOf(term.terms) : [term.name]))
}

function compare(a: readonly number[], b: readonly number[]): number {
  return a.map((value, i) => value - b[i]!).find((difference) => difference !== 0) ?? 0
}
