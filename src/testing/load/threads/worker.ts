import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../core/clock.ts'
import { asWeirError } from '../../../core/errors.ts'
import { keySourceOf } from '../keys/key-settings.ts'
import type { LoadRun } from '../port/generator.ts'
import { LocalGenerator } from '../sending/local-generator.ts'
import { turnPacer } from '../sending/loop.ts'
import { openTarget } from '../targets/open-target.ts'
import type { ThreadMessage, ThreadRequest, ThreadSettings } from './messages.ts'

/** Thread of a generator: sends its share of every load until it is asked to end. */
const port = parentPort!
const send = (message: ThreadMessage): void => port.postMessage(message)
const settings = workerData as ThreadSettings

function failed(error: unknown): void {
  const { code, message } = asWeirError(error, 'ILLEGAL_STATE')
  send({ kind: 'failed', code, message })
}

async function open(): Promise<LocalGenerator> {
  const { target, keys, batch, share } = settings
  const source = keySourceOf(keys, batch, share)
  const opened = await openTarget(target)
  return new LocalGenerator({
    target: opened,
    keys: source,
    clock: systemClock,
    pacer: turnPacer,
    share,
  })
}

let run: LoadRun | undefined

async function handle(generator: LocalGenerator, request: ThreadRequest): Promise<void> {
  switch (request.kind) {
    case 'probe':
      await generator.probe(request.tries)
      return send({ kind: 'done' })
    case 'start':
      run = generator.startAt(request.load, request.limit, request.startMs)
      void run.finished.then(() => send({ kind: 'finished' }))
      return send({ kind: 'done' })
    case 'take':
      return send({ kind: 'done', window: await run!.take() })
    case 'stop':
      return send({ kind: 'done', window: await run!.stop() })
    case 'end':
      await generator[Symbol.asyncDispose]()
      port.close()
  }
}

try {
  const generator = await open()
  port.on('message', (request: ThreadRequest) => void handle(generator, request).catch(failed))
  send({ kind: 'done' })
} catch (error) {
  failed(error)
  port.close()
}
