import { parentPort, workerData } from 'node:worker_threads'
import { asWeirError } from '../core/errors.ts'
import { type GatewaySettings, RunningGateway } from './run.ts'
import type { GatewayThreadMessage, GatewayThreadRequest } from './threads.ts'

/** Thread of one gateway: listens until it is asked to end. */
const port = parentPort!
const send = (message: GatewayThreadMessage): void => port.postMessage(message)
try {
  const gateway = await RunningGateway.start(workerData as GatewaySettings)
  port.on('message', (request: GatewayThreadRequest) => {
    if (request.kind === 'access') gateway.replaceAccess(request.access)
    else void gateway[Symbol.asyncDispose]().finally(() => port.close())
  })
  send({ kind: 'listening', port: gateway.port })
} catch (error) {
  const { code, message } = asWeirError(error, 'ILLEGAL_STATE')
  send({ kind: 'failed', code, message })
  port.close()
}
