import { openModel, prepareRunner } from '../runners/open.ts'
import type { WorkerStart } from './messages.ts'
import { mostItemsOfRun, zeroInputs } from './sample-inputs.ts'

/**
 * Memory that the model takes in this process with one run, bytes: what the process has more than before. The
 * code of the runner does not count, since workers share it. Throws as `openModel`.
 */
export async function memoryOf(start: WorkerStart, items: number): Promise<number> {
  await prepareRunner(start.source)
  const before = process.memoryUsage.rss()
  const model = await openModel(start.source, start)
  const { signature } = model
  const count = mostItemsOfRun(signature, items)
  // A model may refuse zeros, or free sizes of 1: then its weights are what is known.
  await model.run(zeroInputs(signature, count), count).catch(() => [])
  return Math.max(0, process.memoryUsage.rss() - before)
}
