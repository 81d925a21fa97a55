import type { FastifyBaseLogger } from 'fastify'
import type { AccessControl } from '../../access/control.ts'
import type { FairTurns } from '../../http/fair-turns.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { type Refusal, refusalOf } from '../http/authorization.ts'
import { loggedProblem } from '../http/errors.ts'
import { problemFieldsOf } from '../http/problem.ts'
import { DEFAULT_DEADLINE_MS } from '../http/query-options.ts'
import { writtenFields, writtenPlaces } from '../http/session.ts'
import type { RouteMetrics } from '../metrics/request-metrics.ts'
import type { ObservationTopic, ServedState } from '../port/services.ts'
import type { AnswerText } from './answer-text.ts'
import type { HotExchange } from './connection.ts'

/** What hot observations work with. */
export interface HotObservationsContext {
  readonly topic: ObservationTopic
  readonly state: Pick<ServedState, 'routing'>
  /** Turns of the clients of the port, as those of all writes. */
  readonly turns: FairTurns
  readonly text: AnswerText
  /** Metrics of the route that answers other forms of the same requests. */
  readonly metrics: RouteMetrics
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>
  /** @default every request may run */
  readonly access: AccessControl | undefined
}

/** Stores observations, and answers each when it is durable. */
export class HotObservations {
  private readonly context: HotObservationsContext

  constructor(context: HotObservationsContext) {
    this.context = context
  }

  /** Answers a request with a bearer token, in the turn of its client. */
  answer(exchange: HotExchange, observation: Rating, token: string | undefined): void {
    const { turns } = this.context
    turns.run(exchange.from.remoteAddress ?? '', () => this.decide(exchange, observation, token))
  }

  private decide(exchange: HotExchange, observation: Rating, token: string | undefined): void {
    // Its client has left while it waited.
    if (exchange.from.destroyed) return
    const { access, topic } = this.context
    const decision = access?.authorize(token, 'write', {
      on: { kind: 'topic', name: topic.topic },
      from: exchange.from,
    })
    if (decision !== undefined && decision.kind !== 'allowed') {
      this.refuse(exchange, refusalOf(decision))
    } else void this.store(exchange, observation)
  }

  private async store(exchange: HotExchange, observation: Rating): Promise<void> {
    const { topic, state, text, log } = this.context
    try {
      const positions = await topic.append([observation], DEFAULT_DEADLINE_MS)
      const stored = { topic: topic.topic, positions }
      const fields = writtenFields(writtenPlaces(stored, state.routing, ''))
      this.send(exchange, 200, text.ok(JSON.stringify({ accepted: 1, positions }), fields))
    } catch (thrown) {
      const problem = loggedProblem(log, thrown)
      this.refuse(exchange, { problem, fields: problemFieldsOf(problem) })
    }
  }

  private refuse(exchange: HotExchange, refusal: Refusal): void {
    this.send(exchange, refusal.problem.status, this.context.text.problem(refusal))
  }

  private send(exchange: HotExchange, status: number, answer: string): void {
    exchange.finish(answer)
    this.context.metrics.observe(status, performance.now() - exchange.startedMs)
  }
}
