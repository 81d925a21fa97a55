import { Worker } from 'node:worker_threads'
import { siblingModule } from '../core/sibling-module.ts'

/** The thread needs next to no heap, but for the types that Node.js takes out of a module of the source. */
const HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

/**
 * Ends this process within seconds after its parent, with a thread that looks at it: work that never comes back keeps the
 * main thread from seeing that the parent has ended, and would take a core forever. `parent`: its process id.
 */
export function endWithParent(parent: number): void {
  const module = siblingModule('./parent-watch', import.meta.url)
  new Worker(module, { workerData: parent, resourceLimits: HEAP }).unref()
}
