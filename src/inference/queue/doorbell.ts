import { PRODUCER } from './layout.ts'
import type { QueueMemory } from './memory.ts'

/** What wakes the event loop of a producer. */
export interface Doorbell {
  /** Calls `onRing` after each ring, in a turn of the event loop, until `close`. */
  close(): void
}

/**
 * Doorbell by `Atomics.waitAsync`: one wait a producer and queue, not one a request. The producer's row says
 * whether it is armed, so a worker that finds it busy saves the call.
 */
export function listenAtomically(
  memory: QueueMemory,
  producer: number,
  onRing: () => void,
): Doorbell {
  const { words } = memory
  const bellAt = memory.producerAt(producer) + PRODUCER.bell
  const armedAt = memory.producerAt(producer) + PRODUCER.armed
  let isOpen = true
  const listen = (): void => {
    while (isOpen) {
      const seen = Atomics.load(words, bellAt)
      Atomics.store(words, armedAt, 1)
      onRing()
      const wait = Atomics.waitAsync(words, bellAt, seen)
      if (!wait.async) continue
      void wait.value.then(listen)
      return
    }
  }
  listen()
  return {
    close() {
      isOpen = false
      Atomics.store(words, armedAt, 0)
      Atomics.add(words, bellAt, 1)
      Atomics.notify(words, bellAt)
    },
  }
}
