import type { SinkWriter } from '../port/sink.ts'

/** A writer whose writes are visible at once, so that a checkpoint has nothing to do for it. */
export abstract class DirectWriter<T> implements SinkWriter<T> {
  abstract write(value: T, timestamp: number): void

  async open(): Promise<void> {}

  ready(): boolean {
    return true
  }

  async whenReady(): Promise<void> {}

  async prepareCommit(): Promise<readonly Uint8Array[]> {
    return []
  }

  async commit(): Promise<void> {}

  async close(): Promise<void> {}
}
