import { parentPort } from 'node:worker_threads'
import type { SeatMessage, SeatOrder, ServeMessage } from './messages.ts'
import { runWorker } from './run-worker.ts'
import { Turns } from './turns.ts'

/* A thread that the workers of many small models share: each has a seat. Nothing here may block the thread. */

const turns = new Turns()
/** What gives each seat its queue, or sends it away. */
const starters = new Map<number, (queue: ServeMessage | undefined) => void>()

const post = (message: SeatMessage): void => parentPort?.postMessage(message)

parentPort?.on('message', (order: SeatOrder) => {
  if (order.kind === 'end') {
    parentPort?.close()
    return
  }
  const { seat } = order
  if (order.kind === 'load') {
    const started = new Promise<ServeMessage | undefined>((resolve) => starters.set(seat, resolve))
    void runWorker(order.start, {
      post: (message) => post({ seat, message }),
      started,
      turns,
    }).finally(() => {
      starters.delete(seat)
      post({ seat, message: { kind: 'ended' } })
    })
    return
  }
  starters.get(seat)?.(order.queue)
})
