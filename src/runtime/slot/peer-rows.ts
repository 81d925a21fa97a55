import { type Clock, sleep } from '../../core/clock.ts'
import type { StoredRows } from '../../operators/port/operator.ts'
import {
  packSlotQueryRequest,
  type SlotQueryReplyMessage,
  type SlotQueryRequestMessage,
  unpackSlotQueryReply,
} from '../../state/catalog/slot-query-message.ts'
import type { VectorRow } from '../../state/port/handles.ts'
import { decodeVectorRow } from '../../state/rows/codec.ts'
import type { SlotQueries } from './queries.ts'

/** Messages between slots about rows that one of them has stored. */
export type PeerRowsMessage =
  | { readonly kind: 'ask'; readonly request: SlotQueryRequestMessage }
  | { readonly kind: 'answer'; readonly reply: SlotQueryReplyMessage }

/** What the rows of other slots are asked with. */
export interface PeerRowsOptions {
  readonly clock: Clock
  /** Answers what other slots ask. */
  readonly queries: Pick<SlotQueries, 'take'>
  /** Sends a message to a slot, which may be the own one. */
  readonly send: (slot: number, message: PeerRowsMessage) => void
}

/** Time after which a slot that restores its state is asked again. */
const AGAIN_MS = 5

/** Rows of other slots that are not in memory: asks these slots for them, as query threads do. */
export class PeerRows {
  private readonly options: PeerRowsOptions
  private readonly waiting = new Map<number, (reply: SlotQueryReplyMessage) => void>()
  private nextId = 1

  constructor(options: PeerRowsOptions) {
    this.options = options
  }

  /**
   * The rows of a slot in the order of the keys, undefined where there is none; it is asked again while it restores one.
   * Never settles when the attempt ends before. Throws STORE_FAILED.
   */
  async read(asked: StoredRows): Promise<readonly (VectorRow | undefined)[]> {
    for (;;) {
      const { answers } = unpackSlotQueryReply(await this.ask(asked))
      if (answers.every(({ kind }) => kind !== 'restoring')) {
        return answers.map((answer) =>
          answer.kind === 'found' ? decodeVectorRow(answer.value, asked.dimension) : undefined,
        )
      }
      await sleep(this.options.clock, AGAIN_MS)
    }
  }

  /** Handles a message of a slot. */
  receive(slot: number, message: PeerRowsMessage): void {
    if (message.kind === 'ask') {
      const postMessage = (reply: SlotQueryReplyMessage): void =>
        this.options.send(slot, { kind: 'answer', reply })
      this.options.queries.take({ postMessage }, message.request)
      return
    }
    const { reply } = message
    this.waiting.get(reply.id)?.(reply)
    this.waiting.delete(reply.id)
  }

  private ask({ slot, dimension: _, ...rows }: StoredRows): Promise<SlotQueryReplyMessage> {
    const id = this.nextId++
    return new Promise((resolve) => {
      this.waiting.set(id, resolve)
      const request = packSlotQueryRequest({ kind: 'rows', id, ...rows })
      this.options.send(slot, { kind: 'ask', request })
    })
  }
}
