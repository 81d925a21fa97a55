import { resolve } from 'node:path'
import { JobModels } from '../../jobs/models/job-models.ts'
import { parseSize } from '../../runtime/configuration/values.ts'
import type { Flags } from '../command/command.ts'
import { eventJson, eventText } from './model-event.ts'

/** The models of `--repository` for a job that asks some; nothing is loaded for another job. */
export function jobModelsOf(
  flags: Flags,
  report: (event: Record<string, unknown>, sentence: string) => void,
): JobModels {
  const memory = flags.optional('memory')
  return new JobModels({
    repository: resolve(flags.string('repository')),
    openEngine: async () => {
      const { openInferenceEngine } = await import('../../inference/engine/engine.ts')
      return openInferenceEngine(memory === undefined ? {} : { memoryBytes: parseSize(memory) })
    },
    onEvent: (event) => report({ ...eventJson(event) }, eventText(event)),
  })
}
