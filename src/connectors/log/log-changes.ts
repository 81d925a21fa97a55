import { BroadcastChannel } from 'node:worker_threads'

/** Something was appended to, or became visible in, a partition. */
export interface PartitionChange {
  readonly topic: string
  readonly partition: number
}

type Listener = () => void

const channelName = (directory: string): string => `weir-log:${directory}`

/** Tells every thread of the process that partitions of the log at `directory` changed. */
export class LogChanges {
  private readonly channel: BroadcastChannel

  constructor(directory: string) {
    this.channel = new BroadcastChannel(channelName(directory))
    this.channel.unref()
  }

  /** Announces a change to whoever listens, in any thread. */
  announce(change: PartitionChange): void {
    this.channel.postMessage(change)
  }

  /** Announces nothing more. */
  close(): void {
    this.channel.close()
  }
}

/** What this thread listens to: each message costs the thread once, however many read the log. */
class ListeningThread {
  readonly listeners = new Map<string, Set<Listener>>()
  private readonly channel: BroadcastChannel

  constructor(directory: string) {
    this.channel = new BroadcastChannel(channelName(directory))
    this.channel.onmessage = (event) => {
      const { topic, partition } = (event as unknown as { data: PartitionChange }).data
      this.listeners.get(`${topic}/${partition}`)?.forEach((listener) => {
        listener()
      })
    }
    this.channel.unref()
  }

  close(): void {
    this.channel.close()
  }
}

const threads = new Map<string, ListeningThread>()

/**
 * Calls `listener` within a fraction of a millisecond of every change of a partition, until the
 * returned function is called. It is told no numbers: it reads the partition's status.
 */
export function listenToChanges(
  directory: string,
  { topic, partition }: PartitionChange,
  listener: Listener,
): () => void {
  const thread = threads.get(directory) ?? new ListeningThread(directory)
  threads.set(directory, thread)
  const key = `${topic}/${partition}`
  const set = thread.listeners.get(key) ?? new Set()
  thread.listeners.set(key, set)
  set.add(listener)
  return () => {
    set.delete(listener)
    if (set.size === 0 && thread.listeners.get(key) === set) thread.listeners.delete(key)
    if (thread.listeners.size > 0 || threads.get(directory) !== thread) return
    threads.delete(directory)
    thread.close()
  }
}
