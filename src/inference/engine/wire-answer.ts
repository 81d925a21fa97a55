import { WeirError } from '../../core/errors.ts'
import type { LocalInferAnswer } from '../../wire/inference/infer.ts'
import type { InferAnswer as EngineAnswer } from '../port/request.ts'

/** An answer of the engine as INFER carries it, with the wanted outputs. Throws SIGNATURE_MISMATCH. */
export function wireAnswer(answer: EngineAnswer, wanted: readonly string[]): LocalInferAnswer {
  const { outputs, flags } = answer
  return {
    outputs: wanted.length === 0 ? outputs : wanted.map((name) => outputNamed(outputs, name)),
    isDefault: flags.isDefault !== undefined,
    isCached: flags.isCached === true,
    isHedged: flags.isHedged === true,
    reason: flags.isDefault ?? '',
    queueMicros: answer.queueMs * 1000,
    runMicros: answer.runMs * 1000,
    batchItems: answer.batchItems,
    ...(flags.sequenceStep === undefined ? {} : { sequenceStep: flags.sequenceStep }),
    ...(flags.decision === undefined ? {} : { decision: flags.decision }),
  }
}

function outputNamed(outputs: EngineAnswer['outputs'], name: string) {
  const output = outputs.find((one) => one.name === name)
  if (output !== undefined) return output
  const known = outputs.map((one) => one.name).join(', ')
  throw new WeirError('SIGNATURE_MISMATCH', `the model has no output "${name}"; it has ${known}`)
}
