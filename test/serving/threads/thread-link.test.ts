import { EventEmitter } from 'node:events'
import { MessageChannel, type Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { ThreadLink } from '../../../src/serving/threads/thread-link.ts'

/** A worker that ends when a test says so. */
class FakeWorker extends EventEmitter {
  terminate(): Promise<number> {
    return Promise.resolve(0)
  }
}

function linkTo(worker: FakeWorker): ThreadLink {
  const { port1 } = new MessageChannel()
  const listener = { ready() {}, failed() {}, ended() {} }
  return new ThreadLink(0, { port: port1, worker: worker as unknown as Worker }, listener)
}

it('gives no metrics, and does not wait for them, when the thread ends before it answers', async () => {
  const worker = new FakeWorker()
  const link = linkTo(worker)
  const asked = link.metrics()
  worker.emit('exit', 1)
  expect(await asked).toEqual({})
  expect(await link.metrics()).toEqual({})
})

it('closes when the thread has ended already, and when it ends while it closes', async () => {
  const dead = new FakeWorker()
  const ended = linkTo(dead)
  dead.emit('exit', 1)
  await ended.close()
  const dying = new FakeWorker()
  const closing = linkTo(dying).close()
  dying.emit('error', new Error('out of memory'))
  await closing
})
