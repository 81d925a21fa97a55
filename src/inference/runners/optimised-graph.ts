import { existsSync, renameSync, rmSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import type { InferenceSession } from 'onnxruntime-node'

type SessionOptions = InferenceSession.SessionOptions
type Create = (file: string, options: SessionOptions) => Promise<InferenceSession>

/**
 * Opens a session of the model in `file`. The first load writes the graph as ONNX Runtime optimised it to `optimised`, and later
 * ones read that: the work on the graph is the larger part of a load. Where the graph cannot be kept, as with weights
 * in files of their own, the model is loaded as it is. Rejects as `create`.
 */
export async function openOptimised(
  create: Create,
  options: SessionOptions,
  { file, optimised }: { readonly file: string; readonly optimised: string },
): Promise<InferenceSession> {
  if (!existsSync(optimised)) return await writeOptimised(create, options, { file, optimised })
  try {
    return await create(optimised, { ...options, graphOptimizationLevel: 'disabled' })
  } catch {
    return await create(file, options)
  }
}

async function writeOptimised(
  create: Create,
  options: SessionOptions,
  { file, optimised }: { readonly file: string; readonly optimised: string },
): Promise<InferenceSession> {
  // Several workers may write it at once: each has a file of its own until it is whole.
  const written = `${optimised}-${process.pid}-${threadId}`
  try {
    const session = await create(file, { ...options, optimizedModelFilePath: written })
    if (existsSync(written)) renameSync(written, optimised)
    return session
  } catch {
    return await create(file, options)
  } finally {
    rmSync(written, { force: true })
  }
}
