import { type EntriesOptions, type StateEntry, StateReads } from '../../client/state/typed-reads.ts'
import { WeirError } from '../../core/errors.ts'
import type { PlainKey } from '../../core/formats/plain-key.ts'
import type { GetOptions } from '../../wire/typed-value.ts'
import type { ApplicationRoute, ApplicationStates } from '../port/application.ts'
import type { ServedState } from '../port/services.ts'

/** Most entries that one request reads. */
const MOST_ENTRIES = 10_000

/** Reads with keys and values of their types of a served state. */
export function readsOf(state: ServedState): StateReads {
  return new StateReads({
    states: () => state.routing.states,
    refresh: () => state.refreshRouting(),
    rows: (...asked) => state.rows(...asked),
    values: (...asked) => state.values(...asked),
    page: async (name, range, options) => {
      // One more, whose key is where the next page begins.
      const entries = await state.scan(name, { ...range, limit: range.limit + 1 }, options)
      return { entries: entries.slice(0, range.limit), next: entries[range.limit]?.key }
    },
  })
}

/** The states that one request for a path reads. */
export class RequestStates implements ApplicationStates {
  private readonly route: ApplicationRoute
  private readonly reads: StateReads
  private read = 0

  constructor(route: ApplicationRoute, reads: StateReads) {
    this.route = route
    this.reads = reads
  }

  async get<T>(state: string, key: PlainKey, options: GetOptions = {}): Promise<T | undefined> {
    this.requireNamed(state)
    const answer = await this.reads.get<T>('states.get', state, key, options)
    if (answer.ok) return answer.value
    if (answer.error.code === 'UNKNOWN_KEY') return undefined
    throw answer.error
  }

  async *entries<K, T>(
    state: string,
    options: EntriesOptions = {},
  ): AsyncGenerator<StateEntry<K, T>, void> {
    this.requireNamed(state)
    for await (const entry of this.reads.entries<K, T>(state, options)) {
      this.read += 1
      if (this.read > MOST_ENTRIES)
        this.refuse(
          `reads more than ${MOST_ENTRIES} entries in a request: pass a prefix, a range or a limit to entries`,
        )
      yield entry
    }
  }

  private requireNamed(state: string): void {
    if (this.route.states.includes(state)) return
    this.refuse(
      `reads "${state}", which its "states" do not name: add it there, so that a token must have the right to read it`,
    )
  }

  private refuse(problem: string): never {
    throw new WeirError('OPERATOR_FAILED', `the route ${this.route.path} ${problem}`)
  }
}
