import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Cancel, Clock } from '../../core/clock.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { SharedPlaces } from '../../core/lifetime/shared-places.ts'
import type { Deployment } from '../port/deployment.ts'
import type { PartsRequest } from '../port/request.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { PartsOrder, PartsReply } from './messages.ts'

/** Settings of the answers in parts of one model. */
export interface ModelPartsOptions {
  readonly clock: Clock
  /** Answers at a time, of all workers together; half of them of one client. */
  readonly most: number
  /** Longest wait for each part where the request names no deadline, ms. */
  readonly goalMs: number
  /** A thread that takes so long to hear that a stream was left is blocked, ms. */
  readonly overtimeMs: number
}

const DEFAULT_STREAMS = 64
const WAIT_AGAIN_MS = 1000

/** The answers in parts of one model: each runs in one of its workers, beside the runs of the queue. */
export class ModelParts {
  private readonly options: ModelPartsOptions
  private readonly workers = new Set<WorkerStreams>()
  /** Of answers under way, those included that were left and have not ended. */
  private readonly places: SharedPlaces
  private onIdle: (() => void) | undefined

  constructor(options: ModelPartsOptions) {
    this.options = options
    this.places = new SharedPlaces(options.most)
  }

  /**
   * The answers in parts of a model; undefined of one without. Throws INVALID_ARGUMENT for a deployment in which it cannot
   * give them.
   */
  static of(
    { parts }: ModelSignature,
    {
      deployment,
      mayLeave = false,
      clock,
      overtimeMs,
    }: Pick<ModelPartsOptions, 'clock' | 'overtimeMs'> & {
      readonly deployment: Deployment
      /** It may be evicted from memory. */
      readonly mayLeave?: boolean
    },
  ): ModelParts | undefined {
    if (parts !== true) return undefined
    const { streams, sloMs, isolation, transforms } = deployment
    const wrong = (what: string): string => `the model answers in parts, and ${what}`
    requireArgument(
      isolation !== 'process',
      wrong('a child process gives none; leave out isolation: process'),
    )
    requireArgument(
      transforms === undefined,
      wrong('transforms apply to whole answers; leave them out'),
    )
    requireArgument(!mayLeave, wrong('with --memory it must stay loaded; set keep-loaded: true'))
    return new ModelParts({
      clock,
      most: streams ?? DEFAULT_STREAMS,
      goalMs: sloMs,
      overtimeMs: deployment.overtimeMs ?? overtimeMs,
    })
  }

  /** Lets a worker answer; returns the port that it gets. `onBlocked`: its thread hears nothing. */
  join(onBlocked: () => void): MessagePort {
    const { port1, port2 } = new MessageChannel()
    const worker = new WorkerStreams(port1, {
      clock: this.options.clock,
      overtimeMs: this.options.overtimeMs,
      onBlocked,
      onLeaving: () => this.workers.delete(worker),
      onEnded: (client) => {
        this.places.give(client)
        if (this.places.taken === 0) this.onIdle?.()
      },
    })
    this.workers.add(worker)
    return port2
  }

  /**
   * The parts of one answer, each made when it is asked for. The inputs are in the order of the signature, and their bytes are
   * copied before this returns. Rejects with OVERLOADED, MODEL_NOT_LOADED where no worker
   * serves, WORKER_LOST, DEADLINE_EXCEEDED, why the asker is gone, and the errors of the model. A part that is under
   * way when the iterator is returned is given up.
   */
  ask({
    inputs,
    deadlineMs,
    asker,
  }: Omit<PartsRequest, 'model'>): AsyncGenerator<readonly Tensor[]> {
    const given = inputs.map((tensor) => ({ ...tensor, data: new Uint8Array(tensor.data) }))
    return this.answer(given, { deadlineMs, asker })
  }

  /** Resolves when no answer is under way. */
  async idle(): Promise<void> {
    if (this.places.taken === 0) return
    await new Promise<void>((resolve) => {
      this.onIdle = resolve
    })
  }

  /** Ends all answers. */
  close(): void {
    for (const worker of this.workers) worker.close()
  }

  private async *answer(
    inputs: readonly Tensor[],
    { deadlineMs, asker }: Pick<PartsRequest, 'deadlineMs' | 'asker'>,
  ): AsyncGenerator<readonly Tensor[]> {
    const { clock, goalMs } = this.options
    const endsAt = deadlineMs === undefined ? undefined : clock.monotonicMs() + deadlineMs
    if (asker?.gone !== undefined) throw asker.gone
    const stream = this.opened(inputs, asker?.client)
    const stay = asker?.onGone(() => stream.fail(asker.gone))
    try {
      for (;;) {
        const forMs = endsAt === undefined ? goalMs : endsAt - clock.monotonicMs()
        const part = await stream.next(forMs, () => tooLate(deadlineMs, goalMs))
        if (part === undefined) return
        yield part
      }
    } finally {
      stay?.()
      stream.leave()
    }
  }

  private opened(inputs: readonly Tensor[], client: string | undefined): PartStream {
    const [first, ...others] = this.workers
    if (first === undefined) {
      throw new WeirError(
        'MODEL_NOT_LOADED',
        'no worker of the model takes requests now; try again',
      )
    }
    const worker = others.reduce((best, one) => (one.size < best.size ? one : best), first)
    const full = this.places.take(client)
    if (full !== undefined) throw tooMany(full, this.places)
    return worker.open(inputs, client)
  }
}

function tooMany(full: 'all' | 'share', { most, mostOfClient }: SharedPlaces): WeirError {
  const message =
    full === 'all'
      ? `${most} answers in parts are under way, as many as "streams" of its settings allows; try again`
      : `${mostOfClient} answers in parts of one client are under way, half of "streams" of its settings; try again`
  return new WeirError('OVERLOADED', message, { details: { retryAfterMs: WAIT_AGAIN_MS } })
}

function tooLate(deadlineMs: number | undefined, goalMs: number): WeirError {
  const message =
    deadlineMs === undefined
      ? `the model gave no part for ${goalMs} ms, its slo-ms; raise that, or name a deadline for the whole answer`
      : `the answer was not complete after ${deadlineMs} ms, the deadline of the request`
  return new WeirError('DEADLINE_EXCEEDED', message)
}

/** What the streams of one worker need. */
interface StreamsContext {
  readonly clock: Clock
  readonly overtimeMs: number
  readonly onBlocked: () => void
  /** The worker takes no further stream. */
  readonly onLeaving: () => void
  /** One stream of a client has ended. */
  readonly onEnded: (client: string | undefined) => void
}

/** The streams of one worker. */
class WorkerStreams {
  private readonly port: MessagePort
  private readonly context: StreamsContext
  private readonly streams = new Map<number, PartStream>()
  private next = 0

  constructor(port: MessagePort, context: StreamsContext) {
    this.port = port
    this.context = context
    port.on('message', (reply: PartsReply) => this.heard(reply))
    port.once('close', () => this.lost())
    port.unref()
  }

  get size(): number {
    return this.streams.size
  }

  open(inputs: readonly Tensor[], client: string | undefined): PartStream {
    const number = this.next++
    const send = (order: PartsOrder): void => this.port.postMessage(order)
    const stream = new PartStream(number, { ...this.context, client, send })
    this.streams.set(number, stream)
    this.port.ref()
    const bytes = inputs.map(({ data }) => data.buffer as ArrayBuffer)
    this.port.postMessage({ kind: 'ask', stream: number, inputs } satisfies PartsOrder, bytes)
    return stream
  }

  close(): void {
    this.port.close()
  }

  private heard(reply: PartsReply): void {
    if (reply.kind === 'leaving') this.context.onLeaving()
    else {
      const stream = this.streams.get(reply.stream)
      if (stream?.heard(reply) === true) this.forget(stream)
    }
  }

  private lost(): void {
    this.context.onLeaving()
    for (const stream of this.streams.values()) {
      stream.fail(
        new WeirError('WORKER_LOST', 'the worker ended in the middle of the answer; ask again'),
      )
      stream.ended()
      this.forget(stream)
    }
  }

  private forget({ number, client }: PartStream): void {
    this.streams.delete(number)
    if (this.streams.size === 0) this.port.unref()
    this.context.onEnded(client)
  }
}

/** One answer: at most one part is asked for at a time. */
class PartStream {
  readonly number: number
  private readonly context: Pick<StreamsContext, 'clock' | 'overtimeMs' | 'onBlocked'> & {
    /** Whose share it takes. */
    readonly client: string | undefined
    readonly send: (order: PartsOrder) => void
  }
  private wait: PromiseWithResolvers<readonly Tensor[] | undefined> | undefined
  private failure: { readonly error: unknown } | undefined
  private isOver = false
  private cancelBlocked: Cancel | undefined

  constructor(number: number, context: PartStream['context']) {
    this.number = number
    this.context = context
  }

  /** Whose share it takes. */
  get client(): string | undefined {
    return this.context.client
  }

  /** The next part; undefined at the end. Rejects with `late` after `forMs`. */
  async next(forMs: number, late: () => WeirError): Promise<readonly Tensor[] | undefined> {
    if (this.failure !== undefined) throw this.failure.error
    if (!(forMs > 0)) throw late()
    this.wait = Promise.withResolvers()
    const cancel = this.context.clock.after(forMs, () => this.fail(late()))
    if (!this.isOver) this.context.send({ kind: 'more', stream: this.number })
    try {
      return await this.wait.promise
    } finally {
      cancel()
      this.wait = undefined
    }
  }

  /** Takes a reply; returns whether it is the last one. */
  heard(reply: Exclude<PartsReply, { readonly kind: 'leaving' }>): boolean {
    switch (reply.kind) {
      case 'part':
        this.wait?.resolve(reply.outputs)
        return false
      case 'noted':
        this.cancelBlocked?.()
        return false
      case 'failed':
        this.fail(new WeirError(reply.code, reply.message))
        return this.ended()
      case 'end':
        this.wait?.resolve(undefined)
        return this.ended()
      case 'left':
        return this.ended()
    }
  }

  /** Ends the wait for a part, and each later one, with an error. */
  fail(error: unknown): void {
    this.failure ??= { error }
    this.wait?.reject(error)
  }

  /** The worker has ended the stream, or is lost. */
  ended(): true {
    this.cancelBlocked?.()
    this.isOver = true
    return true
  }

  /** Lets the worker end the stream, where it has not. */
  leave(): void {
    if (this.isOver) return
    const { clock, overtimeMs, onBlocked, send } = this.context
    this.cancelBlocked = clock.after(overtimeMs, onBlocked)
    send({ kind: 'leave', stream: this.number })
  }
}
