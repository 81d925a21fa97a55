import { modelObject } from '../../http/access/object-rights.ts'
import type { InferenceAnswers, InferenceCall } from '../inference/answers.ts'
import { giveBuffer } from './batch-buffers.ts'
import type { HotExchange } from './connection.ts'
import type { HotRoute } from './route.ts'

/** The routes without and with a version. */
export type InferenceRoutes = Readonly<Record<'live' | 'version', HotRoute>>

/**
 * Runs models for requests of the Open Inference Protocol. Those of all connections that arrive in one turn of the
 * event loop are asked together, so that they share a write on the way to the process with the models.
 */
export class HotInferences {
  private readonly answers: InferenceAnswers
  private readonly routes: InferenceRoutes
  private asked: (readonly [HotExchange, InferenceCall])[] = []

  constructor(answers: InferenceAnswers, routes: InferenceRoutes) {
    this.answers = answers
    this.routes = routes
  }

  /** Answers a request with a bearer token. */
  answer(exchange: HotExchange, call: InferenceCall, token: string | undefined): void {
    const needed = { role: 'read', on: modelObject(call.model) } as const
    const who = this.routeOf(call).admit(exchange, token, needed)
    if (who === undefined) return
    const client = exchange.shareHolder(who.principal)
    const asked = [exchange, { ...call, client, owner: exchange.owner }] as const
    if (this.asked.push(asked) === 1) setImmediate(this.ask)
  }

  private readonly ask = (): void => {
    const { asked } = this
    this.asked = []
    for (const [exchange, call] of asked) void this.run(exchange, call)
  }

  private async run(exchange: HotExchange, call: InferenceCall): Promise<void> {
    const route = this.routeOf(call)
    const { text } = route
    try {
      const { json, tensors } = await this.answers.answer(call)
      // After a failure a worker or a second try may still read the body.
      giveBuffer(call.body)
      const answer = tensors.length === 0 ? text.ok(json) : text.tensors(json, tensors)
      route.send(exchange, 200, answer)
    } catch (error) {
      route.fail(exchange, error)
    }
  }

  private routeOf({ version }: InferenceCall): HotRoute {
    return version === undefined ? this.routes.live : this.routes.version
  }
}
