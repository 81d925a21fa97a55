import { resolve } from 'node:path'
import { JobModels } from '../../jobs/models/job-models.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import { engineOptionsOf } from './engine-options.ts'
import { eventJson, eventText } from './model-event.ts'

/** The models of `--repository` for a job that asks some; nothing is loaded for another job. */
export function jobModelsOf(
  flags: Flags,
  io: Pick<CommandIo, 'env' | 'err'>,
  report: (event: Record<string, unknown>, sentence: string) => void,
): JobModels {
  const options = engineOptionsOf(flags, io)
  return new JobModels({
    repository: resolve(flags.string('repository')),
    openEngine: async () => {
      const { openInferenceEngine } = await import('../../inference/engine/engine.ts')
      return openInferenceEngine(options)
    },
    onEvent: (event) => report({ ...eventJson(event) }, eventText(event)),
  })
}
