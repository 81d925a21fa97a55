import { ByteWriter } from '../../core/byte-writer.ts'
import type { Clock } from '../../core/clock.ts'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { LargeBuffers } from '../../core/lifetime/large-buffers.ts'
import { parseTraceParent } from '../../core/tracing/context.ts'
import { SPAN_KIND, type Span } from '../../core/tracing/span.ts'
import { tracer } from '../../core/tracing/tracer.ts'
import {
  failedSlotQuery,
  packSlotQueryReply,
  type SlotQueryCancelMessage,
  type SlotQueryReplyMessage,
  type SlotQueryRequestMessage,
  unpackSlotQueryRequest,
} from '../../state/catalog/slot-query-message.ts'
import { mergeScanParts } from '../../state/port/scan-part.ts'
import type {
  QueriedState,
  SlotQueryAnswer,
  SlotQueryReply,
  SlotQueryRequest,
} from '../../state/port/slot-query.ts'
import type { MessagePortLike } from '../protocol/slot-messages.ts'

/** The state of an operator. */
export interface QueriedOperator {
  readonly operatorUid: string
  readonly state: QueriedState
}

/** Where a reply goes. */
export type ReplyPort = Pick<MessagePortLike, 'postMessage'>

interface Waiting {
  readonly port: ReplyPort
  readonly message: SlotQueryRequestMessage
}

/** A request that is being answered. */
interface Begun extends Waiting {
  readonly backends: readonly QueriedOperator[]
  readonly steps: Generator<void, SlotQueryReply>
  /** Span of a traced request. */
  readonly span: Span | undefined
}

/** Room for encoded values at first. */
const ARENA_BYTES = 4096
/** A larger answer does not keep its memory. */
const MOST_ARENA_BYTES = 1 << 20

/** Requests of one sort in the order of their arrival; one is begun at a time. */
class QueryLane {
  waiting: Waiting[] = []
  begun: Begun | undefined
  private arena = new ByteWriter(ARENA_BYTES)

  /** Memory for the values of the request that begins. */
  emptyArena(): ByteWriter {
    if (this.arena.bytes.length > MOST_ARENA_BYTES) this.arena = new ByteWriter(ARENA_BYTES)
    this.arena.reset()
    return this.arena
  }

  get isWaiting(): boolean {
    return this.begun !== undefined || this.waiting.length > 0
  }

  drop(isDropped: (one: Waiting) => boolean): void {
    this.waiting = this.waiting.filter((one) => !isDropped(one))
    const { begun } = this
    if (begun === undefined || !isDropped(begun)) return
    this.begun = undefined
    begun.steps.return(undefined as never)
  }
}

/** Order of answers if several backends have the name: the best one counts. */
const RANK: Readonly<Record<SlotQueryAnswer['kind'], number>> = {
  found: 3,
  restoring: 2,
  missing: 1,
  'unknown-state': 0,
}

/**
 * Collects the requests of query threads and of other slots to a slot and answers them between two slices of processing, in
 * steps of some microseconds, so that no request takes the slot's time; reads come before scans. A message is a
 * SlotQueryRequestMessage or a SlotQueryCancelMessage, its reply a SlotQueryReplyMessage. An error of
 * one request is its answer and never the slot's failure.
 */
export class SlotQueries {
  private readonly clock: Clock
  private readonly backends: () => readonly QueriedOperator[] | undefined
  private readonly wake: () => void
  private readonly ports: MessagePortLike[] = []
  private readonly reads = new QueryLane()
  private readonly scans = new QueryLane()
  /** Buffers of replies, which come back with later requests. */
  private readonly buffers = new LargeBuffers()
  private turn = 0

  /** `backends` returns undefined while no attempt runs; the answer is then RESTORING. */
  constructor(
    clock: Clock,
    backends: () => readonly QueriedOperator[] | undefined,
    wake: () => void,
  ) {
    this.clock = clock
    this.backends = backends
    this.wake = wake
  }

  /** Whether a request waits. */
  get isWaiting(): boolean {
    return this.reads.isWaiting || this.scans.isWaiting
  }

  /** Whether a scan waits. */
  get hasScans(): boolean {
    return this.scans.isWaiting
  }

  /** Begins to answer requests on a port. */
  attach(port: MessagePortLike): void {
    this.ports.push(port)
    port.on('message', (message: SlotQueryRequestMessage | SlotQueryCancelMessage) => {
      if (message.kind === 'cancel') this.drop((one) => isOf(one, port, message.ids))
      else this.take(port, message)
    })
    port.on('close', () => {
      const at = this.ports.indexOf(port)
      if (at >= 0) this.ports.splice(at, 1)
      this.drop((one) => one.port === port)
    })
  }

  /** Takes a request whose reply goes to `port`. */
  take(port: ReplyPort, message: SlotQueryRequestMessage): void {
    for (const buffer of message.spent ?? []) this.buffers.give(buffer)
    const lane = message.kind === 'scan' ? this.scans : this.reads
    lane.waiting.push({ port, message })
    this.wake()
  }

  /** Answers requests for about `budgetMs`, at least one step of one. */
  answer(budgetMs: number): void {
    if (!this.isWaiting) return
    const end = this.clock.monotonicMs() + budgetMs
    this.dropIfClosed()
    while (this.step()) if (this.clock.monotonicMs() >= end) return
  }

  /** Stops answering; the ports stay open. */
  detach(): void {
    for (const port of this.ports.splice(0)) port.removeAllListeners('message')
    this.drop(() => true)
  }

  /** A request begun in an attempt that has ended since is answered with RESTORING. */
  private dropIfClosed(): void {
    const now = this.backends()
    for (const { begun } of [this.reads, this.scans]) {
      if (begun === undefined) continue
      if (now?.every(({ state }, i) => state === begun.backends[i]?.state) === true) continue
      this.drop((one) => one === begun)
      this.reply(begun, packSlotQueryReply(allRestoring(unpackSlotQueryRequest(begun.message))))
    }
  }

  private drop(isDropped: (one: Waiting) => boolean): void {
    this.reads.drop(isDropped)
    this.scans.drop(isDropped)
  }

  /** One step of a request; false when none waits. Of four steps a scan gets at least one. */
  private step(): boolean {
    this.turn = (this.turn + 1) % 4
    const isScan = this.scans.isWaiting && (this.turn === 0 || !this.reads.isWaiting)
    const lane = isScan ? this.scans : this.reads
    const { begun } = lane
    if (begun !== undefined) this.goOn(lane, begun)
    else {
      const next = lane.waiting.shift()
      if (next === undefined) return false
      lane.begun = this.begin(next, lane)
    }
    return true
  }

  private goOn(lane: QueryLane, begun: Begun): void {
    try {
      const step = begun.steps.next()
      if (step.done !== true) return
      lane.begun = undefined
      begun.span?.end()
      // The rows of a reply to `rows` are kept by who asked: such a buffer would not come back.
      const buffers = begun.message.kind === 'rows' ? undefined : this.buffers
      this.reply(begun, packSlotQueryReply(step.value, buffers))
    } catch (error) {
      lane.begun = undefined
      const failure = storeFailure(error)
      begun.span?.fail(failure.code)
      begun.span?.end()
      this.reply(begun, failedSlotQuery(begun.message.id, failure))
    }
  }

  private begin(next: Waiting, lane: QueryLane): Begun | undefined {
    const request = unpackSlotQueryRequest(next.message)
    const backends = this.backends()
    if (backends !== undefined) {
      const steps = answerOf({ ...request, arena: lane.emptyArena() }, backends)
      return { ...next, backends, steps, span: spanOf(next.message) }
    }
    this.reply(next, packSlotQueryReply(allRestoring(request)))
    return undefined
  }

  private reply({ port }: Waiting, reply: SlotQueryReplyMessage): void {
    port.postMessage(reply, [reply.packed.buffer])
  }
}

/** The span of a request whose query thread is traced. */
function spanOf(message: SlotQueryRequestMessage): Span | undefined {
  if (tracer === undefined || message.trace === undefined) return undefined
  const parent = parseTraceParent(message.trace)
  if (parent === undefined) return undefined
  return tracer.child(parent, `weir.slot ${message.kind}`, SPAN_KIND.server, {
    'weir.state': message.kind === 'rows' ? message.state : message.queryableName,
  })
}

function isOf({ port, message }: Waiting, of: ReplyPort, ids: readonly number[]): boolean {
  return port === of && ids.includes(message.id)
}

function storeFailure(error: unknown): WeirError {
  if (isWeirError(error)) return error
  return new WeirError('STORE_FAILED', `the slot cannot read its state: ${messageOf(error)}`)
}

function* answerOf(
  request: SlotQueryRequest,
  backends: readonly QueriedOperator[],
): Generator<void, SlotQueryReply> {
  const candidates = backends.filter(
    ({ operatorUid }) => request.kind !== 'rows' || operatorUid === request.operatorUid,
  )
  const replies: SlotQueryReply[] = []
  for (const { state } of candidates) replies.push(yield* state.answerInSteps(request))
  if (replies.length === 1) return replies[0]!
  if (request.kind === 'scan') return mergeScans(request, replies)
  const { id, keys } = request
  // A reply with values may end early: then only the keys that every state has answered count.
  const answered = Math.min(keys.length, ...replies.map(({ answers }) => answers.length))
  const answers = keys.slice(0, answered).map((key, i) => bestOf(key, replies, i))
  return { id, answers }
}

function allRestoring(request: SlotQueryRequest): SlotQueryReply {
  const keys = request.kind === 'scan' ? [request.from] : request.keys
  return { id: request.id, answers: keys.map((key) => ({ kind: 'restoring', key })) }
}

function bestOf(key: Uint8Array, replies: readonly SlotQueryReply[], i: number): SlotQueryAnswer {
  let best: SlotQueryAnswer = { kind: 'unknown-state', key }
  for (const reply of replies) {
    const answer = reply.answers[i]
    if (answer !== undefined && RANK[answer.kind] > RANK[best.kind]) best = answer
  }
  return best
}

function mergeScans(
  { id, limit }: SlotQueryRequest & { kind: 'scan' },
  replies: readonly SlotQueryReply[],
): SlotQueryReply {
  const parts = replies.map(({ answers, resume }) => ({ answers, resume }))
  const known = parts.filter(({ answers }) => answers[0]?.kind !== 'unknown-state')
  return { id, ...mergeScanParts(known.length > 0 ? known : parts.slice(0, 1), limit) }
}
