import type { FastifyBaseLogger } from 'fastify'
import type { AccessControl } from '../../http/access/control.ts'
import type { AccessObject } from '../../http/access/object-rights.ts'
import type { Role } from '../../http/access/role.ts'
import type { Principal } from '../../http/access/token-verifier.ts'
import { type Refusal, refusalOf } from '../http/authorization.ts'
import { loggedProblem } from '../http/error-handlers.ts'
import { type Problem, problemFieldsOf } from '../http/problem.ts'
import type { RouteMetrics } from '../metrics/request-metrics.ts'
import type { AnswerText } from './answer-text.ts'
import type { HotAnswer, HotExchange } from './connection.ts'

/** What the hot routes of a port share. */
export interface HotPort {
  readonly text: AnswerText
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>
  /** @default every request may run */
  readonly access: AccessControl | undefined
}

/** The ends of the exchanges of one route: each is counted as the other forms of its requests. */
export class HotRoute {
  readonly text: AnswerText
  private readonly port: HotPort
  private readonly metrics: RouteMetrics
  private readonly asSent: (problem: Problem) => Problem

  /** `asSent`: makes of a problem what the route sends. @default the problem */
  constructor(
    port: HotPort,
    metrics: RouteMetrics,
    asSent: (problem: Problem) => Problem = (problem) => problem,
  ) {
    this.port = port
    this.text = port.text
    this.metrics = metrics
    this.asSent = asSent
  }

  /**
   * Lets a request with a bearer token run that needs a role on an object. Returns who asks, nothing where no token is
   * needed; undefined for a request that may not run, which has its answer then.
   */
  admit(
    exchange: HotExchange,
    token: string | undefined,
    { role, on }: { readonly role: Role; readonly on: AccessObject },
  ): { readonly principal?: Principal } | undefined {
    const decision = this.port.access?.authorize(token, role, { on, from: exchange.from })
    if (decision === undefined) return {}
    if (decision.kind === 'allowed') return decision
    this.refuse(exchange, refusalOf(decision))
    return undefined
  }

  /** Answers with a problem, and logs it. */
  fail(exchange: HotExchange, thrown: unknown): void {
    const problem = loggedProblem(this.port.log, thrown)
    this.refuse(exchange, { problem, fields: problemFieldsOf(problem) })
  }

  /** Answers with a status of HTTP. */
  send(exchange: HotExchange, status: number, answer: HotAnswer): void {
    exchange.finish(answer)
    this.metrics.observe(status, performance.now() - exchange.startedMs)
  }

  private refuse(exchange: HotExchange, { problem, fields }: Refusal): void {
    const text = this.text.problem({ problem: this.asSent(problem), fields })
    this.send(exchange, problem.status, text)
  }
}
