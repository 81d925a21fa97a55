import { type Clock, sleep } from '../../core/clock.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'

/** Longest wait for a job that has served the model before, ms, and the time between two looks. */
const WAIT_MS = 5_000
const LOOK_EVERY_MS = 50

/**
 * Whether a job says that it serves the live version of a model. Waits for one that has served the model before: it loads the
 * rows when the registry says so.
 */
export async function isServed(
  registry: ModelRegistry,
  name: string,
  clock: Clock,
): Promise<boolean> {
  const endMs = clock.monotonicMs() + WAIT_MS
  for (;;) {
    const { live, revision, served } = (await registry.read()).models.get(name) ?? {}
    if (served === undefined) return false
    if (served.number === live && served.revision === revision) return true
    if (clock.monotonicMs() >= endMs) return false
    await sleep(clock, LOOK_EVERY_MS)
  }
}

/** What `isServed` found, for the end of a sentence. */
export function servedText(served: boolean): string {
  return served ? '; a job serves it' : '; no job serves it yet'
}
