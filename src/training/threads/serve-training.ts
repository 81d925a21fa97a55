import type { MessagePort } from 'node:worker_threads'
import type { TrainingParticipant } from './training-threads.ts'

/** Worker side of `workerThreads`: runs each phase that arrives and answers when it is finished. */
export function serveTraining<Phase>(
  port: MessagePort | null,
  participant: TrainingParticipant<Phase>,
): void {
  port?.on('message', async (phase: Phase) => {
    await participant.run(phase)
    port.postMessage('done')
  })
}
