import { BroadcastChannel } from 'node:worker_threads'

/** A partition to which records were appended, or in which they became visible. */
export interface PartitionChange {
  readonly topic: string
  readonly partition: number
}

type Listener = () => void

const channelName = (directory: string): string => `weir-log:${directory}`

/** Receives the changes of partitions that a writer makes. */
export interface ChangeAnnouncer {
  announce(change: PartitionChange): void
  /** Ends the announcements. */
  close(): void
}

/** Announces changes of partitions of the log at `directory` to every thread of the process. */
export class LogChanges implements ChangeAnnouncer {
  private readonly channel: BroadcastChannel

  constructor(directory: string) {
    this.channel = new BroadcastChannel(channelName(directory))
    this.channel.unref()
  }

  announce(change: PartitionChange): void {
    this.channel.postMessage(change)
  }

  close(): void {
    this.channel.close()
  }
}

/** The listeners of this thread. They share one channel: the thread receives each message once. */
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
 * returned function is called. The listener reads the partition's status to learn what changed.
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
