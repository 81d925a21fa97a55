import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import type { RequestOwner } from '../../serving/port/request-owner.ts'
import type { InferMessage, InferReply } from './messages.ts'
import { refusedOf } from './status.ts'

/** Requests of one stream that are under way; a client that sends more has to wait. */
const MOST_OF_STREAM = 64
/** A client that takes nothing for so long is disconnected, ms: it holds a place of a model. */
const STALLED_MS = 60_000

/** What a client gets in a stream. */
interface StreamReply {
  readonly error_message?: string
  readonly infer_response?: Partial<InferReply>
}

/** A stream of requests and answers. */
export type InferStream = ServerDuplexStream<InferMessage, StreamReply>

/** What answers the requests of a stream. */
export interface StreamedModels {
  /** Rejects where the caller may not ask. */
  readonly allowed: Promise<void>
  /** Whether the model of a request answers in parts. */
  answersInParts(message: InferMessage): Promise<boolean>
  infer(message: InferMessage): Promise<InferReply>
  /** The parts of an answer, each made when it is asked for. */
  parts(message: InferMessage): AsyncIterable<InferReply>
  /** An answer has ended with a status of HTTP. */
  ended(status: number, startedMs: number): void
  nowMs(): number
}

/**
 * Answers the requests of a stream. Whole answers come in the order of their requests. The parts of an answer come as they are
 * made, beside other answers: one may be as long as it likes. A request that fails leaves the stream open.
 */
export class InferStreamAnswers {
  private readonly call: InferStream
  private readonly owner: RequestOwner
  private readonly models: StreamedModels
  private underWay = 0
  private isLast = false
  /** Resolves when the whole answers before are written. */
  private turn: Promise<void> = Promise.resolve()

  constructor(call: InferStream, owner: RequestOwner, models: StreamedModels) {
    this.call = call
    this.owner = owner
    this.models = models
    call.on('cancelled', () => owner.leave())
    call.on('error', () => owner.leave())
    models.allowed.catch((thrown: unknown) => call.emit('error', refusedOf(thrown).error))
    call.on('data', (message: InferMessage) => this.asked(message))
    call.on('end', () => {
      this.isLast = true
      this.endWithLast()
    })
  }

  private asked(given: InferMessage): void {
    const { models, call } = this
    if (++this.underWay === MOST_OF_STREAM) call.pause()
    const startedMs = models.nowMs()
    const { triton_enable_empty_final_response: end, ...parameters } = given.parameters
    const message = { ...given, parameters }
    // What is wrong with the name of a model its answer says.
    const inParts = models.allowed.then(() => models.answersInParts(message)).catch(() => false)
    const answer = inParts.then((is) => (is ? undefined : this.wholeOf(message)))
    const before = this.turn
    const sent = answer.then(async (whole) => {
      if (whole === undefined) return await this.sendParts(message, end?.bool_param === true)
      await before
      await this.write(whole.reply)
      return whole.code
    })
    this.turn = Promise.all([before, inParts.then((is) => (is ? undefined : sent))]).then(() => {})
    void sent.then((code) => {
      models.ended(code, startedMs)
      if (this.underWay-- === MOST_OF_STREAM) call.resume()
      this.endWithLast()
    })
  }

  private endWithLast(): void {
    if (this.isLast && this.underWay === 0) this.call.end()
  }

  /** A whole answer, with the status that HTTP has for it. */
  private async wholeOf(
    message: InferMessage,
  ): Promise<{ readonly code: number; readonly reply: StreamReply }> {
    try {
      await this.models.allowed
      const answer = await this.models.infer(message)
      return { code: 200, reply: { infer_response: withEnd(answer, true) } }
    } catch (thrown) {
      return failureOf(message, thrown)
    }
  }

  /**
   * Sends an answer in parts; resolves with the status that HTTP has for it. `hasEnd`: the client wants an empty answer as the
   * last one.
   */
  private async sendParts(message: InferMessage, hasEnd: boolean): Promise<number> {
    const { model_name, model_version, id } = message
    let head = { model_name, model_version, id }
    try {
      for await (const part of this.models.parts(message)) {
        head = { model_name, model_version: part.model_version, id }
        await this.write({ infer_response: withEnd(part, false) })
      }
      const none = { ...head, outputs: [], raw_output_contents: [] }
      if (hasEnd) await this.write({ infer_response: withEnd(none, true) })
      return 200
    } catch (thrown) {
      const { code, reply } = failureOf(message, thrown)
      await this.write(reply)
      return code
    }
  }

  /** Writes a reply; resolves when the client has taken enough for another one, or is gone. */
  private write(reply: StreamReply): Promise<void> | undefined {
    const { call, owner } = this
    if (owner.gone !== undefined || call.write(reply)) return undefined
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer)
        stay()
        call.off('drain', settle)
        resolve()
      }
      const timer = setTimeout(() => {
        const details = `the client took no part of its answers for ${STALLED_MS} ms`
        call.emit('error', { code: status.UNAVAILABLE, details })
      }, STALLED_MS)
      const stay = owner.onGone(settle)
      call.once('drain', settle)
    })
  }
}

/** The answer with the parameter of Triton that says whether it is the last one of its request. */
function withEnd(answer: InferReply, isLast: boolean): InferReply {
  return { ...answer, parameters: { triton_final_response: { bool_param: isLast } } }
}

function failureOf({ id }: InferMessage, thrown: unknown) {
  const { error, status: code } = refusedOf(thrown)
  return { code, reply: { error_message: error.details, infer_response: { id } } }
}
