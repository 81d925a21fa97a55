import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../test/services/free-port.ts'
import { ChildServer } from '../served/child-server.ts'
import { matrixModel } from './engine.ts'

/** The command line of Weir. */
export const COMMAND = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const SETTINGS = 'slo-ms: 10000\nmax-batch: 128\nqueue-capacity: 1024\n'

/** Writes a repository with a model of one float and one of 784 floats; returns the file of the second. */
export function writeRepository(folder: string, scratch: string): string {
  const models = { noop: matrixModel(scratch, 1, 1), linear: matrixModel(scratch, 784, 10) }
  for (const [name, { file }] of Object.entries(models)) {
    mkdirSync(join(folder, name, '1'), { recursive: true })
    cpSync(file, join(folder, name, '1', 'model.onnx'))
    writeFileSync(join(folder, name, 'deployment.yaml'), SETTINGS)
  }
  return models.linear.file
}

/** `weir run models` of a repository, in a process of its own, with the port of its queries. */
export function startModels(repository: string): Promise<ChildServer> {
  return start(repository, [], 'started')
}

/** The same, with the port of `--http`. */
export function startModelsOverHttp(repository: string): Promise<ChildServer> {
  return start(repository, ['--http', '127.0.0.1:0'], 'http')
}

/** The same, with the ports of `--http` and `--grpc`. */
export async function startModelsOverGrpc(
  repository: string,
): Promise<AsyncDisposable & { readonly port: number; readonly grpcPort: number }> {
  const [grpcPort] = await freePorts(1)
  const server = await start(
    repository,
    ['--http', '127.0.0.1:0', '--grpc', `127.0.0.1:${grpcPort}`],
    'http',
  )
  return {
    port: server.port,
    grpcPort: grpcPort!,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

function start(
  repository: string,
  more: readonly string[],
  wanted: 'started' | 'http',
): Promise<ChildServer> {
  const words = ['run', 'models', '--json', '--repository', repository, '--port', '0', ...more]
  let listens: number | undefined
  return ChildServer.start([COMMAND, ...words], (line) => {
    const { event, port } = JSON.parse(line) as { event: string; port?: number }
    if (event === wanted) listens = port
    return event === 'ready' ? listens : undefined
  })
}
