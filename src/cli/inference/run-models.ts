import { resolve } from 'node:path'
import { parseSize } from '../../runtime/configuration/values.ts'
import { type CommandIo, type Flags, unlessInterrupted } from '../command/command.ts'
import { listenerOf } from '../flags/listener.ts'
import { eventJson, eventText } from './model-event.ts'

/** Serves the models of `--repository` until Ctrl-C. */
export async function runModels(flags: Flags, io: CommandIo): Promise<number> {
  const json = flags.boolean('json')
  const memory = flags.optional('memory')
  const [{ ModelsProcess }, { openInferenceEngine }] = await Promise.all([
    import('../../jobs/models/process.ts'),
    import('../../inference/engine/engine.ts'),
  ])
  const starting = ModelsProcess.start({
    ...listenerOf(flags, io),
    repository: resolve(flags.string('repository')),
    port: flags.integer('port', 0, 65_535),
    engine: openInferenceEngine(memory === undefined ? {} : { memoryBytes: parseSize(memory) }),
    onEvent: (event) =>
      json ? io.out(JSON.stringify(eventJson(event))) : io.err(eventText(event)),
  })
  await using models = await unlessInterrupted(starting, io)
  if (json) io.out(JSON.stringify({ event: 'started', port: models.port }))
  else {
    const place = `${flags.string('host')}:${models.port}`
    io.err(`models: serving queries on ${place}; press Ctrl-C to stop`)
  }
  await io.interrupted
  return 0
}
