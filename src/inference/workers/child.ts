import { connect } from 'node:net'
import { asWeirError } from '../../core/errors.ts'
import { endWithParent } from '../../files/end-with-parent.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { Tensor } from '../port/tensor.ts'
import { openModel, prepareRunner } from '../runners/open.ts'
import type { ChildHead, ParentHead } from './child-model.ts'
import { encodeFrame, type Frame, FrameReader } from './frame.ts'
import type { WorkerStart } from './messages.ts'
import { mostItemsOfRun, zeroInputs } from './sample-inputs.ts'

/* The child process of a worker: it loads one model and runs the batches that come over the socket. */

const [path = '', parent] = process.argv.slice(2)
endWithParent(Number(parent))
const socket = connect(path)
let model: LoadedModel | undefined

const send = (head: ChildHead, tensors: readonly Tensor[] = []): void => {
  socket.write(encodeFrame(head, tensors))
}

async function answer({ head, tensors }: Frame<ParentHead>): Promise<void> {
  try {
    if (head.kind === 'load') {
      model = await openModel(head.start.source, head.start)
      const { signature, placement } = model
      send({ kind: 'loaded', signature, placement })
    } else if (head.kind === 'measure') {
      send({ kind: 'measured', bytes: await memoryOf(head.start, head.items) })
    } else if (model !== undefined) {
      send({ kind: 'outputs' }, await model.run(tensors, head.items))
    }
  } catch (error) {
    const { code, message } = asWeirError(error, 'MODEL_FAILED')
    send({ kind: 'failed', code, message })
  }
}

const reader = new FrameReader<ParentHead>((frame) => void answer(frame))
socket.on('data', (chunk) => reader.push(chunk))
// The worker is gone, however it ended. The model may have timers, so the process would not end by itself.
socket.on('close', () => process.kill(process.pid, 'SIGKILL'))
socket.on('error', () => socket.destroy())

/**
 * Memory that the model takes in this process with one run, bytes: what the process has more than before. The
 * code of the runner does not count, since workers share it. Throws as `openModel`.
 */
async function memoryOf(start: WorkerStart, items: number): Promise<number> {
  await prepareRunner(start.source)
  const before = process.memoryUsage.rss()
  const model = await openModel(start.source, start)
  const { signature } = model
  const count = mostItemsOfRun(signature, items)
  // A model may refuse zeros, or free sizes of 1: then its weights are what is known.
  await model.run(zeroInputs(signature, count), count).catch(() => [])
  return Math.max(0, process.memoryUsage.rss() - before)
}
