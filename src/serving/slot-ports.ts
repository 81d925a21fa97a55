import type { MessagePort } from 'node:worker_threads'
import { WeirError } from '../core/errors.ts'
import type { SlotQueryReply, SlotQueryRequest } from '../state/slot-query.ts'
import {
  packSlotQueryRequest,
  type SlotQueryReplyMessage,
  unpackSlotQueryReply,
} from '../state/slot-query-message.ts'
import type { SlotQueryGateway } from './local-slot-asker.ts'

interface Waiting {
  resolve(reply: SlotQueryReply): void
  reject(error: WeirError): void
}

/** One slot's port and the requests that wait on it, by request id. */
interface SlotLink {
  readonly port: MessagePort
  readonly waiting: Map<number, Waiting>
}

/** Requests of a query thread to the slots, over one message port per slot. */
export class SlotPorts implements SlotQueryGateway {
  private readonly links = new Map<number, SlotLink>()

  /** Requests that wait for a slot. */
  get outstanding(): number {
    let count = 0
    for (const { waiting } of this.links.values()) count += waiting.size
    return count
  }

  /** Uses `port` for the slot from now on; what waits on an older one fails with SLOT_LOST. */
  attach(slot: number, port: MessagePort): void {
    this.detach(slot)
    const waiting = new Map<number, Waiting>()
    this.links.set(slot, { port, waiting })
    port.on('message', (message: SlotQueryReplyMessage) => {
      waiting.get(message.id)?.resolve(unpackSlotQueryReply(message))
      waiting.delete(message.id)
    })
    port.on('close', () => {
      if (this.links.get(slot)?.port === port) this.detach(slot)
    })
  }

  /** The slot is gone: what waits on it fails with SLOT_LOST. */
  detach(slot: number): void {
    const link = this.links.get(slot)
    if (link === undefined) return
    this.links.delete(slot)
    link.port.close()
    for (const { reject } of link.waiting.values()) reject(lost(slot))
  }

  ask(slot: number, request: SlotQueryRequest): Promise<SlotQueryReply> {
    const link = this.links.get(slot)
    if (link === undefined) return Promise.reject(lost(slot))
    return new Promise((resolve, reject) => {
      link.waiting.set(request.id, { resolve, reject })
      link.port.postMessage(packSlotQueryRequest(request))
    })
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
