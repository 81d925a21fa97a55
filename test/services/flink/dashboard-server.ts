import { existsSync } from 'node:fs'
import { mkdir, readFile, rename } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, resolve } from 'node:path'
import { MAVEN_LOCK, runTool } from '../maven-classpath.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { flinkClassPath } from './command-line.ts'

const POM = join(import.meta.dirname, 'pom.xml')
/** Folder of downloaded services; git ignores `.weir`. */
const CACHE = resolve(import.meta.dirname, '../../../.weir/services')
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}

/** The folder with the files of Flink's dashboard, unpacked from its jar by Maven. */
export async function dashboardFolder(): Promise<string> {
  const folder = join(CACHE, 'flink-dashboard')
  const web = join(folder, 'web')
  if (existsSync(join(web, 'index.html'))) return web
  await flinkClassPath()
  await oneAtATime(MAVEN_LOCK, () => unpack(folder))
  return web
}

async function unpack(folder: string): Promise<void> {
  const unpacked = `${folder}.${process.pid}`
  await mkdir(unpacked, { recursive: true })
  await runTool('mvn', 'maven', [
    '-B',
    '-q',
    '-f',
    POM,
    `-Dmaven.repo.local=${join(CACHE, 'maven')}`,
    'dependency:unpack-dependencies',
    '-DincludeArtifactIds=flink-runtime-web',
    '-Dmdep.unpack.includes=web/**',
    `-DoutputDirectory=${unpacked}`,
  ])
  await rename(unpacked, folder)
}

/** Serves Flink's own dashboard, and passes its requests on to a REST interface of Weir. */
export class DashboardServer implements AsyncDisposable {
  private readonly server: Server
  private readonly rest: string
  private readonly folder: string

  private constructor(rest: string, folder: string) {
    this.rest = rest
    this.folder = folder
    this.server = createServer((request, response) => void this.answer(request, response))
  }

  static async start(rest: string): Promise<DashboardServer> {
    const dashboard = new DashboardServer(rest, await dashboardFolder())
    await new Promise<void>((listening) => dashboard.server.listen(0, '127.0.0.1', listening))
    return dashboard
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((closed) => this.server.close(closed))
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url!, this.url)
    const file = join(this.folder, pathname === '/' ? 'index.html' : pathname)
    if (request.method === 'GET' && extname(file) !== '' && existsSync(file)) {
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        // A browser then keeps the code that it has compiled.
        'cache-control': 'max-age=3600',
      })
      response.end(await readFile(file))
      return
    }
    const answer = await fetch(`${this.rest}${request.url}`, { method: request.method! })
    const type = answer.headers.get('content-type') ?? 'text/plain'
    response.writeHead(answer.status, { 'content-type': type })
    response.end(Buffer.from(await answer.arrayBuffer()))
  }
}
