import type { FastifyBaseLogger } from 'fastify'
import { type AccessControl, shareHolderOf } from '../../access/control.ts'
import { modelObject } from '../../access/object-rights.ts'
import { type Refusal, refusalOf } from '../http/authorization.ts'
import { loggedProblem } from '../http/errors.ts'
import { inferenceProblem, problemFieldsOf } from '../http/problem.ts'
import type { InferenceAnswers, InferenceCall } from '../inference/answers.ts'
import type { RouteMetrics } from '../metrics/request-metrics.ts'
import type { AnswerText } from './answer-text.ts'
import { giveBuffer } from './batch-buffers.ts'
import type { HotExchange } from './connection.ts'

/** What hot inferences work with. */
export interface HotInferencesContext {
  readonly answers: InferenceAnswers
  readonly text: AnswerText
  /** Metrics of the routes without and with a version. */
  readonly metrics: Readonly<Record<'live' | 'version', RouteMetrics>>
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>
  /** @default every request may run */
  readonly access: AccessControl | undefined
}

/**
 * Runs models for requests of the Open Inference Protocol. Those of all connections that arrive in one turn of the
 * event loop are asked together, so that they share a write on the way to the process with the models.
 */
export class HotInferences {
  private readonly context: HotInferencesContext
  private asked: [HotExchange, InferenceCall][] = []

  constructor(context: HotInferencesContext) {
    this.context = context
  }

  /** Answers a request with a bearer token. */
  answer(exchange: HotExchange, call: InferenceCall, token: string | undefined): void {
    const decision = this.context.access?.authorize(token, 'read', {
      on: modelObject(call.model),
      from: exchange.from,
    })
    if (decision !== undefined && decision.kind !== 'allowed') {
      this.refuse(exchange, call, refusalOf(decision))
      return
    }
    const client = shareHolderOf(decision?.principal, exchange.from.remoteAddress ?? '')
    if (this.asked.push([exchange, { ...call, client }]) === 1) setImmediate(this.ask)
  }

  private readonly ask = (): void => {
    const { asked } = this
    this.asked = []
    for (const [exchange, call] of asked) void this.run(exchange, call)
  }

  private async run(exchange: HotExchange, call: InferenceCall): Promise<void> {
    const { answers, text } = this.context
    try {
      const { json, tensors } = await answers.answer({ ...call, owner: exchange.owner })
      // After a failure a worker or a second try may still read the body.
      giveBuffer(call.body)
      const answer = tensors.length === 0 ? text.ok(json) : text.tensors(json, tensors)
      this.send(exchange, call, 200, answer)
    } catch (error) {
      this.fail(exchange, call, error)
    }
  }

  private fail(exchange: HotExchange, call: InferenceCall, thrown: unknown): void {
    const problem = loggedProblem(this.context.log, thrown)
    this.refuse(exchange, call, { problem, fields: problemFieldsOf(problem) })
  }

  private refuse(exchange: HotExchange, call: InferenceCall, { problem, fields }: Refusal): void {
    const refusal = { problem: inferenceProblem(problem), fields }
    this.send(exchange, call, problem.status, this.context.text.problem(refusal))
  }

  private send(exchange: HotExchange, call: InferenceCall, status: number, answer: string): void {
    exchange.finish(answer)
    const { live, version } = this.context.metrics
    const metrics = call.version === undefined ? live : version
    metrics.observe(status, performance.now() - exchange.startedMs)
  }
}
