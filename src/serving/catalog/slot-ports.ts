import type { MessagePort } from 'node:worker_threads'
import { WeirError } from '../../core/errors.ts'
import {
  packSlotQueryRequest,
  type SlotQueryCancelMessage,
  type SlotQueryReplyMessage,
} from '../../state/catalog/slot-query-message.ts'
import type { SlotQueryRequest } from '../../state/port/slot-query.ts'
import type { SlotQueryClient } from './slot-asker.ts'

interface Waiting {
  resolve(reply: SlotQueryReplyMessage): void
  reject(error: unknown): void
}

/** One slot's port and the requests that wait on it, by request id. */
interface SlotLink {
  readonly port: MessagePort
  readonly waiting: Map<number, Waiting>
  /** Buffers of its replies, which go back with its next request. */
  spent: Uint8Array<ArrayBuffer>[]
}

/** Buffers that wait for a request: more than a few do not come back before they are needed. */
const MOST_SPENT = 8

/** Requests of a query thread to the slots, over one message port per slot. */
export class SlotPorts implements SlotQueryClient {
  private readonly links = new Map<number, SlotLink>()

  /** Requests that wait for a slot. */
  get outstanding(): number {
    let count = 0
    for (const { waiting } of this.links.values()) count += waiting.size
    return count
  }

  /** Uses `port` for the slot from now on. Requests that wait on an earlier port fail with SLOT_LOST. */
  attach(slot: number, port: MessagePort): void {
    this.detach(slot)
    const waiting = new Map<number, Waiting>()
    this.links.set(slot, { port, waiting, spent: [] })
    port.on('message', (message: SlotQueryReplyMessage) => {
      const waiter = waiting.get(message.id)
      if (waiter === undefined) return
      waiting.delete(message.id)
      const { error } = message
      if (error === undefined) waiter.resolve(message)
      else waiter.reject(new WeirError(error.code, error.message))
    })
    port.on('close', () => {
      if (this.links.get(slot)?.port === port) this.detach(slot)
    })
  }

  /** The slot is gone: requests that wait for it fail with SLOT_LOST. */
  detach(slot: number): void {
    const link = this.links.get(slot)
    if (link === undefined) return
    this.links.delete(slot)
    link.port.close()
    for (const { reject } of link.waiting.values()) reject(lost(slot))
  }

  ask(slot: number, request: SlotQueryRequest): Promise<SlotQueryReplyMessage> {
    const link = this.links.get(slot)
    if (link === undefined) return Promise.reject(lost(slot))
    return new Promise((resolve, reject) => {
      link.waiting.set(request.id, { resolve, reject })
      const message = packSlotQueryRequest(request)
      const { spent } = link
      if (spent.length === 0) {
        link.port.postMessage(message)
        return
      }
      link.spent = []
      link.port.postMessage(
        { ...message, spent },
        spent.map(({ buffer }) => buffer),
      )
    })
  }

  giveBack(slot: number, packed: Uint8Array<ArrayBuffer>): void {
    const link = this.links.get(slot)
    if (link === undefined || link.spent.length >= MOST_SPENT || packed.length === 0) return
    link.spent.push(new Uint8Array(packed.buffer))
  }

  cancel(slot: number, id: number): void {
    const link = this.links.get(slot)
    if (link?.waiting.delete(id) !== true) return
    link.port.postMessage({ kind: 'cancel', ids: [id] } satisfies SlotQueryCancelMessage)
  }

  /** Closes every port. */
  close(): void {
    for (const slot of [...this.links.keys()]) this.detach(slot)
  }
}

function lost(slot: number): WeirError {
  return new WeirError('SLOT_LOST', `slot ${slot} does not answer; it is being restarted`, {
    details: { slot },
  })
}
