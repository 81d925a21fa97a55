import { statSync } from 'node:fs'
import type { Deployment } from '../port/deployment.ts'
import type { ModelSource } from '../port/model.ts'

/** Models that have a thread of their own before small ones begin to share. */
const OWN_MODELS = 8
/** Largest file of a small model, bytes. */
const MOST_BYTES = 4 * 2 ** 20
/** Longest run of the largest batch of a small model, ms: so long the others of its thread wait for it. */
const MOST_RUN_MS = 2

/**
 * Whether a model gets a thread of its own: `try` where it seems small, and its run is still to be measured. `own` is the
 * number of models that have one.
 */
export function sharingOf(
  source: ModelSource,
  deployment: Deployment,
  own: number,
): 'own' | 'shared' | 'try' {
  const { isShared, workers, isolation, hedge } = deployment
  if (isShared !== undefined) return isShared ? 'shared' : 'own'
  if (own < OWN_MODELS || source.kind !== 'onnx') return 'own'
  // Who says how many workers there are wants that many.
  if (workers !== undefined || isolation === 'process' || hedge !== undefined) return 'own'
  return bytesOf(source.file) <= MOST_BYTES ? 'try' : 'own'
}

/** Whether a model whose run was measured may share its thread. */
export const mayShare = (runMs: number): boolean => runMs <= MOST_RUN_MS

/** Size of a file; of one that is not there, the load says why. */
const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
