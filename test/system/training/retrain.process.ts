import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { RetrainTrainer } from '../../../src/jobs/retrain/trainer.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { feedHundred, logTopics } from './retrain-log.ts'

/* Main module of a retraining that is killed when its candidate is whole in the topic. */

const [folder = ''] = process.argv.slice(2)
const logDirectory = join(folder, 'log')
const trainer = new RetrainTrainer(() => {})
let isWritten = false
await retrain({
  place: { logDirectory },
  registry: new ModelRegistry({
    place: { logDirectory: join(folder, 'registry') },
    clock: systemClock,
  }),
  model: 'als-model',
  observations: 'ratings',
  als: { factors: 4, iterations: 2, threads: 0 },
  rule: { rule: 'gram' },
  temporary: join(folder, 'temporary'),
  start: () => ({
    async ask(request) {
      // The replay after publishing has something to do.
      if (request.kind === 'replay' && isWritten) process.kill(process.pid, 'SIGKILL')
      if (request.kind === 'write') {
        isWritten = true
        await using topics = logTopics(folder)
        await feedHundred(topics, 1)
      }
      return (await trainer.answer(request)) as never
    },
    async [Symbol.asyncDispose]() {},
  }),
  newId: () => 'killed',
  clock: systemClock,
})
