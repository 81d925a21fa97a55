import type { Load } from './load.ts'
import type { LoadWindow } from './window.ts'

/** A load that runs. */
export interface LoadRun {
  /** Resolves when the last request of a load with an end is answered. */
  readonly finished: Promise<void>
  /** What happened since the start or the last window. */
  take(): Promise<LoadWindow>
  /** Sends nothing more and waits for the answers; what happened since the last window. */
  stop(): Promise<LoadWindow>
}

/** Puts load on a target. One load runs at a time. */
export interface LoadGenerator extends AsyncDisposable {
  /**
   * Sends single requests until one is answered. Rejects with the error of the first if none of `tries`
   * is.
   */
  probe(tries: number): Promise<void>
  /** Starts a load; it ends after `limit` requests if one is given. */
  start(load: Load, limit?: number): Promise<LoadRun>
}
