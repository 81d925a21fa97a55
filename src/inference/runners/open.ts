import { assertNever, WeirError } from '../../core/errors.ts'
import { requireDigest } from '../../files/file-digest.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { ModelSource } from '../port/model.ts'
import type { LoadedModel, RunnerOptions } from '../port/runner.ts'
import { loadFunction } from './function.ts'
import { loadOnnx, loadOnnxRuntime } from './onnx.ts'
import { loadOpenAi } from './openai.ts'
import { loadRemote } from './remote.ts'

const REMEDY =
  'it changed after the first load; put the file back, or push the model as a new version'

/**
 * Loads a model of any kind in this thread, after a look at its files. Throws as `Runner.load`, and
 * CHECKSUM_MISMATCH when a file is not the one of the first load.
 */
export async function openModel(source: ModelSource, options: RunnerOptions): Promise<LoadedModel> {
  const files = source.kind === 'remote' ? [] : (source.files ?? [])
  for (const file of files) await requireDigest(nodeFileSystem, file, REMEDY)
  return await load(source, options)
}

function load(source: ModelSource, options: RunnerOptions): Promise<LoadedModel> {
  switch (source.kind) {
    case 'onnx':
      return loadOnnx(source, options)
    case 'function':
      return loadFunction(source, options)
    case 'remote':
      return source.protocol === 'openai'
        ? loadOpenAi(source, options)
        : loadRemote(source, options)
    case 'pipeline':
      throw new WeirError('UNSUPPORTED', `${source.file} is a pipeline: no worker runs it`)
    default:
      return assertNever(source)
  }
}

/** Loads the code that models of this kind share. Throws MODEL_FAILED when it is not installed. */
export async function prepareRunner(source: ModelSource): Promise<void> {
  if (source.kind === 'onnx') await loadOnnxRuntime()
}
