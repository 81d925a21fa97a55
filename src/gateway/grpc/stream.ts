import { WeirError } from '../../core/errors.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { Call, CallTerms } from './call.ts'
import type { InferMessage, InferReply } from './messages.ts'
import { type CallEnd, callEndOf } from './status.ts'

/** Requests of one stream that are under way; a client that sends more has to wait. */
const MOST_OF_STREAM = 64
/** A client that takes no part for so long is disconnected, ms: it holds a place of a model. */
const STALLED_MS = 60_000

/** What a client gets in a stream. */
interface StreamReply {
  readonly error_message?: string
  readonly infer_response?: Partial<InferReply>
}

/** What answers the requests of a stream. */
export interface StreamedModels {
  /** The message of bytes. Throws FRAME_TOO_LARGE, MALFORMED_DATA. */
  decode(bytes: Buffer): InferMessage
  encode(reply: StreamReply): Uint8Array
  /** Whether the model of a request answers in parts. Throws, or rejects, where there is no such model. */
  answersInParts(message: InferMessage): boolean | Promise<boolean>
  infer(message: InferMessage): Promise<InferReply>
  /** The parts of an answer, each made when it is asked for. */
  parts(message: InferMessage): AsyncIterable<InferReply>
  /** An answer has ended with a status of HTTP. */
  ended(httpStatus: number, startedMs: number): void
  readonly clock: CallTerms['clock']
}

/** A request that was read: its answer, or that it is answered in parts. `hasEnd`: the client wants an empty last part. */
type Read =
  | { readonly kind: 'whole'; readonly httpStatus: number; readonly reply: StreamReply }
  | { readonly kind: 'parts'; readonly message: InferMessage; readonly hasEnd: boolean }

/**
 * A stream of requests. Whole answers come in the order of their requests. The parts of an answer come as they are made, beside
 * other answers: one may be as long as it likes. A request that fails leaves the stream open.
 */
export class InferStream {
  /** Resolves when all are answered and the client sends no more; rejects with what ends the stream. */
  readonly ended: Promise<void>
  private readonly call: Call
  private readonly models: StreamedModels
  private readonly end = Promise.withResolvers<void>()
  private readonly messages: { resume(): void }
  /** Requests whose answers have not left. */
  private underWay = 0
  private readonly answers = new Set<Promise<void>>()
  /** Resolves when the whole answers before are written. */
  private turn: Promise<void> = Promise.resolve()

  constructor(call: Call, models: StreamedModels) {
    this.call = call
    this.models = models
    this.ended = this.end.promise
    const { resolve, reject } = this.end
    this.messages = call.read(MAX_FRAME_BYTES, {
      take: (bytes, done) => this.take(bytes, done),
      end: () => void Promise.all(this.answers).then(() => resolve(), reject),
      fail: reject,
    })
  }

  private take(bytes: Buffer, done: () => void): boolean {
    const startedMs = this.models.clock.monotonicMs()
    const ended = (httpStatus: number): void => {
      this.models.ended(httpStatus, startedMs)
      done()
    }
    this.underWay += 1
    const before = this.turn
    const read = this.read(bytes)
    const answered = read.then(async (request) => {
      if (request.kind === 'parts') return await this.answerInParts(request, ended)
      await before
      ended(request.httpStatus)
      this.send(request.reply, () => this.left())
    })
    const inOrder = read.then(({ kind }) => (kind === 'whole' ? answered : undefined))
    this.turn = Promise.all([before, inOrder]).then(() => {})
    this.answers.add(answered)
    // What ends the stream ends it at once, not in its order.
    this.turn.catch(this.end.reject)
    answered.catch(this.end.reject).then(() => this.answers.delete(answered))
    return this.underWay >= MOST_OF_STREAM
  }

  private async answerInParts(
    request: Extract<Read, { kind: 'parts' }>,
    ended: (httpStatus: number) => void,
  ): Promise<void> {
    ended(await this.sendParts(request))
    this.left()
  }

  private send(reply: StreamReply, sent: () => void): void {
    this.call.reply.send(this.models.encode(reply), sent)
  }

  /** An answer has left: a client that reads none gets no further one made. */
  private left(): void {
    if (this.underWay-- === MOST_OF_STREAM) this.messages.resume()
  }

  /** Reads a request in a turn of its client. Rejects with what ends the stream: a token that was revoked, or bytes of no request. */
  private async read(bytes: Buffer): Promise<Read> {
    const { call, models } = this
    let id = ''
    try {
      return await call.inTurn(bytes.length, () => {
        const given = models.decode(bytes)
        id = given.id
        call.caller.authorize('read', { kind: 'model', name: undefined })
        call.caller.requireOn('read', given.model_name)
        const { triton_enable_empty_final_response: end, ...parameters } = given.parameters
        const message = { ...given, parameters }
        const readAs = (isInParts: boolean): Read | Promise<Read> =>
          isInParts
            ? { kind: 'parts', message, hasEnd: end?.bool_param === true }
            : this.wholeOf(message)
        const isInParts = models.answersInParts(message)
        return typeof isInParts === 'boolean' ? readAs(isInParts) : isInParts.then(readAs)
      })
    } catch (thrown) {
      const how = callEndOf(thrown)
      if (how.httpStatus === 401 || how.error.code === 'MALFORMED_DATA') throw thrown
      return { kind: 'whole', httpStatus: how.httpStatus, reply: failed(id, how) }
    }
  }

  private async wholeOf(message: InferMessage): Promise<Read> {
    const answer = await this.models.infer(message)
    return { kind: 'whole', httpStatus: 200, reply: { infer_response: withEnd(answer, true) } }
  }

  /** Sends an answer in parts; resolves with the status that HTTP has for it. */
  private async sendParts({ message, hasEnd }: Extract<Read, { kind: 'parts' }>): Promise<number> {
    const { model_name, model_version, id } = message
    let head = { model_name, model_version, id }
    try {
      for await (const part of this.models.parts(message)) {
        head = { model_name, model_version: part.model_version, id }
        await this.sendPart({ infer_response: withEnd(part, false) })
      }
      const none = { ...head, outputs: [], raw_output_contents: [] }
      if (hasEnd) await this.sendPart({ infer_response: withEnd(none, true) })
      return 200
    } catch (thrown) {
      const how = callEndOf(thrown)
      await this.sendPart(failed(id, how))
      return how.httpStatus
    }
  }

  /** Sends a part; resolves when it has left, or the client is gone. */
  private async sendPart(reply: StreamReply): Promise<void> {
    const { owner } = this.call
    if (owner.gone !== undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stopWaiting = this.models.clock.after(STALLED_MS, () => this.end.reject(stalled()))
    const stay = owner.onGone(resolve)
    this.send(reply, resolve)
    await promise
    stopWaiting()
    stay()
  }
}

/** The answer with the parameter of Triton that says whether it is the last one of its request. */
function withEnd(answer: InferReply, isLast: boolean): InferReply {
  const parameters = { ...answer.parameters, triton_final_response: { bool_param: isLast } }
  return { ...answer, parameters }
}

function failed(id: string, { error }: CallEnd): StreamReply {
  return { error_message: error.message, infer_response: { id } }
}

function stalled(): WeirError {
  const message = `the client took no part of its answers for ${STALLED_MS} ms`
  return new WeirError('UNAVAILABLE', message)
}
