import { setPriority } from 'node:os'
import { isWeirError, messageOf } from '../../core/errors.ts'
import { endWithParent } from '../../files/end-with-parent.ts'
import type { TrainerAnswer, TrainerRequest } from './messages.ts'
import { RetrainTrainer } from './trainer.ts'

/*
 * Main module of a training process, which `RetrainProcess` starts. It runs at a low priority, so that
 * serving comes first, and ends with the process that started it.
 */

const PRIORITY = 10

function send(answer: TrainerAnswer): void {
  process.send?.(answer)
}

try {
  setPriority(PRIORITY)
} catch {
  // Without the permission to change it, training runs at the normal priority.
}
const trainer = new RetrainTrainer((done, total) => send({ kind: 'progress', done, total }))
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
endWithParent(process.ppid)
process.on('message', (request: TrainerRequest) => {
  trainer.answer(request).then(send, (error: unknown) => {
    const code = isWeirError(error) ? error.code : 'OPERATOR_FAILED'
    send({ kind: 'failed', code, message: messageOf(error) })
  })
})
