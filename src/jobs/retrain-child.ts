import { setPriority } from 'node:os'
import { isWeirError, messageOf } from '../core/errors.ts'
import type { TrainerAnswer, TrainerRequest } from './retrain-messages.ts'
import { RetrainTrainer } from './retrain-trainer.ts'

/*
 * Main module of a training process (`RetrainProcess` starts it). It yields the processor to whoever
 * serves, and ends with the process that started it.
 */

const PRIORITY = 10

function send(answer: TrainerAnswer): void {
  process.send?.(answer)
}

try {
  setPriority(PRIORITY)
} catch {
  // A system that does not let it trains at the usual priority.
}
const trainer = new RetrainTrainer((done, total) => send({ kind: 'progress', done, total }))
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
process.on('message', (request: TrainerRequest) => {
  trainer.answer(request).then(send, (error: unknown) => {
    const code = isWeirError(error) ? error.code : 'OPERATOR_FAILED'
    send({ kind: 'failed', code, message: messageOf(error) })
  })
})
