import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { ByteBudget } from '../../http/access/byte-budget.ts'
import { furtherRequests } from '../../http/access/rate-bucket.ts'
import type { FairTurns } from '../../http/fair-turns.ts'
import { RequestOwner } from '../../serving/port/request-owner.ts'
import { UNCOUNTED_BYTES } from '../http/body-limits.ts'
import { CallReply } from './call-reply.ts'
import type { Caller } from './caller.ts'
import { type MessageReceiver, MessageStream } from './message-stream.ts'
import { callEndOf } from './status.ts'

/** What calls share. */
export interface CallTerms {
  readonly budget: ByteBudget
  readonly turns: FairTurns
  readonly clock: Clock
}

/** Milliseconds of the units of `grpc-timeout`. */
const UNITS: Readonly<Record<string, number>> = { H: 3.6e6, M: 6e4, S: 1e3, m: 1, u: 1e-3, n: 1e-6 }

/** One call while it runs. */
export class Call {
  readonly reply: CallReply
  readonly caller: Caller
  /** Its client: it is gone when the call is canceled, or its connection is closed. */
  readonly owner: RequestOwner
  private readonly stream: ServerHttp2Stream
  private readonly terms: CallTerms
  private readonly encoding: string
  /** When its deadline is over, monotonic ms; undefined without one. */
  private readonly endsMs: number | undefined
  private readonly cancelDeadline: Cancel | undefined
  private messages: MessageStream | undefined

  constructor(
    {
      stream,
      headers,
    }: { readonly stream: ServerHttp2Stream; readonly headers: IncomingHttpHeaders },
    caller: Caller,
    terms: CallTerms,
  ) {
    this.stream = stream
    this.caller = caller
    this.terms = terms
    this.reply = new CallReply(stream)
    this.owner = new RequestOwner({ group: stream.session ?? stream })
    this.encoding = String(headers['grpc-encoding'] ?? 'identity')
    const forMs = timeoutOf(headers['grpc-timeout'])
    if (forMs !== undefined) {
      this.endsMs = terms.clock.monotonicMs() + forMs
      this.cancelDeadline = terms.clock.after(forMs, this.late)
    }
    stream.once('close', this.close)
  }

  /** Time until its deadline, ms; undefined without one. */
  get deadlineMs(): number | undefined {
    if (this.endsMs === undefined) return undefined
    return Math.max(0.001, this.endsMs - this.terms.clock.monotonicMs())
  }

  /** Whether the rest of no message is awaited. */
  get complete(): boolean {
    return this.stream.destroyed || this.messages?.isAwaited !== true
  }

  /** Begins to read its messages. */
  read(mostBytes: number, receiver: MessageReceiver): MessageStream {
    const { budget, clock } = this.terms
    const { encoding } = this
    const terms = { budget, client: this.caller.client, encoding, mostBytes, clock }
    this.messages = new MessageStream(this.stream, terms, receiver)
    return this.messages
  }

  /** Its only message, and what gives its memory back. Rejects with what is wrong with it. */
  only(mostBytes: number): Promise<{ readonly bytes: Buffer; readonly done: () => void }> {
    return new Promise((resolve, reject) => {
      let message: { readonly bytes: Buffer; readonly done: () => void } | undefined
      const reader = this.read(mostBytes, {
        take(bytes, done) {
          if (message !== undefined) reject(wrongNumber('more than one message'))
          message ??= { bytes, done }
          return false
        },
        end: () => (message === undefined ? reject(wrongNumber('no message')) : resolve(message)),
        fail: reject,
      })
      reader.expect()
    })
  }

  /** What `work` gives, in a turn of its client; the time of a large message counts in the rate of its token. */
  async inTurn<T>(bytes: number, work: () => T | Promise<T>): Promise<T> {
    const size = bytes <= UNCOUNTED_BYTES ? 'small' : 'large'
    return await new Promise<T>((resolve, reject) => {
      this.terms.turns.run(this.caller.address, size, () => {
        const startMs = performance.now()
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
        if (bytes <= UNCOUNTED_BYTES) return
        this.caller.charge(furtherRequests({ bytes, ms: performance.now() - startMs }))
      })
    })
  }

  private readonly late = (): void => {
    this.reply.end(
      callEndOf(new WeirError('DEADLINE_EXCEEDED', 'the deadline of the call is over')),
    )
    this.close()
  }

  private readonly close = (): void => {
    this.cancelDeadline?.()
    this.messages?.close()
    this.owner.leave('the call was canceled, or its connection is closed')
  }
}

function wrongNumber(what: string): WeirError {
  return new WeirError('MALFORMED_DATA', `the call has ${what}; this method takes one`)
}

/** The time of a call until its deadline, ms. */
function timeoutOf(field: IncomingHttpHeaders[string]): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(field ?? '')) ?? []
  return unit === undefined ? undefined : Number(digits) * UNITS[unit]!
}
