import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import { WorkerRestarts } from '../../../src/inference/engine/worker-restarts.ts'

const NEVER = Number.POSITIVE_INFINITY

/** Restarts after so many losses without an answer, the last one at 1,000 ms. */
function lostTimes(losses: number): WorkerRestarts {
  const restarts = new WorkerRestarts()
  restarts.startMs = 50
  for (let i = 1; i < losses; i++) {
    restarts.lost(0, 0)
    restarts.takeDue(900, NEVER)
  }
  restarts.lost(0, 1000)
  return restarts
}

describe('a lost worker', () => {
  it('is started at once, and after a pause when there were losses before it without an answer', () => {
    expect(lostTimes(1).takeDue(1000, NEVER)).toBe(1)
    const restarts = lostTimes(3)
    expect(restarts.takeDue(1199, NEVER)).toBe(0)
    expect(restarts.takeDue(1200, NEVER)).toBe(1)
    expect(restarts.takeDue(9000, NEVER)).toBe(0)
  })

  it('is started before the end of its pause for a request that came meanwhile', () => {
    const restarts = lostTimes(4)
    expect(restarts.takeDue(1150, NEVER)).toBe(0)
    // Two starts of 50 ms are left until its deadline.
    expect(restarts.takeDue(1150, 1260)).toBe(0)
    expect(restarts.takeDue(1160, 1260)).toBe(1)
  })

  it('begins with short pauses again after an answer', () => {
    const restarts = lostTimes(4)
    restarts.takeDue(9000, NEVER)
    restarts.lost(1, 10_000)
    expect(restarts.takeDue(10_000, NEVER)).toBe(1)
  })

  it('pauses longer and longer while its loads fail, although other workers answer', () => {
    const restarts = new WorkerRestarts()
    restarts.lost(1, 0)
    expect(restarts.takeDue(0, NEVER)).toBe(1)
    for (const [i, pauseMs] of [100, 200, 400].entries()) {
      restarts.loadFailed(new WeirError('FILE_NOT_FOUND', 'no model.onnx'))
      restarts.lost(10 * (i + 2), 0)
      expect(restarts.takeDue(pauseMs - 1, NEVER)).toBe(0)
      expect(restarts.takeDue(pauseMs, NEVER)).toBe(1)
    }
    restarts.loaded()
    restarts.lost(99, 0)
    expect(restarts.takeDue(0, NEVER)).toBe(1)
  })
})

describe('a model whose loads fail', () => {
  const failed = (restarts: WorkerRestarts, code: 'FILE_NOT_FOUND' | 'WORKER_LOST', message = '') =>
    restarts.loadFailed(new WeirError(code, message))

  it('refuses requests with the error of the last load, until a worker has loaded it', () => {
    const restarts = new WorkerRestarts()
    for (const message of ['first', 'second']) {
      expect(restarts.refusal(0)).toBeUndefined()
      failed(restarts, 'FILE_NOT_FOUND', message)
    }
    expect(restarts.refusal(0)).toMatchObject({ message: 'second' })
    expect(restarts.refusal(1)).toBeUndefined()
    restarts.loaded()
    expect(restarts.refusal(0)).toBeUndefined()
  })

  it('lets requests wait while the processes that load it are killed, and says why it does not answer', () => {
    const restarts = new WorkerRestarts()
    failed(restarts, 'FILE_NOT_FOUND')
    for (let i = 0; i < 20; i++) failed(restarts, 'WORKER_LOST', 'killed')
    expect(restarts.refusal(0)).toBeUndefined()
    expect(restarts.problem(0)).toMatchObject({ message: 'killed' })
    expect(restarts.problem(1)).toBeUndefined()
  })
})
