import { BroadcastChannel } from 'node:worker_threads'

/** Something was appended to, or became visible in, a partition. */
export interface PartitionChange {
  readonly topic: string
  readonly partition: number
}

type Listener = () => void

/**
 * Tells every thread of the process that a partition of the log at `directory` changed, within a
 * fraction of a millisecond. It carries no numbers: who is woken reads the partition's status.
 */
export class LogChanges {
  private readonly channel: BroadcastChannel
  private readonly listeners = new Map<string, Set<Listener>>()

  constructor(directory: string) {
    this.channel = new BroadcastChannel(`weir-log:${directory}`)
    this.channel.onmessage = (event) => {
      const change = (event as unknown as { data: PartitionChange }).data
      this.listeners.get(`${change.topic}/${change.partition}`)?.forEach((listener) => {
        listener()
      })
    }
    this.channel.unref()
  }

  /** Announces a change to the other threads and the other instances of this one. */
  announce(change: PartitionChange): void {
    this.channel.postMessage(change)
  }

  /** Calls `listener` at every change of the partition until the returned function is called. */
  listen(topic: string, partition: number, listener: Listener): () => void {
    const key = `${topic}/${partition}`
    const set = this.listeners.get(key) ?? new Set()
    this.listeners.set(key, set)
    set.add(listener)
    return () => {
      set.delete(listener)
    }
  }

  /** Stops listening. */
  close(): void {
    this.channel.close()
  }
}
