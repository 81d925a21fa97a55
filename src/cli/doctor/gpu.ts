import { isWeirError } from '../../core/errors.ts'
import { openGpuRuntime } from '../../training/gpu/runtime.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Checks which provider of ONNX Runtime trains on a GPU here. */
export async function checkGpu(): Promise<Finding> {
  try {
    const { provider } = await openGpuRuntime()
    return ok('gpu', `ONNX Runtime with ${provider}`)
  } catch (error) {
    if (!isWeirError(error)) throw error
    return warning('gpu', error.message, 'training runs on the CPU; nothing else needs a GPU')
  }
}
