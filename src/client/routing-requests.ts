import type { WeirError } from '../core/errors.ts'
import { KIND } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import type { RoutingTable } from '../wire/routing-table.ts'

/** Requests of one connection for the routing table, by request id. */
export class RoutingRequests {
  private readonly waiting = new Map<number, PromiseWithResolvers<RoutingTable>>()

  /** Writes a request; the promise settles with `answer` or `fail`. */
  ask(writer: FrameWriter, requestId: number): Promise<RoutingTable> {
    const request = Promise.withResolvers<RoutingTable>()
    this.waiting.set(requestId, request)
    writer.begin(KIND.routing, 0, requestId)
    writer.end(0)
    return request.promise
  }

  /** The answer to a request; ignored for any other id. */
  answer(requestId: number, table: RoutingTable): void {
    this.waiting.get(requestId)?.resolve(table)
    this.waiting.delete(requestId)
  }

  /** The error of a request; ignored for any other id. */
  fail(requestId: number, error: WeirError): void {
    this.waiting.get(requestId)?.reject(error)
    this.waiting.delete(requestId)
  }

  /** Fails all requests. */
  failAll(error: WeirError): void {
    for (const { reject } of this.waiting.values()) reject(error)
    this.waiting.clear()
  }
}
