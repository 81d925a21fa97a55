import { setTimeout as sleep } from 'node:timers/promises'
import { waiting } from './waits.ts'

/**
 * A pause of fixed length, for what no condition shows: that something does not happen, that load arrives over
 * time, that a moment is random. `test/architecture/pauses.test.ts` lists them with their reasons.
 */
export function pause(ms: number, _reason: string): Promise<void> {
  return waiting('pause', () => sleep(ms))
}
