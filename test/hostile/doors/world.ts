import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeCertificates } from '../../services/certificates.ts'
import { freePorts } from '../../services/free-port.ts'
import { type CommandProcess, weir } from '../../system/cli/command-process.ts'
import { bodyRoutesOf, type RouteDocument } from './body-routes.ts'
import { type Door, type DoorProtocol, MODEL } from './door.ts'
import {
  type GoodClient,
  getText,
  goodGrpcClient,
  goodHttpClient,
  goodQueryClient,
} from './good-requests.ts'
import { type LoopFigures, loopFigures, loopWatched } from './loop-figures.ts'

/** A door of a running server. */
export interface OpenDoor {
  readonly door: Door
  readonly pid: number
  readonly good: GoodClient
  /** As `loopFigures`. */
  readonly loop: () => Promise<LoopFigures>
}

/** The servers whose ports are doors. */
export const SERVERS = ['models', 'query', 'grpc', 'rest', 'gateway', 'jobmanager'] as const
export type Server = (typeof SERVERS)[number]

/** The name of a door. */
export const doorName = (server: Server, isTls: boolean): string =>
  isTls ? `${server}, TLS` : server

const MODULE = `export default {
  signature: {
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }],
  },
  run([x]) {
    const to = new Float32Array(x.data.buffer, x.data.byteOffset, x.data.length / 4).map((v) => v * 2)
    return [{ name: 'y', datatype: 'FP32', shape: x.shape, data: new Uint8Array(to.buffer) }]
  },
}
`
/** A value of a parameter of a path. */
const parameterOf = (name: string): string => (/model/i.test(name) ? MODEL : '1')
const INFER = `/v2/models/${MODEL}/infer`
const GOOD_INFER = {
  path: INFER,
  body: '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}',
  answer: '[2,4]',
}

/**
 * What `docs/guide/security.md` says of memory: without it glibc keeps 104 MiB of what half bodies with TLS left, with it 32.
 */
const GIVES_BACK = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' }

/** The process that has a door. */
type Host = 'models' | 'gateway' | 'jobmanager'

const HOSTS: Readonly<Record<Server, Host>> = {
  ...{ models: 'models', query: 'models', grpc: 'models', rest: 'models' },
  ...{ gateway: 'gateway', jobmanager: 'jobmanager' },
}

const PROTOCOLS: Readonly<Record<Server, DoorProtocol>> = {
  ...{ models: 'http', query: 'query', grpc: 'grpc', rest: 'http' },
  ...{ gateway: 'http', jobmanager: 'http' },
}

/** What a door speaks. */
export const protocolOf = (server: Server): DoorProtocol => PROTOCOLS[server]

/** A client of a door, which asks the model, or the REST interface how many jobs run. */
async function goodClientOf(
  { protocol, port, isTls, token }: Door,
  { isRest, ca }: { readonly isRest: boolean; readonly ca: string | undefined },
): Promise<GoodClient> {
  if (protocol === 'grpc') return goodGrpcClient({ port, isTls, token, ca })
  if (protocol === 'query') {
    return await goodQueryClient({ port, ...(isTls ? { token: token!, tls: { ca: ca! } } : {}) })
  }
  const asked = isRest ? { path: '/overview', answer: '"jobs-running"' } : GOOD_INFER
  return goodHttpClient({ port, token, ca, ...asked })
}

/** A process with the ports of its doors. */
interface Started {
  readonly process: CommandProcess
  readonly ports: Readonly<Partial<Record<Server, number>>>
}

/** Real server processes, each started at the first use of one of its doors. */
export class DoorWorld implements AsyncDisposable {
  private readonly folder: string
  private readonly started = new Map<string, Promise<Started>>()
  private secured: Promise<{ readonly token: string; readonly ca: string }> | undefined

  /** `folder`: empty; the servers' files go there. */
  constructor(folder: string) {
    this.folder = folder
    mkdirSync(this.at('models', MODEL, '1'), { recursive: true })
    writeFileSync(this.at('models', MODEL, '1', 'model.mjs'), MODULE)
  }

  /** A door, and a client of it. */
  async open(server: Server, isTls: boolean): Promise<OpenDoor> {
    const { token, ca } = isTls ? await this.secure() : { token: undefined, ca: undefined }
    const { process, ports } = await this.start(HOSTS[server], isTls)
    const port = ports[server]!
    const protocol = protocolOf(server)
    const isRest = server === 'jobmanager' || server === 'rest'
    const document = { path: '/openapi.json', port, token, ca }
    const bodyRoutes =
      protocol === 'http'
        ? bodyRoutesOf(JSON.parse(await getText(document)) as RouteDocument, parameterOf)
        : []
    const basics = { name: doorName(server, isTls), protocol, port, isTls, token } as const
    const door: Door = { ...basics, bodyPath: isRest ? '/jobs' : INFER, bodyRoutes }
    const { pid } = process
    const loop = () => loopFigures(this.folder, pid)
    return { door, pid, loop, good: await goodClientOf(door, { isRest, ca }) }
  }

  /** What ended by itself, in words. */
  async ended(): Promise<readonly string[]> {
    const all = await Promise.all(
      [...this.started].map(async ([name, one]) => ({ name, ...(await one) })),
    )
    return all
      .filter(({ process }) => process.hasEnded)
      .map(({ name }) => `the process of ${name} has ended`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of await Promise.allSettled(this.started.values())) {
      if (one.status === 'fulfilled') await one.value.process[Symbol.asyncDispose]()
    }
  }

  private at(...names: readonly string[]): string {
    return join(this.folder, ...names)
  }

  private start(name: Host, isTls: boolean): Promise<Started> {
    const key = doorName(name, isTls)
    const known = this.started.get(key)
    if (known !== undefined) return known
    const started = this.startNow(name, isTls)
    this.started.set(key, started)
    return started
  }

  private async startNow(name: Host, isTls: boolean): Promise<Started> {
    const [port, queryPort, grpcPort, restPort] = (await freePorts(4)) as [
      number,
      number,
      number,
      number,
    ]
    const environment = { env: { ...GIVES_BACK, ...loopWatched(this.folder) } }
    const words = [...(await this.flagsOf(isTls)), '--data-dir', this.at(doorName(name, isTls))]
    if (name === 'models') {
      const repository = ['--repository', this.at('models'), ...this.restOf(restPort, isTls)]
      const http = ['--http', `127.0.0.1:${port}`, '--grpc', `127.0.0.1:${grpcPort}`]
      const listen = [...http, '--port', String(queryPort)]
      const process = weir(['run', 'models', ...repository, ...listen, ...words], environment)
      await process.printed(/version 1 of double is live/)
      await process.printed(/REST interface on/)
      return { process, ports: { models: port, query: queryPort, grpc: grpcPort, rest: restPort } }
    }
    if (name === 'jobmanager') {
      const process = weir(['jobmanager', '-D', `rest.port=${port}`, ...words], environment)
      await process.printed(/REST interface on/)
      return { process, ports: { jobmanager: port } }
    }
    const { ports } = await this.start('models', isTls)
    const listen = ['--listen', `127.0.0.1:${port}`, '--port', String(ports.query)]
    const query = isTls
      ? ['--query-tls-ca', this.at('ca.crt'), '--token-file', this.at('token')]
      : []
    const process = weir(['gateway', ...listen, ...query, ...words], environment)
    await process.printed(/try it at/)
    return { process, ports: { gateway: port } }
  }

  /** Flags of the REST interface of a process with models. */
  private restOf(port: number, isTls: boolean): readonly string[] {
    const tls = [
      ...['-D', `rest.tls.cert=${this.at('server.crt')}`],
      ...['-D', `rest.tls.key=${this.at('server.key')}`],
    ]
    return ['-D', `rest.port=${port}`, ...(isTls ? tls : [])]
  }

  /** Flags of a server with TLS and tokens. */
  private async flagsOf(isTls: boolean): Promise<readonly string[]> {
    if (!isTls) return []
    await this.secure()
    const tls = [
      '--server-tls-cert',
      this.at('server.crt'),
      '--server-tls-key',
      this.at('server.key'),
    ]
    return ['--tokens', this.at('tokens.json'), ...tls]
  }

  /** Makes certificates and a token, once. */
  private secure(): Promise<{ readonly token: string; readonly ca: string }> {
    this.secured ??= (async () => {
      await writeCertificates(this.folder)
      const words = ['--role', 'read', '--file', this.at('tokens.json'), '--out', this.at('token')]
      const { code, stderr } = await weir(['token', 'create', ...words]).ended
      if (code !== 0) throw new Error(`weir token create: ${stderr}`)
      const read = (name: string): string => readFileSync(this.at(name), 'utf8').trim()
      return { token: read('token'), ca: read('ca.crt') }
    })()
    return this.secured
  }
}
