import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'
import type { SlotQueryAnswer, SlotQueryReply, SlotQueryRequest } from '../state/slot-query.ts'
import {
  packSlotQueryReply,
  type SlotQueryRequestMessage,
  unpackSlotQueryRequest,
} from '../state/slot-query-message.ts'
import type { MessagePortLike } from './slot-protocol.ts'

/** A backend and the operator that it belongs to. */
export interface QueriedBackend {
  readonly operatorUid: string
  readonly backend: KeyedStateBackend
}

interface Waiting {
  readonly port: MessagePortLike
  readonly message: SlotQueryRequestMessage
}

/** How useful an answer is when several backends know the name: the best one counts. */
const RANK: Readonly<Record<SlotQueryAnswer['kind'], number>> = {
  found: 3,
  restoring: 2,
  missing: 1,
  'unknown-state': 0,
}

/**
 * Collects what query threads ask a slot and answers it between two slices of processing. A
 * message is a SlotQueryRequestMessage, its reply a SlotQueryReplyMessage.
 */
export class SlotQueries {
  private readonly backends: () => readonly QueriedBackend[] | undefined
  private readonly wake: () => void
  private readonly ports: MessagePortLike[] = []
  private waiting: Waiting[] = []

  /** `backends` gives undefined while no attempt runs: then the state is as good as restoring. */
  constructor(backends: () => readonly QueriedBackend[] | undefined, wake: () => void) {
    this.backends = backends
    this.wake = wake
  }

  /** Begins to answer on a port. */
  attach(port: MessagePortLike): void {
    this.ports.push(port)
    port.on('message', (message: SlotQueryRequestMessage) => {
      this.waiting.push({ port, message })
      this.wake()
    })
    port.on('close', () => {
      const at = this.ports.indexOf(port)
      if (at >= 0) this.ports.splice(at, 1)
    })
  }

  /** Answers everything that waits. */
  answerAll(): void {
    if (this.waiting.length === 0) return
    const waiting = this.waiting
    this.waiting = []
    for (const { port, message } of waiting) {
      const reply = packSlotQueryReply(this.answer(unpackSlotQueryRequest(message)))
      port.postMessage(reply, [reply.packed.buffer])
    }
  }

  /** Stops answering; the ports stay with whoever attached them. */
  detach(): readonly MessagePortLike[] {
    for (const port of this.ports) port.removeAllListeners('message')
    return this.ports.splice(0)
  }

  private answer(request: SlotQueryRequest): SlotQueryReply {
    const backends = this.backends()
    if (backends === undefined) return allRestoring(request)
    const candidates = backends.filter(
      ({ operatorUid }) => request.kind !== 'rows' || operatorUid === request.operatorUid,
    )
    const replies = candidates.map(({ backend }) => backend.answer(request))
    if (replies.length === 1) return replies[0]!
    if (request.kind === 'scan') return mergeScans(request, replies)
    const answers = request.keys.map((key, i) => bestOf(key, replies, i))
    return { id: request.id, answers }
  }
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
  request: Extract<SlotQueryRequest, { kind: 'scan' }>,
  replies: readonly SlotQueryReply[],
): SlotQueryReply {
  const answers = replies.flatMap((reply) => reply.answers)
  const known = answers.filter((answer) => answer.kind !== 'unknown-state')
  known.sort((a, b) => Buffer.compare(a.key, b.key))
  const merged = known.length > 0 ? known.slice(0, request.limit) : answers.slice(0, 1)
  return { id: request.id, answers: merged }
}
