import { assertNever } from '../../core/errors.ts'
import type { ModelSource } from '../port/model.ts'
import type { LoadedModel, RunnerOptions } from '../port/runner.ts'
import { loadFunction } from './function.ts'
import { loadOnnx, loadOnnxRuntime } from './onnx.ts'
import { loadRemote } from './remote.ts'

/** Loads a model of any kind in this thread. Throws as `Runner.load`. */
export function openModel(source: ModelSource, options: RunnerOptions): Promise<LoadedModel> {
  switch (source.kind) {
    case 'onnx':
      return loadOnnx(source, options)
    case 'function':
      return loadFunction(source)
    case 'remote':
      return loadRemote(source)
    default:
      return assertNever(source)
  }
}

/** Loads the code that models of this kind share. Throws MODEL_FAILED when it is not installed. */
export async function prepareRunner(source: ModelSource): Promise<void> {
  if (source.kind === 'onnx') await loadOnnxRuntime()
}
