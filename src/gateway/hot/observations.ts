import type { FairTurns } from '../../http/fair-turns.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { DEFAULT_DEADLINE_MS } from '../http/query-options.ts'
import { writtenFields, writtenPlaces } from '../http/session.ts'
import type { ObservationTopic, ServedState } from '../port/services.ts'
import type { HotExchange } from './connection.ts'
import type { HotRoute } from './route.ts'

/** What hot observations work with. */
export interface HotObservationsContext {
  readonly topic: ObservationTopic
  readonly state: Pick<ServedState, 'routing'>
  /** Turns of the clients of the port, as those of all writes. */
  readonly turns: FairTurns
}

/** Stores observations, and answers each when it is durable. */
export class HotObservations {
  private readonly context: HotObservationsContext
  private readonly route: HotRoute

  constructor(context: HotObservationsContext, route: HotRoute) {
    this.context = context
    this.route = route
  }

  /** Answers a request with a bearer token, in the turn of its client. */
  answer(exchange: HotExchange, observation: Rating, token: string | undefined): void {
    const { turns } = this.context
    turns.run(exchange.from.remoteAddress ?? '', 'small', () =>
      this.decide(exchange, observation, token),
    )
  }

  private decide(exchange: HotExchange, observation: Rating, token: string | undefined): void {
    // Its client has left while it waited.
    if (exchange.from.destroyed) return
    const on = { kind: 'topic', name: this.context.topic.topic } as const
    const who = this.route.admit(exchange, token, { role: 'write', on })
    if (who !== undefined) void this.store(exchange, observation)
  }

  private async store(exchange: HotExchange, observation: Rating): Promise<void> {
    const { route } = this
    const { topic, state } = this.context
    try {
      const positions = await topic.append([observation], DEFAULT_DEADLINE_MS)
      const stored = { topic: topic.topic, positions }
      const fields = writtenFields(writtenPlaces(stored, state.routing, ''))
      const body = JSON.stringify({ accepted: 1, positions })
      route.send(exchange, 200, route.text.ok(body, fields))
    } catch (thrown) {
      route.fail(exchange, thrown)
    }
  }
}
