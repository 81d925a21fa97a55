import type { Automaton } from './automaton.ts'
import { type MatchedEvent, type MatchNode, recordsOfStage } from './partial-match.ts'
import type { RecordsByStage } from './term.ts'

const UNKNOWN = 0
const HOLDS = 1
const FAILS = 2

/**
 * The conditions of a pattern on one record. One that has not looked at the records of the match gives the same for all
 * partial matches, and so is called once for each record.
 */
export class TestedEvent<T> {
  event!: MatchedEvent<T>
  private readonly conditions: Automaton<T>['conditions']
  private readonly known: Uint8Array
  /** The records of the partial match, as a condition sees them. */
  private readonly match: RecordsByStage<T>
  private last: MatchNode<T> | undefined
  private hasLooked = false

  constructor({ conditions, stages }: Automaton<T>) {
    this.conditions = conditions
    this.known = new Uint8Array(conditions.length)
    this.match = Object.defineProperties(
      {},
      Object.fromEntries(stages.map((stage) => [stage, this.lookAt(stage)])),
    )
  }

  /** Takes the next record. */
  next(event: MatchedEvent<T>): void {
    this.event = event
    this.known.fill(UNKNOWN)
  }

  /** Whether a condition holds for a match up to a node; undefined for one that begins. */
  holds(condition: number, last: MatchNode<T> | undefined): boolean {
    const known = this.known[condition]
    if (known !== UNKNOWN) return known === HOLDS
    this.last = last
    this.hasLooked = false
    const holds = this.conditions[condition]!(this.event.value, this.match)
    if (!this.hasLooked) this.known[condition] = holds ? HOLDS : FAILS
    return holds
  }

  private lookAt(stage: string): PropertyDescriptor {
    return {
      enumerable: true,
      get: () => {
        this.hasLooked = true
        return recordsOfStage(this.last, stage)
      },
    }
  }
}
