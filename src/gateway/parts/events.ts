import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

/** A client that takes nothing for so long is disconnected, ms: it holds a place of a model. */
const STALLED_MS = 60_000

/** The data of the events of one answer. */
export interface EventsOf {
  /** The data of each event; they are asked for as fast as the client takes them. */
  readonly data: AsyncIterator<string>
  /** Data of the last event after an error in the middle. */
  readonly failure: (error: unknown) => string
  /** Data of the last event of a whole answer. @default the answer ends with its last part */
  readonly last?: string
}

/**
 * Sends an answer as server-sent events. Rejects with the error of the first event, before anything is sent; a later error
 * is an event, and the end. When the client goes away, the iterator is returned.
 */
export async function sendEvents(
  reply: FastifyReply,
  { data, failure, last }: EventsOf,
): Promise<void> {
  const { raw } = reply
  const first = await data.next()
  if (raw.destroyed) return void (await data.return?.())
  reply.hijack()
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Reverse proxies pass each event on at once.
    'x-accel-buffering': 'no',
  })
  raw.flushHeaders()
  try {
    for (let next = first; next.done !== true; next = await data.next()) {
      if (!(await written(reply, next.value))) return
    }
    if (last !== undefined) await written(reply, last)
  } catch (error) {
    if (!raw.destroyed) await written(reply, failure(error))
  } finally {
    // Not awaited before the end of the answer: what runs behind it may take a while to stop.
    void data.return?.().catch(() => {})
    raw.end()
  }
}

/** Writes an event; resolves when the client has taken enough for another one, with false when it is gone. */
function written({ raw }: FastifyReply, data: string): Promise<boolean> | boolean {
  if (raw.destroyed) return false
  if (raw.write(`data: ${data}\n\n`)) return true
  return new Promise((resolve) => {
    const timer = setTimeout(() => raw.destroy(), STALLED_MS)
    const settle = (): void => {
      clearTimeout(timer)
      raw.off('drain', settle).off('close', settle)
      resolve(!raw.destroyed)
    }
    raw.once('drain', settle).once('close', settle)
  })
}
